"""A declaration's `setup` beside the files of a case: the user's file wins, and a case without a home is not asked."""

from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.generators.local_dirs import LocalDirs
from pytest_codexsandbox.generators.managed_block import CaseNotApplicable
from pytest_codexsandbox.model.generator import CONFIG, Case, Declaration

SETUP = Declaration(name="mine", run="cmd:mine", setup={CONFIG: "tool = 1\n", "@HOME@/.mine": "x"})


@pytest.fixture
def dirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalDirs:
    monkeypatch.setattr("pytest_codexsandbox.generators.local_dirs._SHARED", ())
    return LocalDirs(tmp_path / "stage")


@pytest.mark.parametrize(
    ("link", "kind"), [("", "file"), ("symlink", "symlink"), ("hardlink", "file"), ("directory", "dir")]
)
def test_the_users_file_is_there_where_the_tool_wants_one_too(dirs: LocalDirs, link: Any, kind: str) -> None:
    dirs.lay(Case(id="c", why="", config=b"user = 1\n", link=link), dirs.paths, SETUP)
    files = dirs.files()
    assert (files[CONFIG].kind, files["@HOME@/.mine"].content) == (kind, b"x")
    assert not any(b"tool" in one.content for one in files.values())


def test_a_dangling_link_stays_one(dirs: LocalDirs) -> None:
    dirs.lay(Case(id="c", why="", config=None, link="dangling"), dirs.paths, SETUP)
    assert dirs.files()[CONFIG].kind == "symlink"


def test_without_a_users_file_the_tools_file_is_used(dirs: LocalDirs) -> None:
    dirs.lay(Case(id="c", why="", config=None), dirs.paths, SETUP)
    assert dirs.files()[CONFIG].content == b"tool = 1\n"


def test_a_case_without_a_home_is_not_asked_where_the_tool_needs_one(dirs: LocalDirs) -> None:
    with pytest.raises(CaseNotApplicable, match="no Codex home"):
        dirs.lay(Case(id="c", why="", config=None, link="missing-home"), dirs.paths, SETUP)
