"""One process works, the others wait for it, and not for ever."""

import os
from pathlib import Path

import pytest

from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.system.locks import exclusive, is_held


def test_a_wait_is_announced_and_ends_with_the_holder_named(tmp_path: Path) -> None:
    path, lines = tmp_path / "x" / "a.lock", list[str]()
    with (
        exclusive(path, "makes a copy"),
        pytest.raises(HarnessError, match=f"process {os.getpid()} ") as error,
        exclusive(path, "makes a copy", patience=0.05, notify=lines.append),
    ):
        pass
    assert len(lines) == 1 and f"process {os.getpid()} makes a copy" in lines[0]
    assert error.value.where == str(path) and error.value.next_step
    with exclusive(path, "makes a copy", patience=0.05, notify=lines.append):
        assert len(lines) == 1


def test_a_holder_without_a_name_is_another_process(tmp_path: Path) -> None:
    lines = list[str]()
    with exclusive(tmp_path / "a.lock", "works"):
        (tmp_path / "a.who").unlink()
        with pytest.raises(HarnessError), exclusive(tmp_path / "a.lock", "works", patience=0, notify=lines.append):
            pass
    assert len(lines) == 1 and "another process works" in lines[0]


def test_a_lock_is_held_until_it_is_given_back(tmp_path: Path) -> None:
    with exclusive(tmp_path / "a.lock", "works"):
        assert is_held(tmp_path / "a.lock", if_unreadable=False)
    assert not is_held(tmp_path / "a.lock", if_unreadable=True)


@pytest.mark.parametrize("answer", [True, False])
def test_a_lock_that_cannot_be_looked_at_is_answered_by_the_caller(tmp_path: Path, answer: bool) -> None:
    assert is_held(tmp_path, if_unreadable=answer) is answer
