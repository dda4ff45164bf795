"""After the call everything is as the command left it."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, Call, Given
from pytest_codexsandbox.model.policy import READ_ONLY, ROOTS


@promise(
    "filesystem.nothing-left-behind",
    kind="hygiene",
    severity="medium",
    source="https://github.com/openai/codex/issues/18043",
    policies=(READ_ONLY, ROOTS),
    acts={
        "read": Act(
            verb="read",
            path="@WORKSPACE@/@NAME@",
            given=(Given(kind="file", path="@WORKSPACE@/@NAME@", content="the only file here"),),
        )
    },
    call=Call(),
)
def test_a_call_leaves_nothing_behind_in_the_workspace_and_in_the_roots(trial: Trial) -> None:
    """A command that writes nothing leaves workspace, roots, home, temporary folders and the outside as they were.

    Source: openai/codex#18043: an empty `.codex` that stayed in the workspace was a bug.
    Control: the same call without a sandbox leaves nothing either, and the search finds what is put there for it.
    """
    trial.allowed("read")
    trial.clean()
