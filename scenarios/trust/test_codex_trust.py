"""Can the harness be believed here? If not, nothing is; its failure is broken, never red about Codex."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.policy import EVERY


@promise(
    "trust.control-and-canaries",
    kind="hygiene",
    severity="critical",
    needs="nothing",
    source="the harness itself",
    policies=EVERY,
)
def test_the_control_works_and_the_canaries_are_judged_rightly(trial: Trial) -> None:
    """Without a sandbox the base acts work and show outside; a Codex without a sandbox is caught; a well-behaved one
    passes every promise that rides in the battery.

    Source: the harness itself. Control: these are the controls.
    """
    trial.standing_evidence()
