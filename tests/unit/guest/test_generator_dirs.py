"""Private folders are looked at without following what lies in them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.guest import generator_dirs

TOPS = ("HOME", "CODEX_HOME", "WORKSPACE")


@pytest.fixture
def tops(tmp_path: Path) -> dict[str, str]:
    found = {"HOME": tmp_path / "home", "CODEX_HOME": tmp_path / "home/.codex", "WORKSPACE": tmp_path / "workspace"}
    for path in found.values():
        path.mkdir()
    return {name: str(path) for name, path in found.items()}


def entry(top: str, path: str, content: bytes | str = b"x", **more: object) -> dict[str, object]:
    return {"top": top, "kind": "file", "path": path, "content": content, **more}


def test_a_created_file_is_seen_by_its_innermost_name(tops: dict[str, str]) -> None:
    generator_dirs.lay(
        tops, [entry("CODEX_HOME", "config.toml", b"a = 1\n", mode=0o600), entry("WORKSPACE", ".git/x", b"")]
    )
    seen = generator_dirs.snapshot(tops)
    assert {name: one["kind"] for name, one in seen.items()} == {
        "@CODEX_HOME@/config.toml": "file",
        "@WORKSPACE@/.git": "dir",
        "@WORKSPACE@/.git/x": "file",
    }
    config = seen["@CODEX_HOME@/config.toml"]
    assert (config["content"], config["size"], config["mode"], config["links"]) == (b"a = 1\n", 6, 0o600, 1)


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "a/../../../x", "."])
def test_no_file_is_created_outside(tops: dict[str, str], path: str) -> None:
    with pytest.raises(ValueError, match="is not below"):
        generator_dirs.lay(tops, [entry("HOME", path)])


def test_links_are_reported_and_never_followed(tops: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("hidden")
    Path(tops["HOME"], "folder").symlink_to(tmp_path / "secret")
    Path(tops["HOME"], "file").symlink_to(tmp_path / "secret" / "key")
    Path(tops["HOME"], "loop").symlink_to("loop")
    seen = generator_dirs.snapshot(tops)
    assert {one["kind"] for one in seen.values()} == {"symlink"}
    assert seen["@HOME@/file"]["target"] == str(tmp_path / "secret" / "key")
    assert b"hidden" not in repr(seen).encode()
    generator_dirs.clear(tops)
    assert (tmp_path / "secret" / "key").read_text() == "hidden"


@pytest.mark.parametrize("target", ["dotfiles/codex", "../home/dotfiles/codex", "two", "{home}/dotfiles/codex"])
def test_a_codex_home_behind_a_link_in_the_home_is_looked_at(tops: dict[str, str], target: str) -> None:
    home = Path(tops["HOME"])
    home.joinpath("dotfiles/codex").mkdir(parents=True)
    home.joinpath("dotfiles/codex/config.toml").write_text("a = 1\n")
    home.joinpath("two").symlink_to("dotfiles/codex")
    home.joinpath(".codex").rmdir()
    home.joinpath(".codex").symlink_to(target.format(home=home))
    seen = generator_dirs.snapshot(tops)
    assert seen["@HOME@/.codex"]["kind"] == "symlink"
    assert seen["@CODEX_HOME@/config.toml"]["content"] == b"a = 1\n"


@pytest.mark.parametrize("target", ["/etc", "../../..", "../workspace", ".codex", "nowhere"])
def test_one_that_leads_elsewhere_is_not(tops: dict[str, str], target: str) -> None:
    Path(tops["CODEX_HOME"]).rmdir()
    Path(tops["CODEX_HOME"]).symlink_to(target)
    Path(tops["WORKSPACE"], "config.toml").write_text("a = 1\n")
    seen = generator_dirs.snapshot(tops)
    assert seen["@HOME@/.codex"]["target"] == target
    assert not [name for name, one in seen.items() if name.startswith("@CODEX_HOME@/") and one["kind"] == "file"]


def test_pipes_and_closed_folders_cause_no_wait(tops: dict[str, str]) -> None:
    os.mkfifo(Path(tops["HOME"], "pipe"))
    closed = Path(tops["HOME"], "closed")
    closed.mkdir()
    closed.joinpath("inside").write_text("x")
    closed.chmod(0)
    seen = generator_dirs.snapshot(tops)
    assert seen["@HOME@/pipe"]["kind"] == "other"
    assert seen["@HOME@/closed"]["kind"] in ("unreadable", "dir")  # root reads everything
    assert generator_dirs.clear(tops) == []
    assert not list(Path(tops["HOME"]).iterdir())


def test_a_look_has_an_end(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number:02}").write_bytes(b"x" * 10)
    look = generator_dirs.Look(entries=5)
    look.at(str(tmp_path), str(tmp_path), "@TOP@")
    assert len(look.seen) == 6
    assert generator_dirs.CUT in look.seen
    small = generator_dirs.Look(size=25, each=7)
    small.at(str(tmp_path), str(tmp_path), "@TOP@")
    assert [len(one["content"]) for one in small.seen.values()][:6] == [7, 7, 7, 4, 0, 0]
    assert {one["size"] for one in small.seen.values()} == {10}


def test_a_folder_that_is_gone_is_missing(tops: dict[str, str]) -> None:
    Path(tops["CODEX_HOME"]).rmdir()
    Path(tops["WORKSPACE"]).rmdir()
    seen = generator_dirs.snapshot(tops)
    assert seen == {"@CODEX_HOME@": {"kind": "missing"}, "@WORKSPACE@": {"kind": "missing"}}


def test_the_program_needs_no_other_module(tops: dict[str, str]) -> None:
    def told(words: dict[str, object]) -> dict[str, object]:
        argv = [sys.executable, "-I", "-S", generator_dirs.__file__]
        done = subprocess.run(argv, input=json.dumps(words), capture_output=True, text=True, check=True, timeout=60)
        answer: dict[str, object] = json.loads(done.stdout)
        return answer

    laid = {"top": "HOME", "kind": "file", "path": "a", "content": "/w=="}
    assert told({"op": "lay", "tops": tops, "entries": [laid]}) == {"told": None}
    seen = told({"op": "snapshot", "tops": tops})["told"]
    assert isinstance(seen, dict)
    assert seen["@HOME@/a"]["content"] == "/w=="
    assert "is not below" in str(told({"op": "lay", "tops": tops, "entries": [{**laid, "path": "../a"}]})["wrong"])
    assert told({"op": "empty", "tops": tops}) == {"told": []}
    assert [path.name for path in Path(tops["HOME"]).iterdir()] == [".codex"]


def asked(*acts: dict[str, Any]) -> list[dict[str, Any]]:
    """As an environment is asked: a process of its own."""
    argv = [sys.executable, "-I", "-S", str(Path(generator_dirs.__file__))]
    words = json.dumps({"op": "several", "acts": acts})
    done = subprocess.run(argv, input=words, capture_output=True, text=True, check=True)
    told: list[dict[str, Any]] = json.loads(done.stdout)["told"]
    return told


def test_several_acts_are_done_in_their_order_and_none_after_one_that_went_wrong(tops: dict[str, str]) -> None:
    laid = {"op": "lay", "tops": tops, "entries": [entry("HOME", "a", content="eA==")]}
    look = {"op": "snapshot", "tops": tops}
    _, first, _, second = asked(laid, look, {"op": "empty", "tops": tops}, look)
    assert set(first["told"]) == {"@HOME@/a"}
    assert second == {"told": {}}
    wrong = {"op": "lay", "tops": tops, "entries": [entry("HOME", "../b", content="")]}
    stopped = asked(laid, wrong, {"op": "empty", "tops": tops})
    assert len(stopped) == 2
    assert "is not below" in str(stopped[1]["wrong"])
    assert Path(tops["HOME"], "a").read_text() == "x"
