"""Ordinary commands: shells, copies, git, scripts. Each is confined, as the probe is."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, Call, Given
from pytest_codexsandbox.model.policy import WORKSPACE_WRITE

SOURCE = "https://developers.openai.com/codex/agent-approvals-security#sandbox-and-approvals"
OUTSIDE = "@OUTSIDE@/@NAME@"  # what a call with a command of its own must try to make
INSIDE = "@WORKSPACE@/made-inside"
TWO_FILES = 'echo let through > "$1"; echo made > "$2"; test ! -e "$1"'
SCRIPT = "@WORKSPACE@/run-me"
STATIC = "@WORKSPACE@/run-static"
# An ELF file for x86-64 with one segment and no interpreter: the kernel starts it without a loader. It does
# open(argv[1], O_WRONLY|O_CREAT|O_TRUNC, 0o444), the same with argv[2], and exit(0). Each byte is ASCII, so it is text.
STATIC_PROGRAM = (
    bytes.fromhex(
        "7f454c46 02010100 0000000000000000"  # 64 bits, little endian
        "0200 3e00 01000000 7800400000000000"  # an executable for x86-64; it begins at 0x400078
        "4000000000000000 0000000000000000 00000000 4000 3800 0100 0000 0000 0000"  # one program header of 56 bytes
        "01000000 05000000 0000000000000000"  # to load, readable and executable, from the beginning of the file
        "0000400000000000 0000400000000000 0001000000000000 0001000000000000 0010000000000000"  # 256 bytes at 0x400000
        "59 5f 5f"  # pop rcx, rdi, rdi: the count of arguments, the program's own name, the first file
        "6841020000 5e 6824010000 5a"  # push 0x241; pop rsi; push 0o444; pop rdx
        "6a02 58 0f05"  # push 2; pop rax; syscall
        "5f 6a02 58 0f05"  # pop rdi: the second file
        "6a3c 58 6a00 5f 0f05"  # push 60; pop rax; push 0; pop rdi; syscall
    )
    .ljust(256, b"\0")
    .decode("ascii")
)
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
    "process.static-program-is-confined",
    kind="boundary",
    severity="critical",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    requires=("kernel:x86-64",),
    acts={
        "inside": Act(
            verb="write",
            path=INSIDE,
            given=(Given(kind="file", path=STATIC, content=STATIC_PROGRAM, mode=0o755),),
        )
    },
    call=Call(argv=("./run-static", OUTSIDE, INSIDE)),
)
def test_a_static_program_is_confined(trial: Trial) -> None:
    """A program of the workspace without a dynamic loader, in machine code, writes in the workspace and not outside.

    Source: Codex documentation, sandbox modes: they hold for every command.
    Control: without a sandbox the same program makes both files.
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
