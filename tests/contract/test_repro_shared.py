"""A repro script takes its turn in /tmp, and takes away what Codex left there and what it made itself.

Run with a fake Codex, in a folder that stands for /tmp.
"""

import fcntl
import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.doors.controls import UnconfinedDoor
from pytest_codexsandbox.doors.repro.script import repro_script
from pytest_codexsandbox.doors.sandbox_cli import SandboxDoor
from pytest_codexsandbox.doors.support.observe import observe
from pytest_codexsandbox.model.act import Act
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.policy import POLICIES, WORKSPACE_WRITE
from pytest_codexsandbox.system import process
from tests.fakes.machine import run_folder
from tests.fakes.scripted import FakeSubject, ScriptedEnvironment

SHORT = 1.0
DAEMON = f"codex-daemon-{os.getuid()}"
WRITE = Act(verb="write", path="@TMP@/@NAME@")


@pytest.fixture
def tmp() -> Iterator[Path]:
    with run_folder() as folder:
        (folder / "tmp").mkdir()
        yield folder / "tmp"


def run(tmp: Path, codex: str, *, door: str = "sandbox", home: str = "") -> CommandResult:
    """The script of a write to /tmp; `codex` are lines of shell in Codex's place."""
    environment = ScriptedEnvironment(lambda command: CommandResult(ended="exit"))
    chosen = SandboxDoor() if door == "sandbox" else UnconfinedDoor()
    (seen,) = observe(chosen, environment, FakeSubject(), POLICIES[WORKSPACE_WRITE], {"f.s/w": WRITE}, None)
    program = tmp.parent / "codex"
    program.write_text(f"#!/bin/sh\nTMP={tmp}\n{codex}\n")
    program.chmod(0o755)
    script = tmp.parent / "repro.sh"
    script.write_text(re.sub(r"(?<!\w)/tmp\b", str(tmp), repro_script(seen, acts={"f.s/w": WRITE})))
    words = {"PATH": os.environ["PATH"], "HOME": home or str(tmp.parent), "CODEX": str(program)}
    ended = process.run(Command(argv=("sh", str(script)), cwd="/", env=words, timeout=120))
    assert ended.ended == "exit", ended
    return ended


def names(tmp: Path) -> list[str]:
    return sorted(path.name for path in tmp.iterdir())


def test_files_that_codex_left_and_the_script_made_are_removed(tmp: Path) -> None:
    left = f'mkdir "$TMP/{DAEMON}" "$TMP/.git" "$TMP/.agents"; : > "$TMP/.codex"; : > "$TMP"/tmp-w1-f-s-w'
    ended = run(tmp, f"{left}; ls -A $TMP; exit 3")
    assert ended.exit == 3
    assert {DAEMON, ".git", ".agents", ".codex", "tmp-w1-f-s-w"} <= set(ended.stdout.decode().split())
    assert names(tmp) == []


@pytest.mark.parametrize("home", ["/proc/nobody", "TMP/me"])
def test_a_home_that_cannot_be_used_is_done_without(tmp: Path, home: str) -> None:
    """Whoever calls it from `/` need not be able to write there either."""
    ended = run(tmp, "echo $HOME", home=home.replace("TMP", str(tmp)))
    assert ended.exit == 0, ended
    (line,) = [line for line in ended.stdout.decode().splitlines() if "codexsandbox-repro" in line and "==" not in line]
    assert line.startswith("/var/tmp/codexsandbox-repro.") and not Path(line).exists()


def test_files_from_before_stay(tmp: Path) -> None:
    (tmp / DAEMON).mkdir()
    (tmp / ".codex").write_text("")
    (tmp / ".git").symlink_to("nowhere")
    assert run(tmp, 'mkdir "$TMP/.agents"').exit == 0
    assert names(tmp) == sorted([DAEMON, ".codex", ".git"])


def test_files_with_other_content_stay(tmp: Path) -> None:
    """A Codex of the user's own that began meanwhile, say."""
    run(tmp, f'mkdir "$TMP/{DAEMON}"; : > "$TMP/{DAEMON}/socket"; echo work > "$TMP/.codex"; ln -s nowhere "$TMP/.git"')
    assert names(tmp) == sorted([DAEMON, ".codex", ".git"])
    assert names(tmp / DAEMON) == ["socket"]


def test_it_waits_for_its_turn_and_says_so(tmp: Path) -> None:
    held = os.open(tmp, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    threading.Timer(SHORT, os.close, (held,)).start()
    begun = time.monotonic()
    assert b"waiting for another run" in run(tmp, "").stderr
    assert time.monotonic() - begun >= SHORT / 2
    assert b"waiting" not in run(tmp, "").stderr


def test_codex_runs_while_the_turn_is_the_scripts_and_inherits_nothing_of_it(tmp: Path) -> None:
    attempt = "import fcntl, os; fcntl.flock(os.open(os.environ['TMP'], os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    ended = run(tmp, f'export TMP; ls /proc/$$/fd; python3 -I -c "{attempt}" 2>&1')
    assert "BlockingIOError" in ended.stdout.decode()
    assert "8" not in ended.stdout.decode().split()


def test_a_script_that_is_interrupted_takes_away_as_well(tmp: Path) -> None:
    run(tmp, f'mkdir "$TMP/{DAEMON}"; kill -INT $PPID; sleep 0.1')
    assert names(tmp) == []
    assert not [path for path in tmp.parent.rglob("codexsandbox-repro*") if path.exists()]


def test_a_script_that_calls_no_codex_does_not_wait(tmp: Path) -> None:
    held = os.open(tmp, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        ended = run(tmp, "", door="unconfined")
    finally:
        os.close(held)
    assert ended.exit == 0 and b"waiting" not in ended.stderr
    assert names(tmp) == []
