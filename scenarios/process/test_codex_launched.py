"""The caller of Codex: what it leaves open for the command, and what happens when it ends Codex alone."""

import signal

from pytest_codexsandbox.api import WRITE_REFUSALS, Trial, promise
from pytest_codexsandbox.model.act import FIRST_DESCRIPTOR, Act, Call, Given, Launch
from pytest_codexsandbox.model.policy import READ_ONLY, WORKSPACE_WRITE

LINUX = "https://github.com/openai/codex/blob/main/codex-rs/linux-sandbox/README.md"
SECURITY = "https://developers.openai.com/codex/agent-approvals-security#sandbox-and-approvals"
FOLDER, FILE, SOCKET = FIRST_DESCRIPTOR, FIRST_DESCRIPTOR + 1, FIRST_DESCRIPTOR + 2
CLOSED = (*WRITE_REFUSALS, "EBADF")
BELOW = "@OUTSIDE@/@NAME@"
LEFT = "@OUTSIDE@/left-open"
AS_STDIN = "@OUTSIDE@/as-stdin"
BEFORE = 0.2  # seconds between the probe's first word and the signal
STDIO = {"0", "1", "2"}
LEAVES_OPEN = Call(launch=Launch(descriptors=("folder:@OUTSIDE@", f"file:{LEFT}", "unix:@UNIX@")))


@promise(
    "process.no-descriptor-inherited",
    kind="boundary",
    severity="high",
    source=SECURITY,
    policies=(READ_ONLY,),
    acts={
        "folder": Act(verb="create-below", params={"descriptor": FOLDER, "name": "@NAME@"}, looks=(BELOW,)),
        "file": Act(
            verb="write-descriptor",
            params={"descriptor": FILE, "data": "let through"},
            given=(Given(kind="file", path=LEFT),),
            looks=(LEFT,),
        ),
        "socket": Act(verb="write-descriptor", params={"descriptor": SOCKET, "data": "@NAME@"}),
    },
    call=LEAVES_OPEN,
    cases=("folder", "file", "socket"),
)
def test_no_descriptor_of_the_caller_is_a_way_out(trial: Trial) -> None:
    """A folder, a file and a connected socket that the caller left open are closed for the command.

    Source: Codex documentation, sandbox modes: writes are limited to the workspace.
    Control: without a sandbox the command has the same descriptors, and what it does with them is seen outside.
    """
    trial.refused(trial.case, errno=CLOSED)


@promise(
    "process.only-standard-descriptors",
    kind="boundary",
    severity="high",
    source=SECURITY,
    policies=(READ_ONLY,),
    acts={"list": Act(verb="descriptors", given=(Given(kind="file", path=LEFT),))},
    call=LEAVES_OPEN,
    cases=("caller", "codex"),
)
def test_the_command_has_nothing_open_but_its_standard_streams(trial: Trial) -> None:
    """A command has its standard input, output and error open. It has nothing else of its caller or of Codex.

    Source: Codex documentation, sandbox modes: writes are limited to the workspace.
    Control: without a sandbox the command has all that the caller left open, and nothing else.
    """
    inside, outside = set(trial.values("list")), set(trial.control_values("list"))
    of_caller = {str(FOLDER), str(FILE), str(SOCKET)}
    more = inside & of_caller if trial.case == "caller" else inside - STDIO - of_caller
    trial.says(
        "list",
        claim=f"0, 1 and 2 are open, and nothing of {'its caller' if trial.case == 'caller' else 'Codex'}",
        saw=f"open: {', '.join(sorted(inside)) or 'not known'}",
        held=inside >= STDIO and not more,
        control=f"open: {', '.join(sorted(outside)) or 'not known'}",
        control_held=outside >= STDIO | of_caller if trial.case == "caller" else outside - of_caller == STDIO,
        direction="leak" if more else "wrong-claim",
    )


@promise(
    "process.stdin-file-is-read-only",
    kind="boundary",
    severity="high",
    source=SECURITY,
    policies=(READ_ONLY,),
    acts={
        "reopen": Act(
            verb="reopen",
            params={"descriptor": 0, "data": "let through"},
            given=(Given(kind="file", path=AS_STDIN),),
            looks=(AS_STDIN,),
        )
    },
    call=Call(launch=Launch(stdin_file=AS_STDIN)),
)
def test_a_file_that_is_standard_input_cannot_be_written(trial: Trial) -> None:
    """A file outside that is the command's standard input, opened for reading, stays as it is.

    Source: Codex documentation, sandbox modes: writes are limited to the workspace.
    Control: without a sandbox the command opens the same descriptor again, for writing, and writes to the file.
    """
    row, control = trial.row("reopen"), trial.control_row("reopen")
    inside = "let through" in trial.look(AS_STDIN, act="reopen").text
    outside = "let through" in trial.control_look(AS_STDIN, act="reopen").text
    trial.says(
        "reopen",
        claim=f"opening it again for writing is refused ({' or '.join(WRITE_REFUSALS)})",
        saw=f"{row.errno or row.detail or 'worked'}; the file was {'written' if inside else 'not written'}",
        held=row.errno in WRITE_REFUSALS and not inside,
        control=f"{control.errno or 'worked'}; the file was {'written' if outside else 'not written'}",
        control_held=control.ok and outside,
        reason=row.errno,
        direction="leak" if row.ok or inside else "wrong-claim",
    )


def ends_with_codex(trial: Trial, number: signal.Signals) -> None:
    """Adds a row that holds if nothing of the call runs on after the signal has ended the Codex process."""
    seen, control = trial.observed(), trial.controlled()
    left = [one.partition(":")[0] for one in seen.survivors]
    signalled = seen.ready and seen.seconds >= BEFORE
    ended = signalled and seen.ended in ("exit", "signal") and not seen.finished
    trial.says(
        "wait",
        claim=f"after {number.name} to the Codex process alone its command is over, and no process is left",
        saw=f"{seen.ended} {seen.code}; left running: {', '.join(left) or 'nothing'}",
        held=ended and not left,
        control=f"{control.ended} {control.code}, {'finished' if control.finished else 'unfinished'}",
        control_held=control.ready
        and control.ended in ("exit", "signal")
        and not control.finished
        and not control.survivors,
        direction="litter" if left else "wrong-claim",
    )


def alone(number: signal.Signals) -> Call:
    return Call(interrupt_after=BEFORE, timeout=40.0, launch=Launch(signal=int(number), signal_alone=True))


WAIT = {"wait": Act(verb="beat", params={"seconds": 20})}


@promise(
    "process.term-ends-the-call",
    kind="hygiene",
    severity="high",
    source=LINUX,
    policies=(WORKSPACE_WRITE,),
    acts=WAIT,
    call=alone(signal.SIGTERM),
)
def test_sigterm_to_codex_ends_its_command(trial: Trial) -> None:
    """SIGTERM to the Codex process alone, as a supervisor sends it, ends the command and all that it started.

    Source: codex-linux-sandbox: signals are forwarded and the command dies with its parent.
    Control: the same signal ends the same command without a sandbox.
    """
    ends_with_codex(trial, signal.SIGTERM)


@promise(
    "process.kill-ends-the-call",
    kind="hygiene",
    severity="high",
    source=LINUX,
    policies=(WORKSPACE_WRITE,),
    acts=WAIT,
    call=alone(signal.SIGKILL),
)
def test_sigkill_to_codex_ends_its_command(trial: Trial) -> None:
    """SIGKILL to the Codex process alone, as `Popen.kill()` at a time limit, ends the command and all of it.

    Source: codex-linux-sandbox: the command dies with its parent.
    Control: the same signal ends the same command without a sandbox.
    """
    ends_with_codex(trial, signal.SIGKILL)


@promise(
    "process.hangup-ends-the-call",
    kind="hygiene",
    severity="high",
    source=LINUX,
    policies=(WORKSPACE_WRITE,),
    acts=WAIT,
    call=alone(signal.SIGHUP),
)
def test_a_hangup_of_codex_ends_its_command(trial: Trial) -> None:
    """SIGHUP to the Codex process alone, as when a terminal is closed, ends the command and all that it started.

    Source: codex-linux-sandbox: signals are forwarded and the command dies with its parent.
    Control: the same signal ends the same command without a sandbox.
    """
    ends_with_codex(trial, signal.SIGHUP)


@promise(
    "process.interrupt-of-codex-ends-the-call",
    kind="hygiene",
    severity="high",
    source=LINUX,
    policies=(WORKSPACE_WRITE,),
    acts=WAIT,
    call=alone(signal.SIGINT),
)
def test_sigint_to_codex_alone_ends_its_command(trial: Trial) -> None:
    """SIGINT to the Codex process alone, as a supervisor sends it, ends the command and all that it started.

    Source: codex-linux-sandbox: signals are forwarded and the command dies with its parent.
    Control: the same signal ends the same command without a sandbox.
    """
    ends_with_codex(trial, signal.SIGINT)
