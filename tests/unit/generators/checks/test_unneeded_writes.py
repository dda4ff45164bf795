"""A later run with nothing to change: the file keeps its inode and its time, or the check says so."""

from typing import Any

import msgspec
import pytest

from pytest_codexsandbox.generators.case_run import TICK
from pytest_codexsandbox.generators.checks.unneeded_writes import touches_nothing
from pytest_codexsandbox.model.generator import CONFIG, CaseRun, Files
from tests.unit.generators.builders import ANY, BLOCK, case_run, held, reasons, run, skips, state

USER = b'model = "x"\n'
GOOD = BLOCK + USER
BEFORE = {CONFIG: state(USER, inode=1, modified=10)}
FIRST = {CONFIG: state(GOOD, inode=2, modified=20)}


def told(*after: Files, before: Files = BEFORE, **words: Any) -> CaseRun:
    runs = tuple(run(b"", files=files, **words) for files in after)
    return msgspec.structs.replace(case_run(USER, USER), runs=runs, before=before)


def test_a_file_that_is_left_alone_holds() -> None:
    assert held(touches_nothing(told(FIRST, FIRST, FIRST), ANY))
    in_place = {CONFIG: state(GOOD, inode=1, modified=20)}
    assert held(touches_nothing(told(in_place, in_place), ANY))


@pytest.mark.parametrize("change", [{"inode": 3, "modified": 30}, {"inode": 2, "modified": 30}])
@pytest.mark.parametrize("number", [2, 3])
def test_the_same_bytes_written_anew_are_a_fault(change: dict[str, int], number: int) -> None:
    again = {CONFIG: state(GOOD, **change)}
    found = touches_nothing(told(*[FIRST] * (number - 1), *[again] * (4 - number)), ANY)
    assert reasons(found) == {"rewritten"}
    assert f"run {number}" in found[0].saw


def test_another_file_that_codex_reads_counts_too() -> None:
    profile = "@CODEX_HOME@/work.config.toml"
    first, again = ({**FIRST, profile: state(b"a = 1\n", inode=5, modified=when)} for when in (20, 30))
    assert reasons(touches_nothing(told(first, again), ANY)) == {"rewritten"}


@pytest.mark.parametrize(
    ("after", "why"),
    [
        ((BEFORE, BEFORE), "first run wrote nothing"),
        ((FIRST, {CONFIG: state(GOOD + b"\n", inode=2, modified=30)}), "second run changed bytes"),
        (({}, {}), "writes no file"),
        ((FIRST,), "no third run"),
    ],
)
def test_an_unanswerable_question_has_its_reason(after: tuple[Files, ...], why: str) -> None:
    assert why in skips(touches_nothing(told(*after), ANY))


def test_a_first_run_that_writes_the_same_bytes_shows_that_a_write_is_seen() -> None:
    anew = {CONFIG: state(USER, inode=1, modified=20)}
    assert held(touches_nothing(told(anew, anew), ANY))


def test_without_a_time_nothing_is_proved() -> None:
    blind = {CONFIG: state(GOOD)}
    assert "without their times" in skips(touches_nothing(told(blind, blind, before={CONFIG: state(USER)}), ANY))


def test_a_first_write_that_left_no_trace_proves_nothing() -> None:
    """A clock too coarse for what it is to show: the control fails, so that nothing is green."""
    (found,) = touches_nothing(told(FIRST, FIRST, before={CONFIG: state(USER, inode=2, modified=20)}), ANY)
    assert found.held
    assert not found.control_held


def test_a_tick_is_longer_than_the_slowest_clock_of_a_kernel() -> None:
    assert TICK > 1e9 / 100
