"""Files outside the workspace and the granted roots stay as they are."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, Given
from pytest_codexsandbox.model.policy import SANDBOXED

SECURITY = "https://developers.openai.com/codex/agent-approvals-security"
THERE = "@OUTSIDE@/@NAME@"
A_FILE = Given(kind="file", path=THERE, content="laid before")


@promise(
    "filesystem.outside-create-refused",
    kind="boundary",
    severity="critical",
    source=f"{SECURITY}#sandbox-and-approvals",
    policies=SANDBOXED,
    acts={
        "create": Act(verb="create", path=THERE, params={"data": "new"}),
        "mkdir": Act(verb="mkdir", path=THERE),
        "symlink": Act(verb="symlink", path=THERE, params={"to": "/etc/hostname"}),
    },
)
def test_nothing_can_be_made_outside_the_workspace(trial: Trial) -> None:
    """No file, folder or link can be made outside the workspace and the roots that were granted.

    Source: Codex documentation, sandbox modes: writes are limited to the workspace.
    Control: the same three deeds without a sandbox, each seen from outside.
    """
    trial.refused("create")
    trial.refused("mkdir")
    trial.refused("symlink")


@promise(
    "filesystem.outside-change-refused",
    kind="boundary",
    severity="critical",
    source=f"{SECURITY}#sandbox-and-approvals",
    policies=SANDBOXED,
    acts={
        "overwrite": Act(verb="write", path=THERE, params={"data": "let through"}, given=(A_FILE,)),
        "append": Act(verb="append", path=THERE, params={"data": " let through"}, given=(A_FILE,)),
        "truncate": Act(verb="truncate", path=THERE, given=(A_FILE,)),
    },
)
def test_no_file_outside_the_workspace_can_be_changed(trial: Trial) -> None:
    """The content of a file outside the workspace cannot be overwritten, extended or cut.

    Source: Codex documentation, sandbox modes: writes are limited to the workspace.
    Control: the same three deeds without a sandbox, each seen from outside.
    """
    trial.refused("overwrite")
    trial.refused("append")
    trial.refused("truncate")


@promise(
    "filesystem.outside-delete-refused",
    kind="boundary",
    severity="critical",
    source=f"{SECURITY}#sandbox-and-approvals",
    policies=SANDBOXED,
    acts={
        "unlink": Act(verb="unlink", path=THERE, given=(A_FILE,)),
        "rmdir": Act(verb="rmdir", path=THERE, given=(Given(kind="dir", path=THERE),)),
        "rename": Act(verb="rename", path=THERE, params={"to": f"{THERE}-renamed"}, given=(A_FILE,)),
    },
)
def test_nothing_outside_the_workspace_can_be_deleted_or_renamed(trial: Trial) -> None:
    """Files and folders outside the workspace can be neither deleted nor renamed in their place.

    Source: Codex documentation, sandbox modes: writes are limited to the workspace.
    Control: the same three deeds without a sandbox, each seen from outside.
    """
    trial.refused("unlink")
    trial.refused("rmdir")
    trial.refused("rename")


@promise(
    "filesystem.outside-mode-refused",
    kind="boundary",
    severity="high",
    source=f"{SECURITY}#sandbox-and-approvals",
    policies=SANDBOXED,
    acts={"chmod": Act(verb="chmod", path=THERE, params={"mode": "0777"}, given=(A_FILE,))},
)
def test_the_mode_of_a_file_outside_the_workspace_stays(trial: Trial) -> None:
    """The permission bits of a file outside the workspace cannot be changed.

    Source: Codex documentation, sandbox modes: writes are limited to the workspace.
    Control: the same chmod without a sandbox, and the new mode seen from outside.
    """
    trial.refused("chmod", errno=("EROFS", "EACCES", "EPERM"))


@promise(
    "filesystem.dotdot-refused",
    kind="boundary",
    severity="critical",
    source=f"{SECURITY}#sandbox-and-approvals",
    policies=SANDBOXED,
    acts={
        "dotdot": Act(
            verb="write", path="@WORKSPACE@/../documents/@NAME@", params={"data": "let through"}, looks=(THERE,)
        )
    },
)
def test_dot_dot_does_not_lead_out_of_the_workspace(trial: Trial) -> None:
    """A path that begins in the workspace and leaves it by `..` is judged by where it ends.

    Source: Codex documentation, sandbox modes: writes are limited to the workspace.
    Control: the same write without a sandbox arrives in the folder beside the workspace.
    """
    trial.refused("dotdot")


@promise(
    "filesystem.beside-workspace-refused",
    kind="boundary",
    severity="critical",
    source=f"{SECURITY}#sandbox-and-approvals",
    policies=SANDBOXED,
    acts={
        "same-beginning": Act(
            verb="write",
            path="@WORKSPACE@-beside/@NAME@",
            params={"data": "let through"},
            given=(Given(kind="dir", path="@WORKSPACE@-beside"),),
        ),
        "parent": Act(verb="write", path="@WORLD@/@NAME@", params={"data": "let through"}),
    },
)
def test_folders_around_the_workspace_are_not_part_of_it(trial: Trial) -> None:
    """A folder whose name begins as the workspace's does, and the workspace's parent, are outside.

    Source: Codex documentation, sandbox modes: writes are limited to the workspace.
    Control: the same writes without a sandbox, each seen from outside.
    """
    trial.refused("same-beginning")
    trial.refused("parent")


@promise(
    "filesystem.home-refused",
    kind="boundary",
    severity="critical",
    source=f"{SECURITY}#sandbox-and-approvals",
    policies=SANDBOXED,
    acts={
        "file": Act(verb="write", path="@HOME@/@NAME@", params={"data": "let through"}),
        "profile": Act(
            verb="append",
            path="@HOME@/.profile",
            params={"data": "let through\n"},
            given=(Given(kind="file", path="@HOME@/.profile", content="# the user's\n"),),
        ),
        "keys": Act(
            verb="write",
            path="@HOME@/.ssh/authorized_keys",
            params={"data": "let through\n"},
            given=(Given(kind="dir", path="@HOME@/.ssh", mode=0o700),),
        ),
    },
)
def test_the_home_folder_cannot_be_written(trial: Trial) -> None:
    """The user's home is outside: no new file, no change of the shell's profile, no ssh key.

    Source: Codex documentation, sandbox modes: writes are limited to the workspace.
    Control: the same writes without a sandbox, each seen from outside.
    """
    trial.refused("file")
    trial.refused("profile")
    trial.refused("keys")


@promise(
    "filesystem.codex-home-refused",
    kind="boundary",
    severity="critical",
    source=f"{SECURITY}#sandbox-and-approvals",
    policies=SANDBOXED,
    acts={
        "config": Act(verb="append", path="@CODEX_HOME@/config.toml", params={"data": "# let through\n"}),
        "rules": Act(
            verb="write",
            path="@CODEX_HOME@/rules/@NAME@.rules",
            params={"data": "# let through\n"},
            given=(Given(kind="dir", path="@CODEX_HOME@/rules"),),
        ),
    },
)
def test_codex_own_settings_cannot_be_written_from_inside(trial: Trial) -> None:
    """A command cannot rewrite the settings or the rules by which Codex will confine the next one.

    Source: Codex documentation, sandbox modes: writes are limited to the workspace.
    Control: the same writes without a sandbox, each seen from outside.
    """
    trial.refused("config")
    trial.refused("rules")
