"""Scenario files without pytest."""

from pathlib import Path

import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.scenario_index import promises

HEAD = "from pytest_codexsandbox.api import promise\n"
ONE = '''
@promise("{id}", kind="boundary", severity="high", source="its documentation", policies=("read-only",))
def {name}(trial):
    """What is promised."""
    raise AssertionError("nothing runs when promises are surveyed")
'''


def scenario(folder: Path, place: str, *ids: str, extra: str = "") -> Path:
    file = folder / place
    file.parent.mkdir(parents=True, exist_ok=True)
    written = (ONE.format(id=id, name=f"test_number_{number}") for number, id in enumerate(ids))
    file.write_text(HEAD + extra + "".join(written))
    return file


def test_files_come_sorted_and_promises_as_written(tmp_path: Path) -> None:
    scenario(tmp_path, "b/test_two.py", "b.second", "b.first")
    scenario(tmp_path, "a/test_one.py", "a.one")
    scenario(tmp_path, "a/helping.py", "a.not-a-test-file")
    found = promises(tmp_path)
    assert [promise.id for promise, _ in found] == ["a.one", "b.second", "b.first"]
    assert [function.__name__ for _, function in found] == ["test_number_0", "test_number_0", "test_number_1"]


def test_two_files_of_one_name_do_not_hide_each_other(tmp_path: Path) -> None:
    scenario(tmp_path, "a/test_same.py", "a.one")
    scenario(tmp_path, "b/test_same.py", "b.one")
    assert [promise.id for promise, _ in promises(tmp_path)] == ["a.one", "b.one"]


def test_asking_twice_gives_the_same_functions(tmp_path: Path) -> None:
    scenario(tmp_path, "a/test_again.py", "a.again")
    assert promises(tmp_path)[0][1] is promises(tmp_path)[0][1]


def test_a_file_that_was_changed_is_read_again(tmp_path: Path) -> None:
    scenario(tmp_path, "a/test_changing.py", "a.before")
    promises(tmp_path)
    scenario(tmp_path, "a/test_changing.py", "a.afterwards")
    assert [promise.id for promise, _ in promises(tmp_path)] == ["a.afterwards"]


def test_the_same_promise_in_two_files_is_an_error_that_names_both(tmp_path: Path) -> None:
    first = scenario(tmp_path, "a/test_first.py", "a.one")
    second = scenario(tmp_path, "b/test_second.py", "a.one")
    with pytest.raises(InputError, match=r"a\.one") as caught:
        promises(tmp_path)
    assert str(first) in caught.value.where
    assert str(second) in caught.value.where


def test_a_syntax_error_is_placed_in_its_file_and_line(tmp_path: Path) -> None:
    file = scenario(tmp_path, "a/test_broken.py", extra="def half(:\n")
    with pytest.raises(InputError, match="syntax error") as caught:
        promises(tmp_path)
    assert caught.value.where.startswith(f"{file}:2:")


def test_an_error_while_importing_is_placed_too(tmp_path: Path) -> None:
    file = scenario(tmp_path, "a/test_failing.py", extra="\n\n1 / 0\n")
    with pytest.raises(InputError, match="cannot be imported") as caught:
        promises(tmp_path)
    assert caught.value.where == f"{file}:4"
    assert "ZeroDivisionError" in caught.value.why


def test_a_scenario_that_ends_the_interpreter_does_not(tmp_path: Path) -> None:
    scenario(tmp_path, "a/test_leaving.py", extra="raise SystemExit(0)\n")
    with pytest.raises(InputError, match="cannot be imported"):
        promises(tmp_path)


def test_a_wrong_promise_id_is_placed_in_the_scenario(tmp_path: Path) -> None:
    file = scenario(tmp_path, "a/test_wrong.py", "Not An Id")
    with pytest.raises(InputError) as caught:
        promises(tmp_path)
    assert caught.value.where.startswith(str(file))
    assert "Not An Id" in caught.value.why


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder"):
        promises(tmp_path / "none")
