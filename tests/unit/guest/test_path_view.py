"""Paths seen from outside, and folders removed, without starting anything."""

import os
import re
from pathlib import Path

import pytest

from pytest_codexsandbox.guest import path_view, safe_paths
from pytest_codexsandbox.guest.shared_tmp import is_mount_point, is_of_codex, is_register
from pytest_codexsandbox.guest.worlds import World, Worlds


def test_a_link_on_the_way_is_named_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_text("secret")
    (tmp_path / "link").symlink_to("real")
    seen = path_view.path_state(str(tmp_path), str(tmp_path / "link" / "file"))
    assert seen["kind"] == "unreadable"
    assert re.search(r"\blink [a-z ]+ real$", seen["error"])


def test_a_file_on_the_way_means_missing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert path_view.path_state(str(tmp_path), str(tmp_path / "file" / "below")) == {"kind": "missing"}


def test_the_trusted_folder_itself_may_be_looked_at(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert path_view.path_state(str(tmp_path), str(tmp_path))["names"] == ["a"]


def test_names_are_found_to_a_depth_and_links_are_names(tmp_path: Path) -> None:
    (tmp_path / "1" / "2" / "3" / "4" / "5").mkdir(parents=True)
    (tmp_path / "loop").symlink_to(".")
    assert path_view.names_below(str(tmp_path)) == {"1", "1/2", "1/2/3", "1/2/3/4", "loop"}
    assert path_view.names_below(str(tmp_path), shallow=True) == {"1", "loop"}


def test_too_many_names_end_the_search_and_say_so(tmp_path: Path) -> None:
    for folder in range(3):
        (tmp_path / str(folder)).mkdir()
        for name in range(1500):
            (tmp_path / str(folder) / str(name)).touch()
    assert "…" in path_view.names_below(str(tmp_path))


@pytest.mark.parametrize(
    ("path", "expected"), [("/a/b/../c", "/a/c"), ("//a/./b/", "/a/b"), ("/../..", "/"), ("a", "/a")]
)
def test_paths_are_made_normal_by_words_alone(path: str, expected: str) -> None:
    assert safe_paths.normal(path) == expected


def test_removing_never_leaves_by_a_link(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("mine")
    gone = tmp_path / "gone"
    (gone / "deep").mkdir(parents=True)
    (gone / "link").symlink_to(kept)
    (gone / "deep" / "link").symlink_to(kept / "file")
    (gone / "deep").chmod(0)
    here = os.open(tmp_path, os.O_RDONLY)
    try:
        assert safe_paths.remove("gone", here) == []
        assert safe_paths.remove("never-was", here) == []
    finally:
        os.close(here)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept"]
    assert (kept / "file").read_text() == "mine"


@pytest.mark.parametrize("name", [".git", ".codex", "codex-daemon-1000", "codex-bwrap-synthetic-mount-targets-0"])
def test_names_of_codex_are_known(name: str) -> None:
    assert is_of_codex(name)
    assert is_mount_point(name) != is_register(name)


@pytest.mark.parametrize("name", ["git", ".github", "codex", "codex-daemon-x", "my-codex-daemon-1"])
def test_other_names_are_not_taken_for_them(name: str) -> None:
    assert not is_of_codex(name)


def test_a_world_owns_what_is_named_for_it_and_not_for_its_neighbour(tmp_path: Path) -> None:
    first = World(1, str(tmp_path), "beef", {})
    assert first.owns("tmp-beefw1-act")
    assert not first.owns("tmp-beefw12-act")
    assert not first.owns("beefw1")


def test_a_known_name_covers_its_parents_and_its_content(tmp_path: Path) -> None:
    (tmp_path / "env").mkdir()
    worlds = Worlds(str(tmp_path / "env"), "beef", {}, own_tmp=False)
    world = worlds.make()
    (Path(world.values["WORKSPACE"]) / "a" / "b").mkdir(parents=True)
    (Path(world.values["WORKSPACE"]) / "a-b").touch()
    known = os.path.join(world.values["WORKSPACE"], "a", "b")  # noqa: PTH118
    found = [name for name in worlds.litter(world, [known]) if not name.startswith("@TMP@/")]  # other tests use it too
    assert found == ["@WORKSPACE@/a-b"]
    assert worlds.clear(world, quiet=True) == []
    assert worlds.end() == []
    assert list((tmp_path / "env").iterdir()) == []
