"""The good subject answers like a correct sandbox, without one."""

import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.selftest.builders import NO_TMP, WRITING, Act, World, probe, said


def test_it_writes_in_the_workspace_and_nowhere_else(world: World) -> None:
    acts: list[Act] = [
        ("write", world.workspace / "a", {}),
        ("write", world.outside / "a", {}),
        ("mkdir", world.folder / "b", {}),
    ]
    assert world.rows("good", acts) == ["ok", "EROFS", "EROFS"]
    assert (world.workspace / "a").read_text() == "x"
    assert not (world.outside / "a").exists() and not (world.folder / "b").exists()


def test_read_only_lets_nothing_be_written(world: World) -> None:
    assert world.rows("good", [("write", world.workspace / "a", {})], policy=()) == ["EROFS"]
    assert not (world.workspace / "a").exists()


def test_full_access_lets_everything_be_written(world: World) -> None:
    policy = ("-c", 'sandbox_mode="danger-full-access"')
    assert world.rows("good", [("write", world.outside / "a", {})], policy=policy) == ["ok"]
    assert (world.outside / "a").exists()


def test_a_granted_root_is_writable_and_the_folder_beside_it_is_not(world: World) -> None:
    policy = (*NO_TMP, "-c", f'sandbox_workspace_write.writable_roots=["{world.folder}/data"]')
    acts: list[Act] = [("write", world.folder / "data" / "a", {}), ("write", world.folder / "sibling" / "a", {})]
    assert world.rows("good", acts, policy=policy) == ["ok", "EROFS"]


def test_links_and_dots_lead_nowhere(world: World) -> None:
    (world.workspace / "link").symlink_to(world.outside)
    (world.outside / "there").write_text("laid before")
    acts: list[Act] = [
        ("write", world.workspace / "link" / "a", {}),
        ("write", f"{world.workspace}/../documents/b", {}),
        ("link", world.outside / "there", {"to": str(world.workspace / "here")}),
        ("rename", world.outside / "there", {"to": str(world.workspace / "here")}),
    ]
    assert world.rows("good", acts) == ["EROFS", "EROFS", "EXDEV", "EXDEV"]
    assert [path.name for path in world.outside.iterdir()] == ["there"]


def test_paths_that_bubblewrap_mounts_over_are_protected(world: World) -> None:
    (world.workspace / ".git").mkdir()
    here = world.workspace
    acts: list[Act] = [
        ("write", here / ".git" / "config", {}),
        ("rename", here / ".git", {"to": str(here / "moved")}),
        ("mkdir", here / ".codex", {}),
        ("write", here / ".agents", {}),
        ("write", here / ".agents" / "new", {}),
        ("mkdir", here / "below", {}),
        ("mkdir", here / "below" / ".git", {}),
    ]
    assert world.rows("good", acts) == ["EROFS", "EBUSY", "EEXIST", "EISDIR", "EROFS", "ok", "ok"]
    assert sorted(path.name for path in here.iterdir()) == [".git", "below"]


def test_a_git_file_protects_the_folder_that_it_names(world: World) -> None:
    (world.workspace / "real").mkdir()
    (world.workspace / ".git").write_text("gitdir: real\n")
    acts: list[Act] = [("write", world.workspace / ".git", {}), ("write", world.workspace / "real" / "HEAD", {})]
    assert world.rows("good", acts) == ["EROFS", "EROFS"]


def test_sockets_end_at_the_kernel_s_door_with_the_network_off(world: World) -> None:
    acts: list[Act] = [
        ("socket", "", {"family": "inet", "type": "stream"}),
        ("socket", "", {"family": "inet6", "type": "dgram"}),
        ("socket", "", {"family": "unix", "type": "stream"}),
        ("unix-bind", world.workspace / "s", {}),
        ("socketpair", "", {}),
    ]
    assert world.rows("good", acts) == ["EPERM", "EPERM", "ok", "EPERM", "ok"]
    policy = (*NO_TMP, "-c", "sandbox_workspace_write.network_access=true")
    assert world.rows("good", acts, policy=policy) == ["ok"] * 5


def test_sqlite_says_its_own_words(world: World) -> None:
    make = {"sql": ["CREATE TABLE t(x)"]}
    for mode in ("delete", "wal"):
        control: list[Act] = [("sqlite", world.outside / f"{mode}.db", {**make, "journal_mode": mode})]
        assert world.rows("good", control, policy=("-c", 'sandbox_mode="danger-full-access"')) == ["ok"]
    insert = {"sql": ["INSERT INTO t VALUES(1)"]}
    acts: list[Act] = [
        ("sqlite", world.workspace / "new.db", make),
        ("sqlite", world.workspace / "new.db", insert),
        ("sqlite", world.outside / "delete.db", insert),
        ("sqlite", world.outside / "wal.db", insert),
        ("sqlite", world.outside / "new.db", make),
        ("sqlite", world.outside / "delete.db", {"sql": ["SELECT x FROM t"]}),
    ]
    assert world.rows("good", acts) == ["ok", "ok", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_CANTOPEN", "ok"]


@pytest.mark.parametrize("name", ["good", "follows-links", "liar"])
def test_a_search_in_proc_finds_the_probe(world: World, name: str) -> None:
    argv = probe([("write", world.workspace / "a", {})])
    with world.start(name, *NO_TMP, "sandbox", "--", *argv) as process:
        assert process.stdin and process.stdout
        ready = said(process.stdout.readline(), "ready")
        shown = Path(f"/proc/{ready[0]['pid']}/cmdline").read_bytes()
        process.communicate(b"go\n", timeout=120)
    assert shown == b"".join(os.fsencode(word) + b"\0" for word in argv)


def test_the_probe_sees_the_environment_of_the_call_and_the_flag(world: World) -> None:
    world.environment["CX_PLAIN"] = "two\nlines"
    names = {"names": ["CX_PLAIN", "CODEX_SANDBOX_NETWORK_DISABLED", "CX_RESTRAINT"]}
    ended = world.call("good", "sandbox", "--", *probe([("env", "", names)]), stdin=b"go\n")
    seen = json.loads(said(ended.stdout, "row")[0]["value"])
    assert seen == {"CX_PLAIN": "two\nlines", "CODEX_SANDBOX_NETWORK_DISABLED": "1", "CX_RESTRAINT": None}


def test_a_plain_command_runs_as_it_is(world: World) -> None:
    assert world.call("good", "sandbox", "--", "sh", "-c", "cat; exit 7", stdin=b"as it came").stdout == b"as it came"
    assert world.call("good", "sandbox", "sh", "-c", "exit 7").returncode == 7
    assert world.call("good", "sandbox", "--", "sh", "-c", "kill -9 $$").returncode == 137


def test_ten_megabytes_come_through_intact(world: World) -> None:
    talk = "import sys\nfor _ in range(10): sys.stdout.buffer.write(bytes(range(256)) * 4096)"
    out = world.call("good", "sandbox", "--", sys.executable, "-I", "-S", "-c", talk).stdout
    assert hashlib.sha256(out).digest() == hashlib.sha256(bytes(range(256)) * 40960).digest()


def test_a_command_that_does_not_exist_is_named(world: World) -> None:
    ended = world.call("good", "sandbox", "--", "/no-such-command")
    assert ended.returncode == 101
    assert b"Failed to execvp /no-such-command: No such file or directory (os error 2)" in ended.stderr


def test_a_file_that_another_process_has_open_cannot_be_run(world: World) -> None:
    with Path("/bin/true").open("rb") as program:
        path = f"/proc/{os.getpid()}/fd/{program.fileno()}"
        ended = world.call("good", "sandbox", "--", path)
        full = world.call("good", "-c", 'sandbox_mode="danger-full-access"', "sandbox", "--", path)
    assert ended.returncode == 101
    assert f"Failed to execvp {path}: No such file or directory (os error 2)".encode() in ended.stderr
    assert full.returncode == 0


def test_processes_that_the_command_left_are_ended(world: World) -> None:
    acts: list[Act] = [("spawn-lingering", world.workspace / "beat", {"setsid": setsid}) for setsid in (False, True)]
    ended = world.call("good", *WRITING, "sandbox", "--", *probe(acts), stdin=b"go\n")
    assert not any(Path(f"/proc/{row['value']}").exists() for row in said(ended.stdout, "row"))


def test_an_interrupt_ends_it_by_the_signal(world: World) -> None:
    with world.start("good", "sandbox", "--", *probe([("beat", "", {"seconds": 60})])) as process:
        assert process.stdin and process.stdout
        pid = said(process.stdout.readline(), "ready")[0]["pid"]
        process.stdin.write(b"go\n")
        process.stdin.flush()
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=120) == -signal.SIGINT
    until = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < until, "the probe outlived the interrupt"
        time.sleep(0.01)
