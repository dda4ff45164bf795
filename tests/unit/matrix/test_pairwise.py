"""Covering arrays: what is claimed is covered, what was kept stays, and everybody gets the same."""

from collections import Counter
from collections.abc import Mapping
from itertools import product

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pytest_codexsandbox.matrix import pairwise
from pytest_codexsandbox.matrix.combinations import (
    IMPOSSIBLE,
    UNAVAILABLE,
    CombinationSpace,
    LeftOut,
    Row,
    left_out,
    narrowed,
)
from pytest_codexsandbox.model.coverage import AXES, parts

QUIETLY = settings(deadline=None, derandomize=True, max_examples=40, suppress_health_check=list(HealthCheck))
Values = dict[str, tuple[str, ...]]


def values(*sizes: int) -> Values:
    return {axis: tuple(f"{axis}-{number}" for number in range(size)) for axis, size in zip(AXES, sizes, strict=True)}


def axes_of(row: Row) -> Mapping[str, str]:
    return dict(zip(AXES, row, strict=True))


def brute(space: CombinationSpace, strength: int) -> set[object]:
    """Every pair that some cell holds, found the slow way."""
    rows = [row for row in product(*space.values.values()) if not space.why_not(row)[1]]
    return {part for row in rows for part in parts(axes_of(row), strength)}


def held(rows: tuple[Row, ...], strength: int) -> set[object]:
    return {part for row in rows for part in parts(axes_of(row), strength)}


@st.composite
def spaces(draw: st.DrawFn) -> CombinationSpace:
    found = values(*(draw(st.integers(1, 4)) for _ in AXES))
    forbidden = []
    for _ in range(draw(st.integers(0, 4))):
        axes = draw(st.lists(st.sampled_from(AXES), min_size=1, max_size=3, unique=True))
        part: dict[str, str] = {axis: draw(st.sampled_from(found[axis])) for axis in AXES if axis in axes}
        forbidden.append(LeftOut(values=part, why=f"no {'+'.join(part.values())}"))
    return CombinationSpace(values=found, rules=left_out(forbidden, IMPOSSIBLE))


@QUIETLY
@given(spaces(), st.sampled_from(pairwise.STRENGTHS))
def test_every_pair_that_can_be_is_covered_and_the_others_have_a_reason(space: CombinationSpace, strength: int) -> None:
    rows, coverage = pairwise.cover(space, strength)
    can = brute(space, strength)
    assert held(rows, strength) == can
    assert coverage.coverable == len(can) == coverage.covered(map(axes_of, rows))
    assert sum(one.count for one in coverage.uncoverable) + len(can) == len(list(space.parts(strength)))
    assert all(one.why.startswith("no ") for one in coverage.uncoverable)
    assert all(not space.why_not(row)[1] for row in rows)


@QUIETLY
@given(spaces())
def test_the_same_question_has_the_same_answer(space: CombinationSpace) -> None:
    again = CombinationSpace(values=dict(space.values), rules=tuple(space.rules))
    assert pairwise.cover(space, 2) == pairwise.cover(again, 2)


@QUIETLY
@given(spaces(), st.sampled_from(AXES))
def test_a_new_value_only_adds_cells(space: CombinationSpace, axis: str) -> None:
    before, _ = pairwise.cover(space, 2)
    wider = CombinationSpace(values={**space.values, axis: (*space.values[axis], "new")}, rules=space.rules)
    after, coverage = pairwise.cover(wider, 2, kept=before)
    assert set(before) <= set(after)
    assert all("new" in row for row in set(after) - set(before))
    assert coverage.covered(map(axes_of, after)) == coverage.coverable


@QUIETLY
@given(spaces(), st.sampled_from(AXES))
def test_a_value_that_went_away_takes_its_rows_along(space: CombinationSpace, axis: str) -> None:
    assume(len(space.values[axis]) > 1)
    before, _ = pairwise.cover(space, 2)
    gone = space.values[axis][0]
    fewer = CombinationSpace(values={**space.values, axis: space.values[axis][1:]}, rules=space.rules)
    after, coverage = pairwise.cover(fewer, 2, kept=before)
    stayed = {row for row in before if gone not in row}
    assert stayed <= set(after)
    assert not any(gone in row for row in after)
    assert coverage.covered(map(axes_of, after)) == coverage.coverable


@QUIETLY
@given(spaces())
def test_a_complete_plan_gets_no_further_cells(space: CombinationSpace) -> None:
    before, _ = pairwise.cover(space, 2)
    assert pairwise.cover(space, 2, kept=reversed(before))[0] == before


@QUIETLY
@given(st.randoms(use_true_random=False))
def test_rows_of_no_use_are_no_harm(random: object) -> None:
    space = CombinationSpace(values=values(3, 2, 2, 1, 2))
    strange = [("gone", "bwrap-0", "profile-0", "user-0", "codex-0"), ("too", "short"), *space.rows()]
    random.shuffle(strange)  # type: ignore[attr-defined]
    rows, _ = pairwise.cover(space, 2, kept=strange)
    assert set(rows) == set(space.rows())


def test_there_are_about_as_few_rows_as_there_can_be() -> None:
    rows, coverage = pairwise.cover(CombinationSpace(values=values(9, 8, 12, 3, 8)), 2)
    assert 12 * 9 <= len(rows) <= 12 * 9 * 1.15
    assert coverage.combinations == 9 * 8 * 12 * 3 * 8


def test_values_that_are_needed_for_nothing_are_spread() -> None:
    rows, _ = pairwise.cover(CombinationSpace(values=values(4, 20, 20, 3, 8)), 2)
    for number, axis in enumerate(AXES):
        counted = Counter(row[number] for row in rows)
        assert max(counted.values()) <= 1.6 * len(rows) / len(counted) + 1, (axis, counted)


def test_rows_stand_in_the_order_that_was_asked_for() -> None:
    space = CombinationSpace(values={axis: tuple(reversed(found)) for axis, found in values(3, 2, 2, 1, 2).items()})
    rows, _ = pairwise.cover(space, 2)
    assert [row[0] for row in rows] == sorted((row[0] for row in rows), reverse=True)


# ---- what cannot be had: to which value that is due
ENVIRONMENT = {axis: found for axis, found in values(3, 3, 2, 2, 1).items() if axis != "codex"}


def reasons(blame: Mapping[frozenset[str], str]) -> dict[tuple[str, ...], str]:
    rows = product(*ENVIRONMENT.values())
    return {row: next((why for part, why in blame.items() if part <= set(row)), "") for row in rows}


@pytest.mark.parametrize(
    "blame",
    [
        {frozenset({"distro-1"}): "no image"},
        {frozenset({"bwrap-2"}): "no compiler", frozenset({"distro-0"}): "no registry answers"},
        {frozenset({"distro-1", "bwrap-2"}): "not built for it"},
        {frozenset({"distro-1"}): "no image", frozenset({"profile-0", "user-1"}): "not here"},
    ],
)
def test_the_values_that_are_to_blame_are_named(blame: Mapping[frozenset[str], str]) -> None:
    found = narrowed(reasons(blame), tuple(ENVIRONMENT))
    assert {frozenset(one.values.values()): one.why for one in found} == dict(blame)


def test_without_any_available_cell_the_first_axis_names_the_reason() -> None:
    found = narrowed(dict.fromkeys(product(*ENVIRONMENT.values()), "no engine"), tuple(ENVIRONMENT))
    assert [one.values for one in found] == [{"distro": name} for name in ENVIRONMENT["distro"]]


@QUIETLY
@given(st.sets(st.sampled_from(list(product(*ENVIRONMENT.values())))))
def test_exactly_the_unavailable_pairs_are_named(bad: set[tuple[str, ...]]) -> None:
    every = product(*ENVIRONMENT.values())
    found = narrowed({row: "no" if row in bad else "" for row in every}, tuple(ENVIRONMENT))
    rules = left_out(found, UNAVAILABLE)
    space = CombinationSpace(values={**ENVIRONMENT, "codex": ("any",)}, rules=rules)
    assert {row[:-1] for row in space.rows() if space.why_not(row)[1]} == bad
