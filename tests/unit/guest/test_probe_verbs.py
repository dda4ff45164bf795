"""Each rare verb of the probe, in this process: its effect, and the errno and step of a failure."""

import errno
import hashlib
import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.guest import probe

Row = dict[str, Any]


def done(verb: str, path: Path | str = "", **params: Any) -> Row:
    return probe.perform({"id": "t/a", "verb": verb, "path": str(path), "params": params})


def worked(verb: str, path: Path | str = "", **params: Any) -> str:
    row = done(verb, path, **params)
    assert row["ok"], row
    return str(row["value"])


def failed(verb: str, path: Path | str = "", **params: Any) -> tuple[str, str]:
    row = done(verb, path, **params)
    assert not row["ok"], row
    return row["errno"], row["step"]


def test_a_file_without_a_name_leaves_nothing(tmp_path: Path) -> None:
    worked("tmpfile", tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert failed("tmpfile", tmp_path / "missing") == ("ENOENT", "open")


def test_a_file_without_a_name_gets_one(tmp_path: Path) -> None:
    worked("tmpfile", tmp_path, to=str(tmp_path / "named"))
    assert [path.name for path in tmp_path.iterdir()] == ["named"]
    assert failed("tmpfile", tmp_path, to=str(tmp_path / "named")) == ("EEXIST", "link")


def test_the_users_number_replaces_its_word(tmp_path: Path) -> None:
    (tmp_path / str(os.getuid())).mkdir()
    worked("tmpfile", tmp_path / "%UID%")


def test_two_files_change_places(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("1")
    other.write_text("2")
    worked("exchange", one, to=str(other))
    assert (one.read_text(), other.read_text()) == ("2", "1")
    assert failed("exchange", one, to=str(tmp_path / "missing")) == ("ENOENT", "renameat2")


def test_a_named_pipe_is_made_and_written(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    worked("mkfifo", pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert failed("mkfifo", pipe) == ("EEXIST", "mkfifo")
    assert failed("fifo-write", address=str(pipe), token="x") == ("ENXIO", "open")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        worked("fifo-write", address=str(pipe), token="word")
        assert os.read(reader, 99) == b"word\n"
    finally:
        os.close(reader)


def test_attributes_are_changed(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    worked("chown", file)
    assert failed("chown", tmp_path / "missing") == ("ENOENT", "chown")
    row = done("setxattr", file)
    assert row["ok"] or row["errno"] in ("ENOTSUP", "EOPNOTSUPP")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(str(tmp_path / "s"))
        made.settimeout(5)
        yield made


@pytest.mark.parametrize("by", ["sendto", "sendmsg", "sendmmsg"])
def test_a_datagram_arrives_by_each_call(server: socket.socket, tmp_path: Path, by: str) -> None:
    worked("unix-send", address=str(tmp_path / "s"), by=by, token="word")
    assert server.recv(99) == b"word\n"
    assert failed("unix-send", address=str(tmp_path / "missing"), by=by, token="x") == ("ENOENT", by)


@pytest.mark.parametrize("by", ["sendto", "sendmsg", "sendmmsg"])
def test_a_datagram_arrives_at_an_abstract_name(by: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(f"\0cx-test-{os.getpid()}-{by}")
        made.settimeout(5)
        worked("unix-send", address=f"cx-test-{os.getpid()}-{by}", by=by, token="word")
        assert made.recv(99) == b"word\n"


def test_descriptors_are_listed_written_and_opened_again(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    folder, reading = os.open(tmp_path, os.O_RDONLY), os.open(file, os.O_RDONLY)
    try:
        found = json.loads(worked("descriptors"))
        assert found[str(folder)] == str(tmp_path)
        assert not any("/proc/" in target and target.endswith("/fd") for target in found.values())
        worked("create-below", descriptor=folder, name="made")
        assert (tmp_path / "made").is_file()
        assert failed("write-descriptor", descriptor=reading, data="x") == ("EBADF", "write")
        worked("reopen", descriptor=reading, data="let through")
        assert file.read_text() == "let through"
    finally:
        os.close(folder)
        os.close(reading)
    assert failed("create-below", descriptor=folder, name="late") == ("EBADF", "openat")


def test_arguments_are_said_by_length_digest_and_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["", "a b", "ü" * 100]
    monkeypatch.setattr(sys, "argv", ["probe.py", "nonce", "plan", *words])
    rows = json.loads(worked("words"))
    assert [row[0] for row in rows] == [0, 3, 200]
    assert [row[1] for row in rows] == [hashlib.sha256(word.encode()).hexdigest() for word in words]
    assert rows[1][2] == "a b" and len(rows[2][2]) == 80


def test_inherited_files_of_a_process_are_reported() -> None:
    before = os.umask(0o027)
    try:
        found = json.loads(worked("process"))
    finally:
        os.umask(before)
    assert found["umask"] == "0027"
    assert found["uid"] == list(os.getresuid())
    assert found["limits"]["RLIMIT_NOFILE"]
    assert int(found["ignored"], 16) & 1 << 12  # SIGPIPE, which Python itself ignores


def test_variables_are_named_with_a_digest_and_those_that_hold_a_text_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CX_ONE", "holds the text")
    monkeypatch.setenv("CX_TWO", "")
    found = json.loads(worked("variables", holding="the text"))
    assert f"{hashlib.sha256(b'holds the text').hexdigest()[:16]} CX_ONE" in found["digests"]
    assert f"{hashlib.sha256(b'').hexdigest()[:16]} CX_TWO" in found["digests"]
    assert found["holding"] == ["CX_ONE"] and found["path"] == os.environ["PATH"]
    assert json.loads(worked("variables"))["holding"] == []


def test_an_unknown_verb_is_a_row_and_no_crash() -> None:
    row = done("no-such-verb")
    assert not row["ok"] and "KeyError" in row["detail"]


def test_a_change_that_no_audit_hook_sees_is_announced(tmp_path: Path) -> None:
    """The fake Codexes of the selftest refuse these two through an audit hook."""
    script = (
        "import sys; sys.argv = ['probe', 'n', 'p']\n"
        "from pytest_codexsandbox.guest import probe\n"
        "def hook(event, words):\n"
        "    if event.startswith('codexsandbox.'): raise OSError(30, event)\n"
        "sys.addaudithook(hook)\n"
        "for verb in ('mkfifo', 'exchange'):\n"
        f"    act = {{'id': 'a', 'verb': verb, 'path': {str(tmp_path / 'x')!r}, 'params': {{'to': 'y'}}}}\n"
        "    print(probe.perform(act))"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert said.count(errno.errorcode[errno.EROFS]) == 2
    assert not (tmp_path / "x").exists()


def test_a_mount_that_a_look_may_change_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worked("tmpfile", tmp_path)  # reads probe_verbs.py
    import probe_verbs  # type: ignore[import-not-found]

    monkeypatch.setattr(probe_verbs, "FAR", (*probe_verbs.FAR, _kind_of(tmp_path)))
    assert failed("tmpfile", tmp_path) == ("ENOTSUP", "mountinfo")  # the same number as EOPNOTSUPP


def _kind_of(path: Path) -> str:
    """Returns the kind of the file system, by the longest mount point above the path."""
    rows = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    above = [row for row in rows if str(path).startswith(row[4].rstrip("/") + "/")]
    best = max(above, key=lambda row: len(row[4]))
    return best[best.index("-") + 1]


def test_a_library_without_a_function_is_a_system_without_the_call() -> None:
    worked("process")  # reads probe_verbs.py
    import probe_verbs

    with pytest.raises(OSError) as caught:
        probe_verbs.libc("no_such_function")
    assert caught.value.errno == errno.ENOSYS


def test_a_folder_is_made_and_removed(tmp_path: Path) -> None:
    worked("try-folder", tmp_path / ".git")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_and_open_counts_as_made(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    worked("try-folder", tmp_path / ".git")
    assert list((tmp_path / ".git").iterdir()) == []


def test_a_folder_that_is_there_and_takes_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("")  # root may write into every folder, but not into a file
    assert failed("try-folder", tmp_path / ".git") == ("EEXIST", "open")


def test_a_folder_that_cannot_be_removed_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rmdir(path: str) -> None:
        raise OSError(errno.EBUSY, "busy", path)

    monkeypatch.setattr(os, "rmdir", rmdir)
    assert failed("try-folder", tmp_path / ".git") == ("", "rmdir")  # no errno: it must not read as refused
