"""The probe as a process: what it says, in which order, and how it ends."""

import base64
import hashlib
import json
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.doors.support.call_output import Spoken, parse
from pytest_codexsandbox.guest import probe
from pytest_codexsandbox.guest.probe_inspector import SIGNAL_WANTED

PROBE = str(Path(probe.__file__))
NONCE = "c0ffee"


def argv(*acts: dict[str, Any]) -> list[str]:
    plan = base64.b64encode(zlib.compress(json.dumps({"acts": acts}).encode())).decode()
    return [sys.executable, "-I", "-S", PROBE, NONCE, plan]


def act(verb: str, path: str = "", **params: Any) -> dict[str, Any]:
    return {"id": f"t/{verb}", "verb": verb, "path": path, "params": params}


def talk(*acts: dict[str, Any], stdin: bytes = b"go\n") -> tuple[Spoken, int]:
    ended = subprocess.run(argv(*acts), input=stdin, capture_output=True, timeout=120, check=False)
    assert ended.stderr == b""
    said = parse(ended.stdout, NONCE, [one["id"] for one in acts])
    assert said.error == ""
    return said, ended.returncode


def test_it_performs_in_order_and_says_that_it_is_done(tmp_path: Path) -> None:
    file = str(tmp_path / "f")
    said, code = talk(act("create", file), act("unlink", file), act("read", file))
    assert (said.ready, said.finished, code, said.rest) == (True, True, 0, b"")
    assert [(name, row.ok, row.errno) for name, row in said.rows.items()] == [
        ("t/create", True, ""),
        ("t/unlink", True, ""),
        ("t/read", False, "ENOENT"),
    ]
    assert all(row.ms >= 0 for row in said.rows.values())


def test_when_all_is_said_it_becomes_the_command_that_it_was_given(tmp_path: Path) -> None:
    file = str(tmp_path / "f")
    script = 'cat; echo "$0 $$"; grep SigIgn /proc/self/status; exit 9'
    becomes = act("become", argv=["sh", "-c", script, "it"], without=["LC_CTYPE"])
    said, code = talk(act("create", file), becomes, stdin=b"go\nfor the command")
    assert (said.ready, said.finished, code) == (True, True, 9)
    assert [row.ok for row in said.rows.values()] == [True, True]
    assert said.rest.startswith(b"for the commandit ")
    # Python ignores it, and the command must not inherit that. Who runs these tests may ignore others himself.
    assert not int(said.rest.split()[-1], 16) & 1 << (signal.SIGPIPE - 1)


@pytest.mark.parametrize(("word", "code"), [("/no/such", 127), ("/etc/passwd", 126)])
def test_a_command_that_it_cannot_become_is_named(word: str, code: int) -> None:
    ended = subprocess.run(argv(act("become", argv=[word])), input=b"go\n", capture_output=True, check=False)
    assert (ended.returncode, ended.stderr.decode().split(": ")[0]) == (code, word)


def test_the_probe_does_nothing_before_the_word_go(tmp_path: Path) -> None:
    file = tmp_path / "f"
    child = subprocess.Popen(argv(act("create", str(file))), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin and child.stdout
    with child:
        ready = child.stdout.readline()
        assert json.loads(ready.split(b":", 2)[2]) == {"ready": {"pid": child.pid}}
        time.sleep(0.2)  # it could have acted by now; that it did not is no matter of speed
        assert not file.exists()
        child.stdin.write(b"go\n")
        child.stdin.close()
        child.stdout.read()
    assert file.exists() and child.returncode == 0


@pytest.mark.parametrize("closes", [True, False], ids=["closed", "null"])
def test_without_stdin_a_signal_is_the_word_go(tmp_path: Path, *, closes: bool) -> None:
    file = tmp_path / "f"
    child = subprocess.Popen(
        ["/bin/sh", "-c", 'exec "$@" <&-' if closes else 'exec "$@" </dev/null', "sh", *argv(act("create", str(file)))],
        stdout=subprocess.PIPE,
    )
    assert child.stdout
    with child:
        said = child.stdout.readline()
        assert json.loads(said.split(b":", 2)[2]) == {"ready": {"pid": child.pid, "go": "signal"}}
        assert SIGNAL_WANTED in said
        time.sleep(0.2)  # it could have acted by now
        assert not file.exists()
        child.send_signal(probe.GO)
        child.stdout.read()
    assert file.exists() and child.returncode == 0


def test_the_end_of_stdin_means_go() -> None:
    said, code = talk(act("status"), stdin=b"")
    assert said.finished and code == 0


def test_input_after_the_word_belongs_to_the_act() -> None:
    told = b"go\nnot a word\n\x00" * 30_000
    said, _ = talk(act("stdin"), stdin=b"go\n" + told)
    value = json.loads(said.rows["t/stdin"].value)
    assert value == {"sha256": hashlib.sha256(told).hexdigest(), "length": len(told)}


def test_an_exit_code_follows_the_last_word() -> None:
    said, code = talk(act("status"), act("exit", code=7))
    assert said.finished and code == 7 and said.rows["t/exit"].ok


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGPIPE])
def test_death_by_a_signal_follows_the_last_word(number: signal.Signals) -> None:
    said, code = talk(act("signal", number=int(number)))
    assert said.finished and code == -number


def test_ten_megabytes_arrive_between_two_words() -> None:
    said, _ = talk(act("output", size=10_000_000, seed="a"), act("status"))
    told = json.loads(said.rows["t/output"].value)
    assert told == {"sha256": hashlib.sha256(said.rest).hexdigest(), "length": len(said.rest)}
    assert said.finished


def test_a_beat_says_its_word_first_and_an_interrupt_ends_it_without_a_traceback() -> None:
    child = subprocess.Popen(
        argv(act("beat", seconds=300)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdin and child.stdout and child.stderr
    with child:
        child.stdin.write(b"go\n")
        child.stdin.flush()
        assert b"ready" in child.stdout.readline()
        assert b'"ok": true' in child.stdout.readline()
        child.send_signal(signal.SIGINT)
        assert (child.stdout.read(), child.stderr.read()) == (b"", b"")
    assert child.returncode == -signal.SIGINT


def test_a_child_that_lingers_holds_nothing_back(tmp_path: Path) -> None:
    file = tmp_path / "beats"
    said, code = talk(act("spawn-lingering", str(file), setsid=True, seconds=1))
    assert said.finished and code == 0 and int(said.rows["t/spawn-lingering"].value) > 1
    deadline = time.monotonic() + 60
    while not (file.exists() and file.read_text()) and time.monotonic() < deadline:  # made, and then written
        time.sleep(0.02)
    assert file.read_text().startswith("still here\n")


def test_programs_run_and_report_their_exit() -> None:
    said, _ = talk({**act("run", argv=["echo", "hi"]), "id": "t/good"}, {**act("run", argv=["false"]), "id": "t/bad"})
    assert said.rows["t/good"].value == "hi\n"
    assert not said.rows["t/bad"].ok and said.rows["t/bad"].detail.startswith("ended with 1")


def test_a_user_namespace_is_tried_in_a_child_of_its_own() -> None:
    said, _ = talk(act("unshare-user"), act("status"))
    row = said.rows["t/unshare-user"]
    assert row.ok or (row.errno in {"EPERM", "EACCES", "ENOSPC", "EINVAL"} and row.step == "unshare")
    assert said.finished


def test_it_imports_only_what_every_call_needs() -> None:
    """sqlite3, sockets, hashes and threads would cost every call more than its acts."""
    run = f"exec(compile(open({PROBE!r}).read(), 'probe', 'exec'))"
    script = f"import os, sys; sys.argv = ['p', 'n', {argv()[-1]!r}]; os._exit = lambda code: None; {run}; "
    script += "print(*sorted(sys.modules))"
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=True,
    )
    loaded = set(ended.stdout.decode().splitlines()[-1].split())
    assert "json" in loaded
    assert not loaded & {"sqlite3", "socket", "_socket", "urllib", "urllib.parse", "hashlib", "subprocess", "typing"}
