"""A command's end is reported as it was, and all that the command started ends with it."""

import signal

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.policy import EVERY, READ_ONLY, SANDBOXED, WORKSPACE_WRITE

SOURCE = "https://github.com/openai/codex/blob/main/codex-rs/cli/src/debug_sandbox.rs"
LINUX = "https://github.com/openai/codex/tree/main/codex-rs/linux-sandbox"
REASONS = ("No such file or directory", "Permission denied")  # of bubblewrap's namespaces, of Landlock


def ends_with(trial: Trial, code: int, *, act: str) -> None:
    """Codex ended as its command did, and the command as it was told to."""
    seen, control = trial.observed(), trial.controlled()
    trial.says(
        act,
        claim=f"the call ends with {code}",
        saw=f"{seen.ended} {seen.code}{'' if seen.ready else ', before the command said a word'}",
        held=seen.ended in ("exit", "signal") and seen.code == code and seen.ready,
        control=f"{control.ended} {control.code}",
        control_held=control.ended in ("exit", "signal") and control.code == code,
    )


@promise(
    "process.success-is-zero",
    kind="claim",
    severity="high",
    source=SOURCE,
    policies=EVERY,
    acts={"status": Act(verb="status")},
)
def test_a_command_that_succeeds_ends_with_zero(trial: Trial) -> None:
    """A command that did all it was asked ends the call with 0, and everything that it said arrives.

    Source: `codex sandbox` exits with the status of its command.
    Control: the same command without a sandbox ends with 0.
    """
    seen, control = trial.observed(), trial.controlled()
    trial.allowed("status")
    trial.says(
        "status",
        claim="the call ends with 0 after the last word of its command",
        saw=f"{seen.ended} {seen.code}, {'complete' if seen.finished else 'cut short'}",
        held=seen.ended == "exit" and seen.code == 0 and seen.finished,
        control=f"{control.ended} {control.code}",
        control_held=control.ended == "exit" and control.code == 0 and control.finished,
    )


@promise(
    "process.exit-code-kept",
    kind="claim",
    severity="high",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    acts={"exit": Act(verb="exit", params={"code": 7})},
    call=Call(),
)
def test_the_exit_code_of_the_command_is_kept(trial: Trial) -> None:
    """A command that ends with 7 ends the call with 7.

    Source: `codex sandbox` exits with the status of its command.
    Control: the same command without a sandbox ends with 7.
    """
    ends_with(trial, 7, act="exit")


@promise(
    "process.exit-code-1-kept",
    kind="claim",
    severity="high",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    acts={"exit": Act(verb="exit", params={"code": 1})},
    call=Call(),
)
def test_exit_code_1_is_kept(trial: Trial) -> None:
    """A command that ends with 1, as `grep` and a failed test suite do, ends the call with 1.

    Source: `codex sandbox` exits with the status of its command.
    Control: the same command without a sandbox ends with 1.
    """
    ends_with(trial, 1, act="exit")


@promise(
    "process.exit-code-2-kept",
    kind="claim",
    severity="high",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    acts={"exit": Act(verb="exit", params={"code": 2})},
    call=Call(),
)
def test_exit_code_2_is_kept(trial: Trial) -> None:
    """A command that ends with 2, as a wrong command line does, ends the call with 2.

    Source: `codex sandbox` exits with the status of its command.
    Control: the same command without a sandbox ends with 2.
    """
    ends_with(trial, 2, act="exit")


@promise(
    "process.exit-code-127-kept",
    kind="claim",
    severity="high",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    acts={"exit": Act(verb="exit", params={"code": 127})},
    call=Call(),
)
def test_exit_code_127_is_kept(trial: Trial) -> None:
    """A command that ends with 127, as a shell does for a command that it does not find, ends the call with 127.

    Source: `codex sandbox` exits with the status of its command.
    Control: the same command without a sandbox ends with 127.
    """
    ends_with(trial, 127, act="exit")


@promise(
    "process.exit-code-255-kept",
    kind="claim",
    severity="high",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    acts={"exit": Act(verb="exit", params={"code": 255})},
    call=Call(),
)
def test_exit_code_255_is_kept(trial: Trial) -> None:
    """A command that ends with 255, the largest that there is, ends the call with 255.

    Source: `codex sandbox` exits with the status of its command.
    Control: the same command without a sandbox ends with 255.
    """
    ends_with(trial, 255, act="exit")


@promise(
    "process.death-by-term-is-143",
    kind="claim",
    severity="medium",
    source=SOURCE,
    policies=(WORKSPACE_WRITE,),
    acts={"signal": Act(verb="signal", params={"number": int(signal.SIGTERM)})},
    call=Call(),
)
def test_death_by_sigterm_is_reported_as_128_plus_15(trial: Trial) -> None:
    """A command that SIGTERM ended ends the call with 143, as a shell would say it.

    Source: `codex sandbox` exits with 128 + signal.
    Control: the same command without a sandbox dies by SIGTERM.
    """
    ends_with(trial, 128 + signal.SIGTERM, act="signal")


@promise(
    "process.death-by-kill-is-137",
    kind="claim",
    severity="medium",
    source=SOURCE,
    policies=(READ_ONLY,),
    acts={"signal": Act(verb="signal", params={"number": int(signal.SIGKILL)})},
    call=Call(),
)
def test_death_by_sigkill_is_reported_as_128_plus_9(trial: Trial) -> None:
    """A command that SIGKILL ended (the out-of-memory killer's signal) ends the call with 137.

    Source: `codex sandbox` exits with 128 + signal.
    Control: the same command without a sandbox dies by SIGKILL.
    """
    ends_with(trial, 128 + signal.SIGKILL, act="signal")


@promise(
    "process.missing-command-is-named",
    kind="claim",
    severity="medium",
    source=f"{LINUX}/src/linux_run_main.rs",
    policies=(WORKSPACE_WRITE,),
    call=Call(argv=("@HIDDEN@", "@OUTSIDE@/@NAME@")),
)
def test_a_command_that_is_not_there_is_named(trial: Trial) -> None:
    """A command that is not there in the sandbox ends the call with 101 or 127; stderr has its name and the reason.

    It is there outside, where it would leave a file: so that it is missing shows that this very call is confined.

    Source: codex-linux-sandbox: `Failed to execvp COMMAND: No such file or directory`.
    Control: without a sandbox the same command is found, ends with 0, and its file is there.
    """
    seen, control = trial.observed(), trial.controlled()
    missing = seen.argv[-2] if seen.argv else "the command"
    said = next((line for line in seen.stderr.splitlines() if missing in line), "")
    trial.says(
        "",
        claim="exit code 101 or 127, and stderr names the command and why it cannot be run",
        saw=f"{seen.ended} {seen.code}: {said or seen.stderr[:200]}",
        held=seen.ended == "exit" and seen.code in (101, 127) and any(reason in said for reason in REASONS),
        control=f"{control.ended}: {control.error or control.code}",
        control_held=control.ended == "exit" and control.code == 0,
    )


@promise(
    "process.children-die-with-the-call",
    kind="hygiene",
    severity="high",
    source=f"{LINUX}/README.md",
    policies=(WORKSPACE_WRITE,),
    acts={
        "child": Act(verb="spawn-lingering", path="@WORKSPACE@/@NAME@"),
        "session": Act(verb="spawn-lingering", path="@WORKSPACE@/@NAME@", params={"setsid": True}),
    },
    call=Call(),
)
def test_processes_that_the_command_left_die_with_the_call(trial: Trial) -> None:
    """Processes that the command left in the background, in its session or in one of their own, end with the call.

    Source: codex-linux-sandbox: the command runs in a PID namespace of its own, `--die-with-parent`.
    Control: without a sandbox both go on running after the command, and are found.
    """
    child, session = trial.row("child"), trial.row("session")
    survivors = [one.partition(":")[0] for one in trial.observed().survivors]
    outside = [one.partition(":")[0] for one in trial.controlled().survivors]
    begun = child.ok and session.ok
    saw = f"left running: {', '.join(survivors)}" if survivors else "no process was left"
    trial.says(
        "child",
        claim="both processes are begun, and none of the call is left",
        saw=saw if begun else f"{saw}; not begun: {child.detail or session.detail or child.errno or session.errno}",
        held=begun and not survivors,
        control=f"left running: {', '.join(outside)}" if outside else "no process was left",
        control_held=len(outside) > 1,
        direction="litter" if survivors else "denied",
    )


@promise(
    "process.nothing-outlives-the-call",
    kind="boundary",
    severity="high",
    source=f"{LINUX}/README.md",
    policies=SANDBOXED,
    acts={"status": Act(verb="status")},
)
def test_no_process_outlives_an_ordinary_call(trial: Trial) -> None:
    """No process of Codex or of its command goes on after the call, where it could write later.

    Source: codex-linux-sandbox: the command runs in a PID namespace of its own, `--die-with-parent`.
    Control: the same command without a sandbox leaves no process.
    """
    left = [one.partition(":")[0] for one in trial.observed().survivors]
    outside = [one.partition(":")[0] for one in trial.controlled().survivors]
    trial.says(
        "status",
        claim="no process is left",
        saw=f"left running: {', '.join(left)}" if left else "no process was left",
        held=trial.row("status").ok and not left,
        control=f"left running: {', '.join(outside)}" if outside else "no process was left",
        control_held=trial.control_row("status").ok and not outside,
        direction="leak" if left else "denied",
    )


@promise(
    "process.interrupt-ends-the-call",
    kind="hygiene",
    severity="high",
    source=f"{LINUX}/README.md",
    policies=(WORKSPACE_WRITE,),
    acts={"wait": Act(verb="beat", params={"seconds": 20})},
    call=Call(interrupt_after=0.3, timeout=40.0),
)
def test_an_interrupt_ends_the_call_with_everything_in_it(trial: Trial) -> None:
    """SIGINT to the process group, as Ctrl-C sends it, ends the call with 130 before its work is done; nothing stays.

    Source: codex-linux-sandbox: signals are forwarded and the command dies with its parent.
    Control: the same interrupt ends the same command without a sandbox.
    """
    seen, control = trial.observed(), trial.controlled()
    trial.says(
        "wait",
        claim="the call ends with 130, its command unfinished, and no process is left",
        saw=f"{seen.ended} {seen.code}, {'finished' if seen.finished else 'unfinished'}, "
        f"left running: {len(seen.survivors)}",
        held=seen.ended in ("exit", "signal") and seen.code == 130 and not seen.finished and not seen.survivors,
        control=f"{control.ended} {control.code}, {'finished' if control.finished else 'unfinished'}",
        control_held=control.code == 130 and not control.finished,
        direction="litter" if seen.survivors else "wrong-claim",
    )
