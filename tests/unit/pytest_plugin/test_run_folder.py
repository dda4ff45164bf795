"""The folder that a run leaves its journal in."""

import stat
from pathlib import Path

import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.pytest_plugin.run_folder import fresh


def test_runs_that_begin_in_the_same_second_have_folders_of_their_own(tmp_path: Path) -> None:
    """Ten of them: at least two begin in one second, wherever this is tried."""
    made = [fresh(tmp_path / "reports") for _ in range(10)]
    assert len(set(made)) == 10
    assert {path.parent for path in made} == {tmp_path / "reports"}


def test_the_folder_is_closed_to_other_users_and_ignored_by_git(tmp_path: Path) -> None:
    made = fresh(tmp_path / "reports")
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert (tmp_path / "reports" / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize("there", [".gitignore", "README.md"])
def test_existing_files_of_the_user_are_neither_overwritten_nor_hidden(tmp_path: Path, there: str) -> None:
    """`--codex-report-dir .`"""
    (tmp_path / there).write_text("the user's")
    for _ in range(2):
        fresh(tmp_path)
    assert (tmp_path / there).read_text() == "the user's"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [there]


def test_if_no_folder_can_be_made_the_option_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="--codex-report-dir"):
        fresh(tmp_path / "taken")
