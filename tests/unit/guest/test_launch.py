"""Descriptors that are left open for a command: fixed numbers, and none that the agent uses itself."""

import os
from pathlib import Path

import pytest

from pytest_codexsandbox.guest.launch import FIRST, LeftOpen
from pytest_codexsandbox.model.act import FIRST_DESCRIPTOR


def test_both_sides_agree_on_the_first_number() -> None:
    assert FIRST == FIRST_DESCRIPTOR


def test_an_opened_file_has_its_number_and_is_closed_again(tmp_path: Path) -> None:
    left = LeftOpen()
    left.open([f"folder:{tmp_path}"])
    assert left.numbers == [FIRST] and Path(f"/proc/self/fd/{FIRST}").readlink() == tmp_path
    left.close()
    assert not os.path.lexists(f"/proc/self/fd/{FIRST}")


def test_a_number_that_is_in_use_stays_what_it_is(tmp_path: Path) -> None:
    own = os.open(os.devnull, os.O_RDONLY)
    os.dup2(own, FIRST)
    try:
        with pytest.raises(OSError, match=str(FIRST)):
            LeftOpen().open([f"folder:{tmp_path}"])
        assert Path(f"/proc/self/fd/{FIRST}").readlink() == Path(os.devnull)
    finally:
        os.close(FIRST)
        os.close(own)
