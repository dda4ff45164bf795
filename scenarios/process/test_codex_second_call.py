"""Calls one after the other: what Codex remembers in its home folder widens none of them."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.boundary_acts import BOUNDARY_ACTS, REFUSALS, WALLS
from pytest_codexsandbox.model.policy import WORKSPACE_WRITE

SOURCE = "https://developers.openai.com/codex/agent-approvals-security#sandbox-and-approvals"


def confined_each_time(trial: Trial) -> None:
    """Adds the rows of the case."""
    if trial.case == "home":
        trial.allowed("inside")
        trial.refused("home")
    for act in WALLS.get(trial.case, ()):
        trial.refused(act, errno=REFUSALS[trial.case])


@promise(
    "process.second-call-confined",
    kind="boundary",
    severity="critical",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    acts={
        "inside": Act(verb="write", path="@WORKSPACE@/@NAME@", params={"data": "each time"}),
        "home": Act(verb="write", path="@CODEX_HOME@/@NAME@", params={"data": "let through"}),
        **BOUNDARY_ACTS,
    },
    call=Call(starts=3, at_every_door=True),
    cases=("home", *WALLS),
)
def test_the_second_and_the_third_call_are_confined(trial: Trial) -> None:
    """Three calls in one workspace and one CODEX_HOME, one after the other, are each confined: outside, in protected
    folders, and from the network.

    Source: Codex documentation, sandbox modes: they hold for every command.
    Control: the same three without a sandbox. Each writes files of its own, and each is seen from outside.
    """
    confined_each_time(trial)
