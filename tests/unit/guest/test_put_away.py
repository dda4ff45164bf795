"""Worlds that are cleared: gone from where they were at once, removed when there is reason to, and all at the end."""

import os
from pathlib import Path

import pytest

from pytest_codexsandbox.guest.worlds import World, Worlds


def made(folder: Path, *, keeps: bool) -> Worlds:
    folder.mkdir()
    return Worlds(str(folder), "beef", {}, own_tmp=False, keeps=keeps)


def cleared(worlds: Worlds) -> World:
    world = worlds.make()
    Path(world.values["WORKSPACE"], "file").write_text("x")
    assert worlds.clear(world, quiet=True) == []
    assert not os.path.lexists(world.folder)
    return world


def away(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "cleared").iterdir())


def test_a_cleared_world_is_put_away_and_the_end_removes_it(tmp_path: Path) -> None:
    worlds = made(tmp_path / "e", keeps=True)
    names = [Path(cleared(worlds).folder).name for _ in range(3)]
    assert away(tmp_path / "e") == names
    assert worlds.end() == []
    assert list((tmp_path / "e").iterdir()) == []


def test_without_a_place_to_keep_it_the_file_is_removed(tmp_path: Path) -> None:
    worlds = made(tmp_path / "e", keeps=False)
    cleared(worlds)
    assert away(tmp_path / "e") == []


def test_the_kept_files_do_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_codexsandbox.guest.worlds._MOST_KEPT", 2)
    worlds = made(tmp_path / "e", keeps=True)
    kept = []
    for _ in range(5):
        cleared(worlds)
        kept.append(len(away(tmp_path / "e")))
    assert kept == [1, 2, 0, 1, 2]


@pytest.mark.parametrize("limit", ["_ROOM", "_INODES"])
def test_with_little_room_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    worlds = made(tmp_path / "e", keeps=True)
    cleared(worlds)
    monkeypatch.setattr(f"pytest_codexsandbox.guest.worlds.{limit}", 1 << 80)
    cleared(worlds)
    assert away(tmp_path / "e") == []


def test_one_that_cannot_be_moved_is_removed(tmp_path: Path) -> None:
    worlds = made(tmp_path / "e", keeps=True)
    (tmp_path / "e" / "cleared").rmdir()
    (tmp_path / "e" / "cleared").write_text("in the way")
    world = worlds.make()
    assert worlds.clear(world, quiet=True) == [] and not os.path.lexists(world.folder)
