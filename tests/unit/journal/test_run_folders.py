"""Older runs are removed; the running one, folders of others, links, and what was mounted there stay."""

import json
import os
import time
from pathlib import Path

import pytest

from pytest_codexsandbox.environments import run_dirs
from pytest_codexsandbox.journal import run_folders
from pytest_codexsandbox.journal.run_folders import UNFINISHED, find_runs, prune
from pytest_codexsandbox.journal.store import FILE, JournalWriter
from pytest_codexsandbox.model.journal_lines import RunLine

DAYS = [f"2026-01-0{day}T00-00-00" for day in range(1, 7)]


def made(parent: Path, name: str, *, end: bool = True, run: str = "", age: float = 0.0) -> Path:
    folder = parent / name
    (folder / "repro").mkdir(parents=True)
    (folder / "repro" / "a.sh").write_text("#!/bin/sh\n" * 500)
    lines = [{"line": "run", "id": run or name, "schema": 1}, *([{"line": "end", "exit": 0}] if end else [])]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (folder / FILE).write_text(text)
    then = time.time() - age
    os.utime(folder / FILE, (then, then))
    return folder


def names(parent: Path) -> list[str]:
    return sorted(path.name for path in parent.iterdir())


def test_the_newest_runs_stay(tmp_path: Path) -> None:
    for name in DAYS:
        made(tmp_path, name)
    pruned = prune(tmp_path, keep=2)
    assert [one.run.path.name for one in pruned] == DAYS[3::-1] and not any(one.left for one in pruned)
    assert all(one.run.size > 4000 for one in pruned)
    assert names(tmp_path) == DAYS[4:]
    assert prune(tmp_path, keep=2) == ()


def test_runs_of_one_second_are_ordered_by_their_number(tmp_path: Path) -> None:
    for number in ("", "-2", "-10"):
        made(tmp_path, f"{DAYS[0]}{number}")
    assert [run.path.name for run in find_runs(tmp_path)] == [f"{DAYS[0]}{number}" for number in ("-10", "-2", "")]


def test_a_run_that_is_running_stays_and_is_removed_when_it_has_ended(tmp_path: Path) -> None:
    writer = JournalWriter.open(tmp_path / DAYS[0], RunLine(id=DAYS[0], started="now"))
    made(tmp_path, DAYS[1])
    (last, running) = find_runs(tmp_path)
    assert (last.kept, running.kept) == ("", "it is running")
    assert prune(tmp_path, keep=1) == () and names(tmp_path) == DAYS[:2]
    writer.close()
    with (tmp_path / DAYS[0] / FILE).open("a") as file:
        file.write('{"line":"end"}\n')
    assert len(prune(tmp_path, keep=1)) == 1 and names(tmp_path) == [DAYS[1]]


def test_a_run_that_began_to_run_after_it_was_listed_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made(tmp_path, DAYS[0])
    listed = find_runs(tmp_path)
    monkeypatch.setattr(run_folders, "prunable", lambda parent, keep: listed)
    run_dirs.take(folder)
    (one,) = prune(tmp_path, keep=0)
    assert "codexsandbox sweep" in one.left[0] and (folder / "repro" / "a.sh").exists()


@pytest.mark.parametrize(("age", "stays"), [(UNFINISHED - 60, True), (UNFINISHED + 60, False)])
def test_a_run_without_an_end_is_kept_for_a_day(tmp_path: Path, age: float, stays: bool) -> None:
    """On a file system without locks it may run on another machine."""
    folder = made(tmp_path, DAYS[0], end=False, age=age)
    prune(tmp_path, keep=0)
    assert folder.exists() == stays


def test_a_folder_that_is_none_of_a_run_is_never_touched(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / DAYS[0]).mkdir()  # no journal
    made(tmp_path, DAYS[1], run="another")  # a copy under another name
    (tmp_path / DAYS[2]).write_text("a file")
    (tmp_path / DAYS[3]).mkdir()
    (tmp_path / DAYS[3] / FILE).write_text('{"line":"other"}\n')
    os.mkfifo(made(tmp_path, "x") / "y")
    (tmp_path / DAYS[4]).mkdir()
    os.mkfifo(tmp_path / DAYS[4] / FILE)
    before = names(tmp_path)
    assert find_runs(tmp_path) == () == prune(tmp_path, keep=0)
    assert names(tmp_path) == before


def test_no_link_is_followed(tmp_path: Path) -> None:
    outside = made(tmp_path / "outside", DAYS[0])
    reports = tmp_path / "reports"
    run = made(reports, DAYS[1])
    (reports / DAYS[0]).symlink_to(outside)
    (run / "link").symlink_to(outside)
    (run / "repro" / "link").symlink_to(outside / FILE)
    linked = made(reports, DAYS[2])
    (linked / FILE).unlink()
    (linked / FILE).symlink_to(run / FILE)
    assert [one.run.path for one in prune(reports, keep=0)] == [run]
    assert names(reports) == [DAYS[0], DAYS[2]]
    assert (outside / "repro" / "a.sh").exists() and (outside / FILE).exists()


def test_a_run_with_something_mounted_below_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made(tmp_path, DAYS[0])
    monkeypatch.setattr(run_folders, "mounted_below", lambda path: [f"{path}/x is mounted"])
    (run,) = find_runs(tmp_path)
    assert run.kept == f"{folder}/x is mounted" and prune(tmp_path, keep=0) == ()


def test_a_run_of_another_user_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, DAYS[0])
    monkeypatch.setattr("os.getuid", lambda: 4711)
    assert "another user" in find_runs(tmp_path)[0].kept


def test_without_locks_every_run_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*words: object) -> None:
        raise OSError(95, "Operation not supported")

    made(tmp_path, DAYS[0])
    monkeypatch.setattr("fcntl.flock", refused)
    assert "cannot be locked" in find_runs(tmp_path)[0].kept


def test_no_report_folder_is_no_run(tmp_path: Path) -> None:
    assert find_runs(tmp_path / "gone") == () == prune(tmp_path / "gone", keep=0)
