"""Ordinary commands: shells, copies, git, scripts. Each is confined, as the probe is."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, Call, Given
from pytest_codexsandbox.model.policy import WORKSPACE_WRITE

SOURCE = "https://developers.openai.com/codex/agent-approvals-security#sandbox-and-approvals"
OUTSIDE = "@OUTSIDE@/@NAME@"  # what a call with a command of its own must try to make
INSIDE = "@WORKSPACE@/made-inside"
TWO_FILES = 'echo let through > "$1"; echo made > "$2"; test ! -e "$1"'
SCRIPT = "@WORKSPACE@/run-me"
MADE = {"inside": Act(verb="write", path=INSIDE)}


@promise(
    "process.shell-is-confined",
    kind="boundary",
    severity="critical",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    acts=MADE,
    call=Call(argv=("/bin/sh", "-c", TWO_FILES, "sh", OUTSIDE, INSIDE)),
)
def test_a_shell_command_is_confined(trial: Trial) -> None:
    """`/bin/sh -c` writes in the workspace and not outside.

    Source: Codex documentation, sandbox modes: they hold for every command.
    Control: without a sandbox the same command writes both files.
    """
    trial.confined(act="inside", made=INSIDE)


@promise(
    "process.bash-is-confined",
    kind="boundary",
    severity="critical",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    requires=("program:bash",),
    acts=MADE,
    call=Call(argv=("bash", "-lc", TWO_FILES, "bash", OUTSIDE, INSIDE)),
)
def test_a_bash_command_by_its_bare_name_is_confined(trial: Trial) -> None:
    """`bash -lc`, which Codex starts commands with, writes in the workspace and not outside.

    Source: Codex documentation, sandbox modes: they hold for every command.
    Control: without a sandbox the same command writes both files.
    """
    trial.confined(act="inside", made=INSIDE)


@promise(
    "process.script-is-confined",
    kind="boundary",
    severity="critical",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    acts={
        "inside": Act(
            verb="write",
            path=INSIDE,
            given=(Given(kind="file", path=SCRIPT, content=f"#!/bin/sh\n{TWO_FILES}\n", mode=0o755),),
        )
    },
    call=Call(argv=("./run-me", OUTSIDE, INSIDE)),
)
def test_a_script_of_the_workspace_is_confined(trial: Trial) -> None:
    """A script with a first line `#!/bin/sh`, by its relative path, writes in the workspace and not outside.

    Source: Codex documentation, sandbox modes: they hold for every command.
    Control: without a sandbox the same script writes both files.
    """
    trial.confined(act="inside", made=INSIDE)


@promise(
    "process.copy-is-confined",
    kind="boundary",
    severity="critical",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    requires=("program:cp",),
    call=Call(argv=("cp", "/proc/self/comm", OUTSIDE)),
)
def test_a_copy_is_confined(trial: Trial) -> None:
    """`cp` copies no file to a place outside.

    Source: Codex documentation, sandbox modes: they hold for every command.
    Control: without a sandbox the same command makes the file.
    """
    trial.confined()


@promise(
    "process.git-is-confined",
    kind="boundary",
    severity="critical",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    requires=("program:git",),
    call=Call(argv=("git", "config", "--file", OUTSIDE, "let.through", "yes")),
)
def test_git_is_confined(trial: Trial) -> None:
    """`git` writes no settings file outside.

    Source: Codex documentation, sandbox modes: they hold for every command.
    Control: without a sandbox the same command makes the file.
    """
    trial.confined()
