"""Rare ways to change something outside, and the folders of the system."""

from pytest_codexsandbox.api import WRITE_REFUSALS, Trial, promise
from pytest_codexsandbox.model.act import Act, Given
from pytest_codexsandbox.model.policy import SANDBOXED

SECURITY = "https://developers.openai.com/codex/agent-approvals-security#sandbox-and-approvals"
THERE = "@OUTSIDE@/@NAME@"
OTHER = f"{THERE}-other"
A_FILE = Given(kind="file", path=THERE, content="laid before")
ANOTHER = Given(kind="file", path=OTHER, content="the other one")
ATTRIBUTES = (*WRITE_REFUSALS, "EPERM")
# A kernel or a file system without the operation. Then the control fails as well, and the act proves nothing.
UNSUPPORTED = ("EOPNOTSUPP", "ENOTSUP", "ENOSYS", "EISDIR")
FOLDERS = {
    "etc": "/etc",
    "opt": "/opt",
    "run": "/run",
    "run-user": "/run/user/%UID%",
    "srv": "/srv",
    "usr-local": "/usr/local/bin",
    "var": "/var/lib",
    "var-tmp": "/var/tmp",
}


def each_refuses(trial: Trial) -> None:
    """Adds evidence for each folder in which this user can make a file without a sandbox."""
    for act, path in FOLDERS.items():
        claim = f"no file can be made in {path}"
        trial.refused(act, errno=(*WRITE_REFUSALS, "ENOENT"), claim=claim, unless=(*ATTRIBUTES, *UNSUPPORTED, "ENOENT"))


@promise(
    "filesystem.outside-rare-changes-refused",
    kind="boundary",
    severity="critical",
    source=SECURITY,
    policies=SANDBOXED,
    acts={
        "fifo": Act(verb="mkfifo", path=THERE, looks=(THERE,)),
        "exchange": Act(
            verb="exchange", path=THERE, params={"to": OTHER}, given=(A_FILE, ANOTHER), looks=(THERE, OTHER)
        ),
        "unnamed": Act(verb="tmpfile", path="@OUTSIDE@", params={"to": THERE}, looks=(THERE,)),
    },
)
def test_no_rare_operation_changes_a_file_outside(trial: Trial) -> None:
    """No pipe is made outside, no two files outside change places, and no file without a name gets one there.

    Source: Codex documentation, sandbox modes: writes are limited to the workspace.
    Control: the same operations without a sandbox, each seen from outside. One that is not supported is left out.
    """
    trial.refused("fifo")
    trial.refused("exchange", unless=UNSUPPORTED)
    trial.refused("unnamed", unless=UNSUPPORTED)


@promise(
    "filesystem.outside-attributes-refused",
    kind="boundary",
    severity="high",
    source=SECURITY,
    policies=SANDBOXED,
    acts={
        "owner": Act(verb="chown", path=THERE, given=(A_FILE,)),
        "times": Act(verb="utime", path=THERE, given=(A_FILE,)),
        "extended": Act(verb="setxattr", path=THERE, given=(A_FILE,)),
    },
)
def test_the_attributes_of_a_file_outside_stay(trial: Trial) -> None:
    """The owner, the times and the extended attributes of a file outside the workspace cannot be changed.

    Source: Codex documentation, sandbox modes: writes are limited to the workspace.
    Control: the same changes work without a sandbox. Extended attributes are left out where they are not supported.
    """
    trial.refused("owner", errno=ATTRIBUTES)
    trial.refused("times", errno=ATTRIBUTES)
    trial.refused("extended", errno=ATTRIBUTES, unless=UNSUPPORTED)


@promise(
    "filesystem.system-folders-refused",
    kind="boundary",
    severity="critical",
    source=SECURITY,
    policies=SANDBOXED,
    requires=("system-folders:writable",),
    acts={name: Act(verb="tmpfile", path=path) for name, path in FOLDERS.items()},
)
def test_no_file_can_be_made_in_the_folders_of_the_system(trial: Trial) -> None:
    """No file can be made in /etc, /usr/local, /opt, /srv, /run, the user's /run folder, /var and /var/tmp.

    The file is opened without a name, so that it is gone when the probe ends.

    Source: Codex documentation, sandbox modes: writes are limited to the workspace.
    Control: without a sandbox this user can make one there. Other folders are left out, as are network mounts.
    """
    each_refuses(trial)


@promise(
    "filesystem.pipe-outside-refused",
    kind="boundary",
    severity="high",
    source=SECURITY,
    policies=SANDBOXED,
    acts={"pipe": Act(verb="fifo-write", params={"address": "@FIFO@", "token": "@NAME@"})},
)
def test_no_named_pipe_outside_can_be_written(trial: Trial) -> None:
    """A named pipe outside, by which a daemon or a build tool takes its orders, cannot be written.

    Source: Codex documentation, sandbox modes: writes are limited to the workspace.
    Control: without a sandbox the same words arrive at the reader outside.
    """
    trial.refused("pipe")
