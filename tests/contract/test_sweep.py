"""`codexsandbox sweep` after a run and its agent were killed."""

import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.cli import main
from pytest_codexsandbox.contract.process_tools import shell
from pytest_codexsandbox.environments import codex_leftovers, run_dirs
from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.environments.local import LocalBackend
from pytest_codexsandbox.guest import process_tree
from pytest_codexsandbox.releases.store import Store


def counted(shown: str) -> list[int]:
    """Returns the numbers of the closing line: what killed runs left, and how much of it stays."""
    return [int(number) for number in re.findall(r"\b\d+\b", shown.splitlines()[-1])]


RUNNER = """
import sys, time
from pathlib import Path
from pytest_codexsandbox.contract.process_tools import shell
from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.model.act import Given
from tests.contract.builders import SharingBackend
with SharingBackend().open(this_machine(), Path(sys.argv[1])) as environment:
    world = environment.world()
    environment.lay(world, [Given(kind="file", path="@TMP@/@NAME@"), Given(kind="file", path="@WORKSPACE@/x")])
    live = environment.spawn(shell(world, f"echo $PPID; sleep 1000; : {sys.argv[2]}"))
    print(live.read(20, 100).decode().strip(), world.id, flush=True)
    time.sleep(1000)
"""


@pytest.fixture
def cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CODEXSANDBOX_CACHE", str(folder))
    monkeypatch.chdir(folder)
    (folder / "tmp").mkdir()
    monkeypatch.setattr(codex_leftovers, "TMP", f"{folder}/tmp")  # the machine's own is not for a test to tidy
    return folder


def killed_run(folder: Path, word: str) -> str:
    """Runner and hand are killed, so that nobody cleans up; the word of its world."""
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path)), "PATH": "/usr/bin:/bin"}
    with subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(folder), word], stdout=subprocess.PIPE, env=environment, cwd="/"
    ) as runner:
        assert runner.stdout is not None
        hand, world = runner.stdout.readline().split()
        os.kill(int(hand), signal.SIGSTOP)  # it must not clean up in the moment between
        runner.kill()
        runner.wait()
        os.kill(int(hand), signal.SIGKILL)
    return world.decode()


def test_leftovers_of_a_killed_run_are_ended_and_removed(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = cache / "runs" / "killed" / "main" / "here"
    world = killed_run(folder, f"sleeper{uuid.uuid4().hex}")
    owner = msgspec.json.decode((folder / run_dirs.OWNER).read_bytes(), type=run_dirs.Owner)
    (cache / "runs" / "killed" / "canaries").mkdir()
    assert run_dirs.left_in_shared(owner.word) == [Path(f"/tmp/tmp-{world}-world")]
    assert run_dirs.marked(owner.word)
    assert main(["sweep", "--dry-run"]) == 13
    assert str(folder) in capsys.readouterr().out
    assert main(["sweep"]) == 0
    assert "removed" in capsys.readouterr().out
    assert not (cache / "runs" / "killed").exists()
    assert run_dirs.left_in_shared(owner.word) == []
    assert run_dirs.marked(owner.word) == []
    assert main(["sweep"]) == 0
    assert "nothing was left" in capsys.readouterr().out


DAEMON = "codex-daemon-2000"  # somebody listens in it
REGISTRY = "codex-bwrap-synthetic-mount-targets-1000"
STAYS = sorted([".codex", ".github", "codex", DAEMON])


@pytest.fixture
def tmp(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands for /tmp, on a machine on which no Codex runs. It holds what a killed call left, and what is not its."""
    folder = cache / "tmp"
    for name in (".git", ".agents", "codex-daemon-1000", DAEMON, REGISTRY, "codex", ".github"):
        (folder / name).mkdir(parents=True)
    (folder / REGISTRY / "lock").write_text("")
    (folder / ".codex").write_text("somebody's work")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{folder}/{DAEMON}/socket")
    monkeypatch.setattr(codex_leftovers, "all_processes", list)
    return folder


def test_files_that_codex_left_for_a_killed_run_are_removed_with_it(
    cache: Path, tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep"]) == 0
    assert "nothing was left" in capsys.readouterr().out
    assert len(list(tmp.iterdir())) == 8  # no run of ours was killed here: it is a Codex of the user's
    killed_run(cache / "runs" / "killed" / "main" / "here", f"sleeper{uuid.uuid4().hex}")
    assert main(["sweep"]) == 0
    assert f"removed  {tmp}/codex-daemon-1000 (empty, of Codex)" in capsys.readouterr().out
    assert sorted(path.name for path in tmp.iterdir()) == STAYS


def test_nothing_of_codex_is_removed_while_one_may_use_it(tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = os.open(tmp, os.O_RDONLY)
    fcntl.flock(turn, fcntl.LOCK_EX)
    assert codex_leftovers.take_away() == ()
    os.close(turn)
    me = process_tree.process(os.getpid())
    assert me is not None
    monkeypatch.setattr(codex_leftovers, "all_processes", lambda: [me._replace(name="codex-linux-san")])
    assert codex_leftovers.take_away() == ()
    monkeypatch.setattr(codex_leftovers, "all_processes", lambda: [me, me._replace(name="codexsandbox")])
    assert len(codex_leftovers.take_away()) == 4
    assert sorted(path.name for path in tmp.iterdir()) == STAYS


def test_a_run_whose_hand_has_cleaned_up_after_it_is_removed_too(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The agent of a killed runner removes its environment; what lay beside it is nobody's else."""
    folder = cache / "runs" / "killed"
    line = "import sys; from pathlib import Path; from pytest_codexsandbox.environments.run_dirs import claim; "
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path)), "PATH": "/usr/bin:/bin"}
    subprocess.run(
        [sys.executable, "-c", f"{line}claim(Path(sys.argv[1]))", str(folder)], env=environment, check=True, timeout=60
    )
    (folder / "main" / "canaries").mkdir(parents=True)
    assert main(["sweep", "--dry-run"]) == 13
    assert str(folder) in capsys.readouterr().out
    assert main(["sweep"]) == 0
    assert counted(capsys.readouterr().out) == [1]
    assert not folder.exists()


def test_half_a_download_and_an_old_home_are_removed(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    half, old, new = (cache / name for name in ("staging/0.136.0~x86_64.4711", "homes/0-old", "homes/0-new"))
    for folder in (half / "package", old, new):
        folder.mkdir(parents=True)
    os.utime(old, (1, 1))
    with Store(cache).building("0.163.0", "x86_64") as busy:
        assert main(["sweep", "--dry-run"]) == 13
        shown = capsys.readouterr().out
        assert f"left     {half}" in shown and f"left     {old}" in shown and counted(shown) == [2]
        assert main(["sweep"]) == 0
        assert busy.is_dir() and new.is_dir()
        assert not half.exists() and not old.exists()


BOOTSTRAP = """
import sys
from pathlib import Path
from pytest_codexsandbox.environments.container.provision import bootstrap
from tests.unit.environments.container.provision.builders import a_distro
bootstrap.have(a_distro(keyring="codexsandbox-test"), Path(sys.argv[1]))
"""
# It does not end when it is told to, and works in the folder that it was given.
TOOL = """#!/bin/sh
trap '' TERM
for word; do case $word in */root.tar) target=$word;; esac; done
mkdir "${target%/*}/half"
echo begun >"$target"
while :; do sleep 1; done
"""


@pytest.fixture
def bootstrapping(cache: Path) -> Iterator["tuple[subprocess.Popen[bytes], Path]"]:
    """A process that makes an image's base with a tool that is at it, and the folder in which it does."""
    (cache / "bin").mkdir()
    (cache / "bin" / "mmdebstrap").write_text(TOOL)
    (cache / "bin" / "mmdebstrap").chmod(0o755)
    (cache / "images" / "keyrings").mkdir(parents=True)
    (cache / "images" / "keyrings" / "codexsandbox-test.gpg").write_bytes(b"key")
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path)), "PATH": f"{cache}/bin:/usr/bin:/bin"}
    with subprocess.Popen([sys.executable, "-c", BOOTSTRAP, str(cache)], env=environment, cwd="/") as maker:
        limit, found = time.monotonic() + 60, list[Path]()
        while not found or not found[0].stat().st_size:
            assert time.monotonic() < limit and maker.poll() is None
            time.sleep(0.05)
            found = list((cache / "images" / "bases").glob("making-*/root.tar"))
        try:
            yield maker, found[0].parent
        finally:
            maker.kill()
            if (found[0].parent / run_dirs.OWNER).exists():
                run_dirs.end_marked(_owner(found[0].parent).word)


def _owner(folder: Path) -> run_dirs.Owner:
    return msgspec.json.decode((folder / run_dirs.OWNER).read_bytes(), type=run_dirs.Owner)


def test_half_an_image_and_who_still_works_on_it_are_removed(
    cache: Path, tmp: Path, bootstrapping: "tuple[subprocess.Popen[bytes], Path]", capsys: pytest.CaptureFixture[str]
) -> None:
    maker, folder = bootstrapping
    owner = _owner(folder)
    assert main(["sweep"]) == 0
    assert f"kept     {folder} (of process {maker.pid}" in capsys.readouterr().out
    maker.kill()
    maker.wait()
    assert run_dirs.marked(owner.word), "the tool lives on"
    (key,) = run_dirs.left_in_shared(owner.word)
    assert (key / "codexsandbox-test.gpg").read_bytes() == b"key", "a copy that apt's user can read"
    assert main(["sweep", "--dry-run"]) == 13
    assert f"left     {folder}" in capsys.readouterr().out
    assert main(["sweep"]) == 0
    shown = capsys.readouterr().out
    assert f"removed  {folder}" in shown and counted(shown) == [1]
    assert list((cache / "images" / "bases").iterdir()) == []
    assert run_dirs.marked(owner.word) == [] and not key.exists()
    assert len(list(tmp.iterdir())) == 8, "no Codex ran: what lies there is not of one of ours"
    assert main(["sweep"]) == 0
    assert "nothing was left" in capsys.readouterr().out


def test_a_folder_that_cannot_be_removed_is_counted(
    cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    half = cache / "staging" / "0.136.0~x86_64.4711"
    half.mkdir(parents=True)
    (cache / "locks").mkdir()
    monkeypatch.setattr("shutil.rmtree", lambda path, **words: None)
    assert main(["sweep"]) == 13
    shown = capsys.readouterr().out
    assert f"stays    {half}" in shown and counted(shown) == [1, 1]
    monkeypatch.undo()


def test_a_run_that_has_no_environment_yet_is_never_touched(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = cache / "runs" / "going"
    run_dirs.claim(folder)
    assert main(["sweep"]) == 0
    assert "it is running" in capsys.readouterr().out
    assert folder.is_dir()


def test_a_run_that_is_going_is_never_touched(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = cache / "runs" / "going" / "here"
    with LocalBackend().open(this_machine(), folder) as environment:
        world = environment.world()
        assert main(["sweep"]) == 0
        assert "it is running" in capsys.readouterr().out
        assert environment.run(shell(world, "echo alive")).stdout == b"alive\n"
        environment.clear(world)


def test_journals_stay(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = cache / ".codexsandbox" / "2026-01-01T00-00-00"
    report.mkdir(parents=True)
    (report / "journal.ndjson").write_text("{}")
    assert main(["sweep", "--report-dir", str(cache / ".codexsandbox")]) == 0
    assert (report / "journal.ndjson").exists()


def test_older_runs_are_removed_where_they_are_asked_for(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reports = cache / ".codexsandbox"
    names = [f"2026-01-0{day}T00-00-00" for day in range(1, 4)]
    for name in names:
        (reports / name).mkdir(parents=True)
        (reports / name / "journal.ndjson").write_text(f'{{"line":"run","id":"{name}"}}\n{{"line":"end"}}\n')
    words = ["sweep", "--runs", "--report-dir", str(reports)]
    assert main([*words, "--keep", "1", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert f"older    {reports / names[0]} (" in shown and "2 older runs" in shown
    assert len(list(reports.iterdir())) == 3
    assert main(words) == 0 and len(list(reports.iterdir())) == 3  # the default keeps 20
    assert main([*words, "--keep", "2"]) == 0
    assert f"removed  {reports / names[0]} (" in capsys.readouterr().out
    assert sorted(path.name for path in reports.iterdir()) == names[1:]


@pytest.mark.parametrize("words", [["--keep", "3"], ["--runs", "--keep", "0"], ["--runs", "--keep", "x"]])
def test_a_number_that_means_nothing_is_refused(cache: Path, words: list[str]) -> None:
    assert main(["sweep", *words]) == 4


def test_an_owner_file_of_another_program_is_left_alone(cache: Path) -> None:
    other = cache / "runs" / "other"
    other.mkdir(parents=True)
    (other / "owner.json").write_text('{"name": "somebody"}')
    (cache / "runs" / "odd").mkdir()
    (cache / "runs" / "odd" / "owner.json").symlink_to("/etc/passwd")
    assert main(["sweep"]) == 0
    assert (other / "owner.json").exists()
    assert (cache / "runs" / "odd").exists()


def test_a_forgotten_folder_without_an_owner_is_removed_after_a_day(cache: Path) -> None:
    new, old = cache / "runs" / "new", cache / "runs" / "old"
    for folder in (new, old):
        folder.mkdir(parents=True)
    day_ago = time.time() - 100_000
    os.utime(old, (day_ago, day_ago))
    assert main(["sweep"]) == 0
    assert new.exists()
    assert not old.exists()
