"""Each verb of the probe, in this process: what it does, and which errno and step it says when it cannot."""

import ast
import hashlib
import json
import os
import shutil
import socket
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.guest import probe


def done(verb: str, path: Path | str = "", **params: Any) -> dict[str, Any]:
    return probe.perform({"id": "t/a", "verb": verb, "path": str(path), "params": params})


def worked(verb: str, path: Path | str = "", **params: Any) -> str:
    row = done(verb, path, **params)
    assert row["ok"], row
    assert (row["errno"], row["step"], row["detail"]) == ("", "", "")
    return str(row["value"])


def failed(verb: str, path: Path | str = "", **params: Any) -> tuple[str, str]:
    row = done(verb, path, **params)
    assert not row["ok"], row
    assert row["detail"]
    return row["errno"], row["step"]


# ---- files


def test_write_replaces_and_follows_a_link_like_a_program_would(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("much older text")
    link.symlink_to(target)
    worked("write", link, data="nëw")
    assert target.read_text() == "nëw" and link.is_symlink()


def test_append_and_create_and_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    worked("create", file, data="one")
    worked("append", file, data=" two")
    assert worked("read", file) == "one two"
    assert failed("create", file) == ("EEXIST", "open")


def test_asking_whether_one_may_write_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("kept")
    os.utime(file, (1, 1))
    before = file.stat()
    assert worked("may-write", file) == ""
    assert file.read_text() == "kept"
    assert (file.stat().st_mtime_ns, file.stat().st_ctime_ns) == (before.st_mtime_ns, before.st_ctime_ns)
    assert failed("may-write", tmp_path / "missing") == ("ENOENT", "open")
    assert not (tmp_path / "missing").exists()
    assert failed("may-write", tmp_path) == ("EISDIR", "open")


def test_bytes_are_read_as_latin_1_and_bounded(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"\xff\x00" + b"x" * 200_000)
    value = worked("read", tmp_path / "b")
    assert value.startswith("\xff\x00x") and len(value) == probe.VALUE_LIMIT


def test_folders_links_and_names(tmp_path: Path) -> None:
    worked("mkdir", tmp_path / "d")
    worked("write", tmp_path / "d" / "b")
    worked("rename", tmp_path / "d" / "b", to=str(tmp_path / "d" / "a"))
    worked("link", tmp_path / "d" / "a", to=str(tmp_path / "d" / "hard"))
    worked("symlink", tmp_path / "d" / "soft", to="a")
    assert json.loads(worked("list", tmp_path / "d")) == ["a", "hard", "soft"]
    assert (tmp_path / "d" / "a").stat().st_nlink == 2 and (tmp_path / "d" / "soft").readlink() == Path("a")
    for name in ("a", "hard", "soft"):
        worked("unlink", tmp_path / "d" / name)
    worked("rmdir", tmp_path / "d")
    assert not (tmp_path / "d").exists()


def test_size_mode_and_times(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("12345")
    os.utime(file, (1, 1))
    worked("truncate", file, size=2)
    worked("chmod", file, mode="0640")
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("12", 0o640)
    os.utime(file, (1, 1))
    worked("utime", file)
    assert file.stat().st_mtime > 1
    assert json.loads(worked("stat", file))["size"] == 2


@pytest.mark.parametrize(
    ("verb", "step", "params"),
    [
        ("write", "open", {}),
        ("append", "open", {}),
        ("create", "open", {}),
        ("read", "open", {}),
        ("may-write", "open", {}),
        ("stat", "stat", {}),
        ("mkdir", "mkdir", {}),
        ("rmdir", "rmdir", {}),
        ("unlink", "unlink", {}),
        ("rename", "rename", {"to": "/no-such-folder/b"}),
        ("link", "link", {"to": "/no-such-folder/b"}),
        ("symlink", "symlink", {"to": "x"}),
        ("truncate", "truncate", {}),
        ("chmod", "chmod", {"mode": 0o600}),
        ("list", "open", {}),
        ("utime", "utime", {}),
    ],
)
def test_a_failure_names_the_errno_and_the_system_call(verb: str, step: str, params: dict[str, Any]) -> None:
    assert failed(verb, "/no-such-folder/a", **params) == ("ENOENT", step)


def test_a_name_that_is_not_utf_8_can_still_be_said(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff")).touch()
    json.dumps(done("list", tmp_path)).encode()
    json.dumps(done("read", os.fsdecode(bytes(tmp_path) + b"/\xfe"))).encode("utf-8")
    assert "\\udcfe" in done("read", os.fsdecode(bytes(tmp_path) + b"/\xfe"))["detail"]


# ---- SQLite


def test_a_database_is_written_and_rows_come_back(tmp_path: Path) -> None:
    database = tmp_path / "a b%?.db"
    sql = ["CREATE TABLE t(x, y)", "INSERT INTO t VALUES('one', X'ff')", "SELECT * FROM t"]
    assert json.loads(worked("sqlite", database, sql=sql, journal_mode="wal")) == [["one", "\xff"]]
    assert json.loads(worked("sqlite", database, sql=["SELECT x FROM t"], mode="ro")) == [["one"]]
    assert json.loads(worked("sqlite", database, sql=["SELECT x FROM t"], query="immutable=1")) == [["one"]]


def test_sqlite_says_its_own_names_and_words(tmp_path: Path) -> None:
    database = tmp_path / "db"
    worked("sqlite", database, sql=["CREATE TABLE t(x)"])
    row = done("sqlite", tmp_path / "no" / "db", sql=["SELECT 1"])
    assert (row["errno"], row["step"], row["detail"]) == ("SQLITE_CANTOPEN", "open", "unable to open database file")
    row = done("sqlite", database, sql=["INSERT INTO t VALUES(1)"], mode="ro")
    assert (row["errno"], row["step"]) == ("SQLITE_READONLY", "execute")
    assert row["detail"] == "attempt to write a readonly database"
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert failed("sqlite", database, sql=["INSERT INTO t VALUES(1)"], timeout=0) == ("SQLITE_BUSY", "execute")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("unable to open database file", "SQLITE_CANTOPEN"),
        ("attempt to write a readonly database", "SQLITE_READONLY"),
        ("disk I/O error", "SQLITE_IOERR"),
        ("database is locked", "SQLITE_BUSY"),
        ("something new", "SQLITE_ERROR"),
    ],
)
def test_a_python_without_the_error_code_is_recognised_by_the_words(text: str, name: str) -> None:
    assert probe.sqlite_name(sqlite3.OperationalError(text)) == (name, "")


@pytest.mark.parametrize(
    ("exact", "name"),
    [
        ("SQLITE_READONLY_DIRECTORY", "SQLITE_READONLY"),
        ("SQLITE_CANTOPEN_ISDIR", "SQLITE_CANTOPEN"),
        ("SQLITE_BUSY", "SQLITE_BUSY"),
        ("SQLITE_MISUSE", "SQLITE_MISUSE"),
    ],
)
def test_an_extended_code_is_reported_by_its_primary_one(exact: str, name: str) -> None:
    error = sqlite3.OperationalError("x")
    error.sqlite_errorname = exact
    assert probe.sqlite_name(error) == (name, exact)


def test_a_held_database_stays_open(tmp_path: Path) -> None:
    database = tmp_path / "db"
    worked("sqlite", database, sql=["CREATE TABLE t(x)"], journal_mode="wal", hold=True)
    try:
        assert (tmp_path / "db-wal").exists()
    finally:
        connection: Any = probe.HELD.pop()
        connection.close()


# ---- sockets


@contextmanager
def serving(listener: socket.socket, answer: Callable[[bytes], bytes]) -> Iterator[list[bytes]]:
    """A server for one connection."""
    listener.settimeout(60)
    heard: list[bytes] = []

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            heard.append(connection.recv(4096))
            connection.sendall(answer(heard[0]))

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield heard
    finally:
        thread.join(60)
        listener.close()


def tcp() -> tuple[socket.socket, int]:
    listener = socket.create_server(("127.0.0.1", 0))
    return listener, listener.getsockname()[1]


def test_http_asks_for_the_token_and_gives_back_the_body() -> None:
    listener, port = tcp()
    with serving(listener, lambda _: b"HTTP/1.1 200 OK\r\nX: y\r\n\r\nbody") as heard:
        assert worked("http", port=str(port), token="t0ken", timeout=60) == "body"
    assert heard[0].startswith(b"GET /t0ken HTTP/1.0\r\n")


def test_http_that_refuses_is_not_ok() -> None:
    listener, port = tcp()
    with serving(listener, lambda _: b"HTTP/1.0 404 No\r\n\r\n"):
        assert failed("http", port=port, timeout=60) == ("", "status")


def test_a_port_without_a_server_is_refused_at_connect() -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else can take it
        port = taken.getsockname()[1]
        assert failed("http", port=port) == ("ECONNREFUSED", "connect")
        assert failed("dns", port=port, name="a.test", transport="tcp") == ("ECONNREFUSED", "connect")


@pytest.fixture
def short() -> Iterator[Path]:
    """A unix address holds 107 bytes: too few for some folders of tests."""
    folder = Path(tempfile.mkdtemp(prefix="cx", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


def test_unix_sockets_by_path_by_long_path_and_by_abstract_name(short: Path) -> None:
    long = short / ("l" * 120)
    long.mkdir()
    abstract = f"cx-{os.getpid()}-{short.name}"
    addresses = {str(short / "s"): str(short / "s"), abstract: "\0" + abstract, f"@{abstract}2": f"\0{abstract}2"}
    for said, bound in addresses.items():
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(bound)
        listener.listen()
        with serving(listener, lambda data: b"echo " + data) as heard:
            assert worked("unix-connect", address=said, token="tok", timeout=60) == "echo tok\n"
        assert heard == [b"tok\n"]
    worked("unix-bind", long / "bound")
    assert (long / "bound").is_socket()
    assert failed("unix-connect", address=str(long / "bound")) == ("ECONNREFUSED", "connect")
    assert failed("unix-connect", address=str(short / "none")) == ("ENOENT", "connect")


def dns_answer(question: bytes) -> bytes:
    return question[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + question[12:] + b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4\xc0\0\2\7"


def test_a_name_is_asked_over_tcp() -> None:
    listener, port = tcp()

    def answer(data: bytes) -> bytes:
        told = dns_answer(data[2:])
        return len(told).to_bytes(2, "big") + told

    with serving(listener, answer) as heard:
        assert worked("dns", transport="tcp", port=port, name="cx-w1.test", timeout=60) == "192.0.2.7"
    assert b"\x05cx-w1\x04test\x00" in heard[0]


def test_a_name_is_asked_over_udp() -> None:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as rig:
        rig.settimeout(60)
        rig.bind(("127.0.0.1", 0))

        def serve() -> None:
            data, whom = rig.recvfrom(512)
            rig.sendto(dns_answer(data), whom)

        thread = threading.Thread(target=serve)
        thread.start()
        assert worked("dns", port=rig.getsockname()[1], name="a.test", timeout=60) == "192.0.2.7"
        thread.join(60)


def test_an_answer_that_is_none_is_not_taken_for_one() -> None:
    question = probe.dns_question("a.test")
    whole = dns_answer(question)
    assert probe.dns_address(whole, question) == "192.0.2.7"
    spelled_out = whole.replace(b"\xc0\x0c", question[12:-4])
    assert probe.dns_address(spelled_out, question) == "192.0.2.7"
    for wrong in (b"", b"??" + whole[2:], whole[:3] + b"\x83" + whole[4:], whole[:6] + b"\0\0" + whole[8:]):
        with pytest.raises(probe.Refused):
            probe.dns_address(wrong, question)
    with pytest.raises(probe.Refused):
        probe.dns_address(whole.replace(b"\xc0\x0c\0\1", b"\xc0\x0c\0\5"), question)


@pytest.mark.parametrize("name", ["a..b", "x" * 64 + ".test", ""])
def test_a_name_that_no_question_can_hold_is_refused_before_any_socket(name: str) -> None:
    assert failed("dns", port=1, name=name) == ("", "")


def test_silence_is_a_time_limit_with_an_errno() -> None:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as rig:
        rig.bind(("127.0.0.1", 0))
        assert failed("dns", port=rig.getsockname()[1], name="a.test", timeout=0.01) == ("ETIMEDOUT", "receive")


def test_sockets_by_the_names_of_their_constants() -> None:
    worked("socket", family="inet", type="stream")
    worked("socket", family="AF_UNIX", type="SOCK_DGRAM")
    assert worked("socketpair") == "through the pair"
    assert failed("socket", family="inet", type="rdm")[1] == "socket"
    assert "AF_CARRIER_PIGEON" in done("socket", family="carrier_pigeon")["detail"]


def test_the_resolver_says_its_own_names() -> None:
    assert json.loads(worked("getaddrinfo", name="127.0.0.1")) == ["127.0.0.1"]
    errno, step = failed("getaddrinfo", name="no such name")
    assert errno.startswith("EAI_") and step == "getaddrinfo"


# ---- the process


def test_the_environment_is_reported_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CX_HERE", "a\nb")
    monkeypatch.delenv("CX_GONE", raising=False)
    assert json.loads(worked("env", names=["CX_HERE", "CX_GONE"])) == {"CX_HERE": "a\nb", "CX_GONE": None}
    assert json.loads(worked("env"))["CX_HERE"] == "a\nb"


def test_the_status_names_the_kernels_marks() -> None:
    assert {"NoNewPrivs", "Seccomp", "CapEff", "CapBnd"} <= set(json.loads(worked("status")))


def test_an_impossible_act_is_a_row_and_never_an_exception() -> None:
    assert "KeyError" in done("no-such-verb")["detail"]
    assert "KeyError" in done("rename", "/a")["detail"]
    assert not done("rename", "/a")["ok"]


def test_output_is_the_same_for_the_same_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    monkeypatch.setattr(probe, "write_out", written.append)
    told = json.loads(worked("output", size=1000, seed="s"))
    worked("output", size=1000, seed="s")
    worked("output", size=1000, seed="t")
    assert written[0] == written[1] != written[2]
    assert told == {"sha256": hashlib.sha256(written[0]).hexdigest(), "length": 1000}


def test_it_is_written_in_the_python_of_old_distributions() -> None:
    ast.parse(Path(probe.__file__).read_text(), feature_version=(3, 9))
