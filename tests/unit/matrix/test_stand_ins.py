"""Stand-ins for locked cells that this machine lacks: they stay when the matrix file gains a value."""

from pathlib import Path

import msgspec
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pytest_codexsandbox.matrix import lockfile, pairwise
from pytest_codexsandbox.matrix.combinations import IMPOSSIBLE, UNAVAILABLE, CombinationSpace, LeftOut, Row, left_out
from pytest_codexsandbox.matrix.container_cells import CellChooser
from pytest_codexsandbox.matrix.load import load
from pytest_codexsandbox.matrix.stand_ins import stand_ins
from pytest_codexsandbox.model.coverage import AXES, Coverage, parts
from tests.unit.matrix.container_builders import RELEASES, SMALL, subjects, written

NO_COMPILER = tuple(LeftOut(values={"bwrap": name}, why="no compiler") for name in ("0.8.0", "0.8.0-setuid"))
Values = dict[str, tuple[str, ...]]


@st.composite
def lacking(draw: st.DrawFn) -> tuple[Values, tuple[LeftOut, ...]]:
    """Draws axis values and up to three of them, or combinations of them, that cannot be had."""
    values = {axis: tuple(f"{axis}-{number}" for number in range(draw(st.integers(1, 4)))) for axis in AXES}
    left = []
    for _ in range(draw(st.integers(1, 3))):
        axes = draw(st.lists(st.sampled_from(AXES), min_size=1, max_size=2, unique=True))
        left.append(
            LeftOut(values={axis: draw(st.sampled_from(values[axis])) for axis in AXES if axis in axes}, why="no")
        )
    return values, tuple(left)


TWO_EACH = {axis: tuple(f"{axis}-{number}" for number in range(2)) for axis in AXES}
ONE_DISTRO: Values = {**TWO_EACH, "distro": ("distro-0",)}
ONE_PROFILE: Values = {**TWO_EACH, "profile": ("profile-0",)}


def gone(**values: str) -> LeftOut:
    return LeftOut(values=values, why="no")


# A replaced value breaks a second rule; and a row breaks two rules, of which one replacement mends both.
@example(
    (ONE_DISTRO, (gone(bwrap="bwrap-1", profile="profile-1"), gone(distro="distro-0", bwrap="bwrap-0"))),
    "distro",
    False,
)
@example(
    (ONE_PROFILE, (gone(distro="distro-0", bwrap="bwrap-0"), gone(distro="distro-0", user="user-0"))), "bwrap", False
)
@settings(deadline=None, derandomize=True, max_examples=150, suppress_health_check=list(HealthCheck))
@given(lacking(), st.sampled_from(AXES), st.booleans())
def test_a_new_value_moves_no_stand_in(drawn: tuple[Values, tuple[LeftOut, ...]], axis: str, first: bool) -> None:
    values, left = drawn
    lock, _ = pairwise.cover(CombinationSpace(values=values), 2)
    narrow = CombinationSpace(values=values, rules=left_out(left, UNAVAILABLE))
    added = ("new", *values[axis]) if first else (*values[axis], "new")
    wide = msgspec.structs.replace(narrow, values={**values, axis: added})
    before, coverage = here(narrow, lock)
    after, _ = here(wide, lock)
    assert set(before) <= set(after)
    assert len(held(before)) == coverage.coverable


def here(space: CombinationSpace, lock: tuple[Row, ...]) -> tuple[tuple[Row, ...], Coverage]:
    return pairwise.cover(space, 2, kept=(*lock, *stand_ins(space, lock)))


def held(rows: tuple[Row, ...]) -> set[object]:
    return {part for row in rows for part in parts(dict(zip(AXES, row, strict=True)), 2)}


def test_only_the_value_that_is_missing_is_replaced() -> None:
    values = {axis: tuple(f"{axis}-{number}" for number in range(3)) for axis in AXES}
    lock, _ = pairwise.cover(CombinationSpace(values=values), 2)
    gone = left_out([LeftOut(values={"bwrap": "bwrap-1"}, why="no compiler")], UNAVAILABLE)
    lost = {(*row[:1], *row[2:]) for row in lock if row[1] == "bwrap-1"}
    found = stand_ins(CombinationSpace(values=values, rules=gone), lock)
    assert {(*row[:1], *row[2:]) for row in found} == lost
    assert {row[1] for row in found} == {"bwrap-0", "bwrap-2"}


def test_an_excluded_cell_has_no_stand_in() -> None:
    values = {axis: tuple(f"{axis}-{number}" for number in range(3)) for axis in AXES}
    lock, _ = pairwise.cover(CombinationSpace(values=values), 2)
    excluded = left_out([LeftOut(values={"bwrap": "bwrap-1"}, why="not wanted")], IMPOSSIBLE)
    assert stand_ins(CombinationSpace(values=values, rules=excluded), lock) == []


def test_without_a_compiler_the_cells_of_a_file_stay_when_a_release_is_added_and_locked(tmp_path: Path) -> None:
    file = written(tmp_path, f"{SMALL}\npairs = 2")

    def choice(*releases: str, left: tuple[LeftOut, ...] = ()) -> CellChooser:
        return CellChooser(load(str(file)), subjects(*releases), arch="x86_64", left=left)

    def lock(*releases: str) -> None:
        lockfile.write(lockfile.path_of(file), 2, choice(*releases).to_lock(2))

    def cells(*releases: str) -> set[str]:
        return {cell.id for cell in choice(*releases, left=NO_COMPILER).chosen(2).cells}

    lock(*RELEASES)
    before = cells(*RELEASES)
    assert before and not any("bwrap-0.8.0" in name for name in before)
    assert before < cells(*RELEASES, "0.169.0")
    assert before < cells("0.169.0", *RELEASES)
    lock(*RELEASES, "0.169.0")
    assert before < cells(*RELEASES, "0.169.0")
