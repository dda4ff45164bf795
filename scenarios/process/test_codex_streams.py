"""The streams and the umask that the caller gives: a terminal, no stdin, an empty one, another umask."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, Call, Launch
from pytest_codexsandbox.model.boundary_acts import BOUNDARY_ACTS, REFUSALS, WALLS
from pytest_codexsandbox.model.policy import WORKSPACE_WRITE

LINUX = "https://github.com/openai/codex/blob/main/codex-rs/linux-sandbox/README.md"
SECURITY = "https://developers.openai.com/codex/agent-approvals-security#sandbox-and-approvals"
CLI = "https://github.com/openai/codex/blob/main/codex-rs/cli/src/debug_sandbox.rs"
ACTS = {"inside": Act(verb="write", path="@WORKSPACE@/@NAME@"), **BOUNDARY_ACTS}
NO_TERMINAL = ("ENXIO", "EACCES", "EPERM", "ENOENT", "EROFS")
NOT_TYPED = ("EPERM", "EACCES", "EIO", "ENOTTY")  # the last: none of the three streams is a terminal
OTHER_UMASK = 0o007  # it differs from 022 in both directions: it lets the group write, and others do nothing


def confined(trial: Trial) -> None:
    """Adds the rows of the case: about the workspace, or about one wall of the sandbox."""
    if trial.case == "workspace":
        trial.allowed("inside")
    for act in WALLS.get(trial.case, ()):
        trial.refused(act, errno=REFUSALS[trial.case])


def on_a_terminal(trial: Trial) -> None:
    """Adds the rows of the case: about one wall of the sandbox, or about the terminal."""
    confined(trial)
    if trial.case == "terminal":
        trial.refused("open", errno=NO_TERMINAL, claim="/dev/tty cannot be opened")
        trial.refused("type", errno=NOT_TYPED, unless=("EIO", "EPERM", "EACCES"), claim="TIOCSTI is refused")


@promise(
    "process.terminal-out-of-reach",
    kind="boundary",
    severity="critical",
    source=LINUX,
    policies=(WORKSPACE_WRITE,),
    acts={
        **BOUNDARY_ACTS,
        "open": Act(verb="terminal"),
        "type": Act(verb="terminal", params={"push": True}),
    },
    call=Call(launch=Launch(terminal=True)),
    cases=(*WALLS, "terminal"),
)
def test_the_terminal_of_the_caller_is_out_of_reach(trial: Trial) -> None:
    """Called from a terminal, a command is confined as without one. It cannot open the terminal by /dev/tty, and it
    types nothing into it: the caller's shell would run that outside.

    Source: codex-linux-sandbox: bubblewrap gives the command a session of its own.
    Control: without a sandbox the same command writes, connects, opens and types, on a terminal that the agent made.
    Where the kernel lets this user type into no terminal, that is left out.
    """
    on_a_terminal(trial)


@promise(
    "process.closed-stdin-is-confined",
    kind="boundary",
    severity="critical",
    source=SECURITY,
    policies=(WORKSPACE_WRITE,),
    acts=ACTS,
    call=Call(launch=Launch(closed=(0,))),
    cases=("workspace", *WALLS),
)
def test_a_command_without_standard_input_is_confined(trial: Trial) -> None:
    """A command that is called with its standard input closed writes in the workspace and not outside. Protected
    folders and the network are as closed as ever.

    Source: Codex documentation, sandbox modes: they hold for every command.
    Control: without a sandbox the same writes and connections work, and are seen from outside.
    """
    confined(trial)


@promise(
    "process.null-stdin-is-confined",
    kind="boundary",
    severity="critical",
    source=SECURITY,
    policies=(WORKSPACE_WRITE,),
    acts=ACTS,
    call=Call(launch=Launch(stdin_file="/dev/null")),
    cases=("workspace", *WALLS),
)
def test_a_command_that_reads_dev_null_is_confined(trial: Trial) -> None:
    """A command whose standard input is /dev/null, as in cron and CI, writes in the workspace and not outside.
    Protected folders and the network are as closed as ever.

    Source: Codex documentation, sandbox modes: they hold for every command.
    Control: without a sandbox the same writes and connections work, and are seen from outside.
    """
    confined(trial)


@promise(
    "process.other-umask-kept",
    kind="capability",
    severity="medium",
    source=CLI,
    policies=(WORKSPACE_WRITE,),
    acts={"file": Act(verb="put", path="@WORKSPACE@/@NAME@", params={"mode": 0o666})},
    call=Call(launch=Launch(umask=OTHER_UMASK)),
)
def test_a_umask_of_the_callers_own_is_kept(trial: Trial) -> None:
    """A file that the command makes has the permissions that the caller's umask of 007 leaves it.

    Source: `codex sandbox` changes nothing about the files that its command makes.
    Control: the permissions of the same file without a sandbox.
    """
    path = "@WORKSPACE@/@NAME@"
    inside, outside = trial.look(path, act="file"), trial.control_look(path, act="file")
    trial.says(
        "file",
        claim=f"the file has mode {0o666 & ~OTHER_UMASK:o}",
        saw=f"{inside.kind} {inside.mode:o}",
        held=inside.kind == "file" and inside.mode == 0o666 & ~OTHER_UMASK,
        control=f"{outside.kind} {outside.mode:o}",
        control_held=outside.kind == "file" and outside.mode == 0o666 & ~OTHER_UMASK,
        reason=trial.row("file").errno,
        direction="denied",
    )
