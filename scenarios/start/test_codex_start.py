"""Does the sandbox start, and is it really on? Every other verdict leans on this one."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.policy import EVERY


@promise(
    "start.sandbox-is-on",
    kind="boundary",
    severity="critical",
    needs="nothing",
    source="https://developers.openai.com/codex/concepts/sandboxing",
    policies=EVERY,
)
def test_the_sandbox_starts_and_is_really_on(trial: Trial) -> None:
    """Under a sandboxed policy the sandbox starts and is on: a write outside is refused AND the kernel shows a mark
    (own user namespace, more seccomp filters, NoNewPrivs) that our own process does not carry at that moment; under
    danger-full-access there is none.

    Source: the documentation of sandbox modes. Control: the same write without a sandbox works and shows outside.
    """
    trial.standing_evidence()
