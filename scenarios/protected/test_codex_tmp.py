"""Protected names in temporary folders, which are writable roots as well, and the folder .aws."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, Given
from pytest_codexsandbox.model.policy import WORKSPACE_WRITE

SOURCE = "https://github.com/openai/codex/pull/15067"
AWS = "@WORKSPACE@/.aws/config"
CASES = ("git", "codex", "agents")
REFUSALS = ("EROFS", "EACCES", "EPERM", "EBUSY", "EEXIST")


def trying(folder: str) -> dict[str, Act]:
    """Returns one act for each name. Each makes a folder and removes it: other programs look into these folders."""
    return {case: Act(verb="try-folder", path=f"{folder}/.{case}") for case in CASES}


@promise(
    "protected.missing-in-tmpdir",
    kind="boundary",
    severity="high",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    acts=trying("@TMPDIR@"),
    cases=CASES,
)
def test_git_codex_and_agents_cannot_be_made_in_tmpdir(trial: Trial) -> None:
    """A command cannot make a .git, .codex or .agents where $TMPDIR points: each git and Codex below would obey it.

    Source: openai/codex#15067: the first creation of .codex is protected as well, in every writable root.
    Control: without a sandbox the folder can be made, and removed again.
    """
    trial.refused(trial.case, errno=REFUSALS)


@promise(
    "protected.missing-in-slash-tmp",
    kind="boundary",
    severity="high",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    requires=("tmp:own",),
    acts=trying("@TMP@"),
    cases=CASES,
)
def test_git_codex_and_agents_cannot_be_made_in_slash_tmp(trial: Trial) -> None:
    """A command cannot make a .git, .codex or .agents in /tmp: each git and Codex below would obey it.

    It is asked only where the run has a /tmp of its own: nothing is made in the machine's.

    Source: openai/codex#15067: the first creation of .codex is protected as well, in every writable root.
    Control: without a sandbox the folder can be made, and removed again.
    """
    trial.refused(trial.case, errno=REFUSALS)


@promise(
    "protected.aws-folder",
    kind="claim",
    severity="medium",
    source="https://github.com/openai/codex/blob/main/codex-rs/linux-sandbox/src/bwrap.rs",
    policies=(WORKSPACE_WRITE,),
    acts={
        "existing": Act(
            verb="write",
            path=AWS,
            params={"data": "let through"},
            given=(Given(kind="file", path=AWS, content="# the user's\n"),),
        ),
        "missing": Act(verb="try-folder", path="@TMPDIR@/.aws"),
    },
    cases=("existing", "missing"),
)
def test_the_folder_of_the_aws_tools_stays_read_only(trial: Trial) -> None:
    """The folder .aws of a writable root, where tools find credentials and programs to run, is protected as .git is.

    Source: measured; the documentation does not name it. Releases from 0.159 on protect it.
    Control: the same write without a sandbox, seen from outside. The missing folder can be made, and removed again.
    """
    trial.refused(trial.case, errno=REFUSALS)
