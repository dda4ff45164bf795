"""How much room there is, as the agent tells it beside the end of each call."""

import os
from pathlib import Path

import pytest

from pytest_codexsandbox.guest import disk_space, memory_limits


def _told(monkeypatch: pytest.MonkeyPatch, **words: int) -> None:
    usual = {"f_bavail": 10, "f_frsize": 4096, "f_files": 1000, "f_favail": 900} | words
    monkeypatch.setattr(os, "statvfs", lambda place: type("Told", (), usual))


def test_the_fullest_place_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"f_frsize": 1, "f_files": 0, "f_favail": 0}
    rooms = {"/a": 7, "/b": 3}
    monkeypatch.setattr(os, "statvfs", lambda place: type("Told", (), {**told, "f_bavail": rooms[place]}))
    assert disk_space.least(["/a", "/b"]) == 3


def test_a_user_who_may_make_no_file_has_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    _told(monkeypatch, f_favail=3)
    assert disk_space.least(["/a"]) == 0
    _told(monkeypatch, f_files=0, f_favail=0)  # btrfs counts none
    assert disk_space.least(["/a"]) == 40960


def test_a_place_that_is_not_there_is_left_out(tmp_path: Path) -> None:
    assert disk_space.least([str(tmp_path / "nowhere")]) == -1
    assert disk_space.least([str(tmp_path / "nowhere"), str(tmp_path)]) > 0


def test_the_number_of_refusals_is_read_in_both_kinds_of_control_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = tmp_path / "pids.events", tmp_path / "memory.events"
    one.write_text("max 7\n")
    other.write_text("low 0\nhigh 0\nmax 4\noom 1\noom_kill 2\n")
    monkeypatch.setattr(memory_limits, "_PROCESSES", (str(tmp_path / "nowhere"), str(one)))
    monkeypatch.setattr(memory_limits, "_FILES", (str(other),))
    assert (memory_limits.refused_processes(), memory_limits.oom_kills()) == (7, 2)
    one.unlink()
    assert memory_limits.refused_processes() == 0
