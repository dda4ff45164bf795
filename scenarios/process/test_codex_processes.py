"""Whom a command in the sandbox can see."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act
from pytest_codexsandbox.model.policy import SANDBOXED

LINUX = "https://github.com/openai/codex/blob/main/codex-rs/linux-sandbox/README.md"


@promise(
    "process.sees-only-its-own-processes",
    kind="boundary",
    severity="medium",
    source=LINUX,
    policies=SANDBOXED,
    acts={"first": Act(verb="read", path="/proc/1/cmdline")},
)
def test_a_command_sees_the_processes_of_its_sandbox_and_no_others(trial: Trial) -> None:
    """The first process that a command sees in /proc is its sandbox's own. No process from outside shows its command
    line there.

    Source: codex-linux-sandbox: a PID namespace of its own, and a fresh /proc mounted in it. Where that mount is
    refused Codex goes on without it, silently.
    Control: without a sandbox the first process is the machine's, or the container's.
    """
    row, control = trial.row("first"), trial.control_row("first")
    trial.says(
        "first",
        claim="the first process in /proc is the sandbox's own",
        saw=row.value.replace("\0", " ")[:300] or row.errno or row.detail or "it says nothing of itself",
        held=row.ok and row.value not in ("", control.value),
        control=control.value.replace("\0", " ")[:300] or control.errno or control.detail,
        control_held=control.ok and control.value != "",
        reason=row.errno,
        direction="leak" if row.ok and row.value == control.value else "denied",
    )
