"""Calls one after the other: what Codex remembers in its home folder widens none of them."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.policy import WORKSPACE_WRITE

SOURCE = "https://developers.openai.com/codex/agent-approvals-security#sandbox-and-approvals"


@promise(
    "process.second-call-confined",
    kind="boundary",
    severity="critical",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    acts={
        "inside": Act(verb="write", path="@WORKSPACE@/@NAME@", params={"data": "each time"}),
        "outside": Act(verb="write", path="@OUTSIDE@/@NAME@", params={"data": "let through"}),
        "home": Act(verb="write", path="@CODEX_HOME@/@NAME@", params={"data": "let through"}),
    },
    call=Call(starts=3, at_every_door=True),
)
def test_the_second_and_the_third_call_are_confined(trial: Trial) -> None:
    """Three calls in one workspace and one CODEX_HOME, one after the other, are each confined.

    Source: Codex documentation, sandbox modes: they hold for every command.
    Control: the same three without a sandbox. Each writes files of its own, and each is seen from outside.
    """
    trial.allowed("inside")
    trial.refused("outside")
    trial.refused("home")
