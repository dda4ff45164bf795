"""What the runner itself starts: endings, limits, bytes."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.system import process

GENEROUS = 120.0
PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def sh(script: str, **changes: object) -> CommandResult:
    words: dict[str, object] = {"cwd": "/", "env": PATH, "timeout": GENEROUS, **changes}
    return process.run(Command(argv=("/bin/sh", "-c", script), **words))  # type: ignore[arg-type]


def test_output_is_bytes_and_the_exit_code_is_kept() -> None:
    done = sh(r"printf '\377\n'; echo oops >&2; exit 3")
    assert (done.ended, done.exit, done.stdout, done.stderr) == ("exit", 3, b"\xff\n", b"oops\n")


def test_death_by_a_signal_stays_one() -> None:
    done = sh("kill -KILL $$")
    assert (done.ended, done.signal, done.code) == ("signal", signal.SIGKILL, 137)


def test_nothing_is_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEXSANDBOX_CONTRACT", "leaked")
    assert b"leaked" not in sh("env").stdout


def test_the_time_limit_ends_the_whole_group_and_says_so(tmp_path: Path) -> None:
    begun = time.monotonic()
    done = sh("sleep 1000 & echo $!; sleep 1000", timeout=2.0)
    assert (done.ended, done.exit, done.signal) == ("timeout", 0, 0)
    assert "after 2." in done.error
    assert time.monotonic() - begun < GENEROUS
    assert _is_gone(int(done.stdout))


def test_a_process_that_a_command_leaves_in_its_group_is_ended_with_it() -> None:
    done = sh("sleep 1000 & echo $!")
    assert (done.ended, done.exit) == ("exit", 0)
    assert _is_gone(int(done.stdout))


def test_a_process_that_left_the_group_does_not_delay_the_call() -> None:
    script = """
import os, time
reading, writing = os.pipe()
child = os.fork()
if not child:
    os.setsid()
    os.write(writing, b"!")
    time.sleep(60)
    os._exit(0)
os.read(reading, 1)
print(child, flush=True)
"""
    begun = time.monotonic()
    done = process.run(Command(argv=(sys.executable, "-c", script), cwd="/", env=PATH, timeout=GENEROUS))
    took = time.monotonic() - begun
    os.kill(int(done.stdout), signal.SIGKILL)  # it was alive all the time
    assert (done.ended, done.exit) == ("exit", 0)
    assert took < 50


def test_output_past_the_limit_is_counted_and_not_kept() -> None:
    done = sh("head -c 3000000 /dev/zero", output_limit=10)
    assert (len(done.stdout), done.stdout_total) == (10, 3_000_000)


@pytest.mark.parametrize("script", ["cat >/dev/null; echo read", "echo read"])
def test_stdin_is_given_whether_it_is_read_or_not(script: str) -> None:
    assert sh(script, stdin=b"x" * 3_000_000).stdout == b"read\n"


def test_without_stdin_it_reads_the_end() -> None:
    assert sh("cat; echo ended").stdout == b"ended\n"


@pytest.mark.parametrize(("argv", "cwd"), [(("/no/such/program",), "/"), (("/bin/sh",), "/no/such/folder"), ((), "/")])
def test_a_program_that_cannot_start_is_reported(argv: tuple[str, ...], cwd: str) -> None:
    done = process.run(Command(argv=argv, cwd=cwd, env={}))
    assert done.ended == "not-started"
    assert done.error


def test_inherited_output_goes_to_the_callers_output(capfd: pytest.CaptureFixture[str]) -> None:
    done = process.run(Command(argv=("/bin/echo", "to the screen"), cwd="/", env={}), inherit_output=True)
    assert (done.ended, done.stdout) == ("exit", b"")
    assert capfd.readouterr().out == "to the screen\n"


def test_leaving_ends_what_runs() -> None:
    with process.running(("/bin/sh", "-c", "sleep 1000 & echo $!; cat"), cwd="/", env=PATH) as child:
        assert child.stdout is not None
        pid = int(child.stdout.readline())
    assert child.returncode is not None
    assert _is_gone(pid)


def test_a_process_that_does_not_end_by_itself_is_killed() -> None:
    with process.running((sys.executable, "-c", "import time; time.sleep(1000)"), cwd="/", env=PATH) as child:
        assert not process.let_end(child, within=0.2)
        assert child.returncode == -signal.SIGKILL


def _is_gone(pid: int) -> bool:
    """It was killed; whoever is its parent now still has to reap it."""
    limit = time.monotonic() + GENEROUS
    while time.monotonic() < limit:
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False
