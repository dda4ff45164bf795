"""Ordinary commands: shells, copies, git, scripts. Each is confined, as the probe is."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, Call, Given
from pytest_codexsandbox.model.policy import WORKSPACE_WRITE

SOURCE = "https://developers.openai.com/codex/agent-approvals-security#sandbox-and-approvals"
OUTSIDE = "@OUTSIDE@/@NAME@"  # what a call with a command of its own must try to make
INSIDE = "@WORKSPACE@/made-inside"
TWO_FILES = 'echo let through > "$1"; echo made > "$2"; test ! -e "$1"'
SCRIPT = "@WORKSPACE@/run-me"
# The refusal of the write outside is not this promise's finding: its error output goes nowhere.
SIGNALS = 'grep "^Sig[BI]" /proc/self/status > "$2"; { echo let through > "$1"; } 2> /dev/null; test ! -e "$1"'
# The control runs without a sandbox: git obeys no settings there but its own words, and looks for no repository above.
NO_PROGRAMS = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "safe.bareRepository=explicit")
NO_SETTINGS = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CEILING_DIRECTORIES": "@WORLD@",
    "GIT_TERMINAL_PROMPT": "0",
}
MADE = {"inside": Act(verb="write", path=INSIDE)}


@promise(
    "process.shell-is-confined",
    kind="boundary",
    severity="critical",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    requires=("program:sh",),
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
    call=Call(argv=("bash", "-c", TWO_FILES, "bash", OUTSIDE, INSIDE)),
)
def test_a_bash_command_by_its_bare_name_is_confined(trial: Trial) -> None:
    """`bash`, found on the PATH, writes in the workspace and not outside.

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
    call=Call(argv=("git", *NO_PROGRAMS, "config", "--file", OUTSIDE, "let.through", "yes"), env=NO_SETTINGS),
)
def test_git_is_confined(trial: Trial) -> None:
    """`git` writes no settings file outside.

    Source: Codex documentation, sandbox modes: they hold for every command.
    Control: without a sandbox the same command makes the file.
    """
    trial.confined()


@promise(
    "process.program-signals-as-outside",
    kind="capability",
    severity="medium",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    requires=("program:sh",),
    acts=MADE,
    call=Call(argv=("/bin/sh", "-c", SIGNALS, "sh", OUTSIDE, INSIDE)),
)
def test_a_program_ignores_no_other_signals_than_outside(trial: Trial) -> None:
    """A program ignores and blocks the signals that it would without a sandbox, SIGPIPE too: `yes | head` ends quietly.

    Source: Codex runs a command as a shell would, and a shell hands its own signal settings on.
    Control: what the kernel shows of the same program without a sandbox.
    """
    inside, outside = trial.look(INSIDE, act="inside"), trial.control_look(INSIDE, act="inside")
    trial.says(
        "inside",
        claim="the signals that a program ignores and blocks are those without a sandbox",
        saw=" ".join(inside.text.split()) or inside.kind,
        held=inside.text != "" and inside.text == outside.text,
        control=" ".join(outside.text.split()) or outside.kind,
        control_held="SigIgn" in outside.text and "SigBlk" in outside.text,
        direction="denied",
    )
