"""The workspace: writable where that was asked for, read-only where it was not, readable everywhere."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, Given
from pytest_codexsandbox.model.policy import FULL_ACCESS, READ_ONLY, SANDBOXED, WRITING

SECURITY = "https://developers.openai.com/codex/agent-approvals-security"
HERE = "@WORKSPACE@/@NAME@"
A_FILE = Given(kind="file", path=HERE, content="laid before")
WORK = {
    "create": Act(verb="create", path=HERE, params={"data": "new"}),
    "overwrite": Act(verb="write", path=HERE, params={"data": "written inside"}, given=(A_FILE,)),
    "mkdir": Act(verb="mkdir", path=HERE),
    "rename": Act(verb="rename", path=HERE, params={"to": f"{HERE}-renamed"}, given=(A_FILE,)),
    "delete": Act(verb="unlink", path=HERE, given=(A_FILE,)),
}


@promise(
    "filesystem.workspace-writable",
    kind="capability",
    severity="high",
    source=f"{SECURITY}#sandbox-and-approvals",
    policies=(*WRITING, FULL_ACCESS),
    acts=WORK,
)
def test_files_of_the_workspace_can_be_made_changed_renamed_and_deleted(trial: Trial) -> None:
    """In the working directory a command can create, overwrite, rename and delete files and make folders.

    Source: Codex documentation, sandbox modes: workspace-write permits edits in the workspace.
    Control: the same five deeds without a sandbox, each seen from outside.
    """
    trial.allowed("create")
    trial.allowed("overwrite")
    trial.allowed("mkdir")
    trial.allowed("rename")
    trial.allowed("delete")


@promise(
    "filesystem.workspace-read-only",
    kind="boundary",
    severity="critical",
    source=f"{SECURITY}#sandbox-and-approvals",
    policies=(READ_ONLY,),
    acts=WORK,
)
def test_read_only_lets_nothing_change_in_the_workspace(trial: Trial) -> None:
    """Under read-only a command cannot create, overwrite, rename or delete anything in the working directory.

    Source: Codex documentation, sandbox modes: read-only.
    Control: the same five deeds without a sandbox, each seen from outside.
    """
    trial.refused("create")
    trial.refused("overwrite")
    trial.refused("mkdir")
    trial.refused("rename")
    trial.refused("delete")


@promise(
    "filesystem.outside-readable",
    kind="claim",
    severity="low",
    source=f"{SECURITY}#sandbox-and-approvals",
    policies=SANDBOXED,
    acts={
        "outside": Act(
            verb="read", path="@OUTSIDE@/@NAME@", given=(Given(kind="file", path="@OUTSIDE@/@NAME@", content="seen"),)
        ),
        "home": Act(
            verb="read", path="@HOME@/@NAME@", given=(Given(kind="file", path="@HOME@/@NAME@", content="seen too"),)
        ),
    },
)
def test_everything_that_the_user_can_read_can_be_read_inside(trial: Trial) -> None:
    """Reading is not restricted: files outside the workspace and in the home folder give their content.

    Source: Codex documentation, sandbox modes: every mode may read files; secrets need a permission profile.
    Control: what the same read gives without a sandbox.
    """
    trial.allowed("outside")
    trial.allowed("home")


@promise(
    "filesystem.full-access-writes-outside",
    kind="capability",
    severity="medium",
    needs="nothing",
    source=f"{SECURITY}#run-without-approval-prompts",
    policies=(FULL_ACCESS,),
    acts={
        "outside": Act(verb="write", path="@OUTSIDE@/@NAME@", params={"data": "as asked"}),
        "git": Act(
            verb="write",
            path="@OUTSIDE@/@NAME@-tree/.git/config",
            params={"data": "as asked"},
            given=(Given(kind="dir", path="@OUTSIDE@/@NAME@-tree/.git"),),
        ),
    },
    requires=("capability:full-access",),
)
def test_danger_full_access_restricts_no_write(trial: Trial) -> None:
    """Under danger-full-access a command writes wherever the user may, a repository's .git included.

    Source: Codex documentation, danger-full-access: no sandbox.
    Control: the same writes without Codex, seen from outside.
    """
    trial.allowed("outside")
    trial.allowed("git")
