"""A time limit leaves out whole cells, and says which."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.budget import Budget, within
from pytest_codexsandbox.matrix.plan import make
from pytest_codexsandbox.model.coverage import parts
from pytest_codexsandbox.model.plan import Plan
from tests.unit.matrix.builders import cell, promise, traits
from tests.unit.matrix.container_builders import SMALL, choice

PROMISES = (promise("start.is-on"), promise())
LABELS = ("0.40.0", "0.114.0", "0.136.0", "0.163.0")
PLAN = make("mine", [cell(label) for label in LABELS], PROMISES, doors=traits("sandbox"), platform="linux")


def ten(plan: Plan = PLAN) -> dict[str, float]:
    return {one.id: 10.0 for one in plan.cells}


def asked(seconds: float) -> Budget:
    return Budget(seconds=seconds, text=f"{seconds:.0f}s")


def test_a_plan_that_fits_is_left_alone() -> None:
    assert within(PLAN, asked(40), seconds=ten()) is PLAN


def test_cells_beyond_the_budget_are_dropped_whole_and_named() -> None:
    found = within(PLAN, asked(25), seconds=ten())
    kept = {one.id for one in found.cells}
    assert len(kept) == 2
    assert {key.cell for key in found.keys} == kept
    assert len(found.keys) == len(PLAN.keys) / 2
    left = [one for one in found.not_planned if one.kind == "budget"]
    assert [one.what for one in left] == [one.id for one in PLAN.cells if one.id not in kept]
    assert all(one.why.endswith(" 25s") for one in left)


def test_among_equal_cells_the_first_of_the_plan_stay() -> None:
    found = within(PLAN, asked(25), seconds=ten())
    assert [one.subject.label for one in found.cells] == ["0.40.0", "0.114.0"]


def test_a_long_cell_makes_room_for_shorter_ones() -> None:
    seconds = ten() | {PLAN.cells[0].id: 100.0}
    found = within(PLAN, asked(40), seconds=seconds)
    assert [one.subject.label for one in found.cells] == ["0.114.0", "0.136.0", "0.163.0"]


def test_workers_make_room() -> None:
    assert len(within(PLAN, asked(20), seconds=ten(), workers=2).cells) == 4


def test_no_room_for_anything_is_an_error() -> None:
    with pytest.raises(InputError, match="--codex-budget 5s") as caught:
        within(PLAN, asked(5), seconds=ten())
    assert "about 10 s" in caught.value.why


def test_the_remaining_cells_show_more_than_the_first_ones_would(tmp_path: Path) -> None:
    cells = choice(tmp_path, SMALL).chosen(0).cells
    plan = make("mine", cells, PROMISES, doors=traits("sandbox"), platform="linux")
    found = within(plan, asked(100), seconds=ten(plan))
    assert len(found.cells) == 10
    assert len(_held(found)) > 1.5 * len(_held(plan, 10))
    assert [one.id for one in found.cells] == [one.id for one in cells if one in found.cells]


def _held(plan: Plan, first: int | None = None) -> set[object]:
    return {part for one in plan.cells[:first] for part in parts(one.axes, 2)}


@settings(deadline=None, derandomize=True, max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.lists(st.floats(0.1, 100), min_size=4, max_size=4), st.floats(0.1, 400), st.integers(1, 4))
def test_the_budget_is_kept_and_nothing_is_lost(times: list[float], limit: float, workers: int) -> None:
    seconds = {one.id: time for one, time in zip(PLAN.cells, times, strict=True)}
    room = limit * workers
    if min(times) > room:
        return
    found = within(PLAN, asked(limit), seconds=seconds, workers=workers)
    assert sum(seconds[one.id] for one in found.cells) <= room + 1e-6
    gone = {one.what for one in found.not_planned if one.kind == "budget"}
    assert {one.id for one in found.cells} | gone == {one.id for one in PLAN.cells}
    again = within(PLAN, asked(limit), seconds=seconds, workers=workers)
    assert again == found
