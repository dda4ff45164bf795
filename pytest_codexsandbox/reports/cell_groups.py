"""Cell groups: describes some cells by what distinguishes them from the others: `all 8 cells with bwrap 0.4.1`.
Pure."""

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations
from typing import Final

from pytest_codexsandbox.model.coverage import AXES
from pytest_codexsandbox.model.journal_lines import CellRow
from pytest_codexsandbox.reports.headlines import SYNTHETIC, plural, shortened_list

FEW: Final = 3  # up to so many cells are named instead
_AT_ONCE: Final = 3  # most axes in one description
_VALUES: Final = 6


class CellGroups:
    """Describes groups of a run's cells. It applies only if several axes vary; with one axis the names are short."""

    def __init__(self, cells: Iterable[CellRow]) -> None:
        self._cells = {cell.id: cell for cell in cells}
        values = {axis: _values(self._cells.values(), axis) for axis in AXES}
        self.varying = {axis: found for axis, found in values.items() if len(found) > 1}

    @property
    def speaks(self) -> bool:
        return len(self.varying) > 1

    def described(self, ids: Collection[str], *, rest: bool = False) -> str:
        """Returns a text like `30 of the 41 cells with profile docker-default, sys-admin and codex other than 0.40.0`.

        `rest`: all other cells are described already, so a vague description becomes `the other cells`.
        """
        chosen = [self._cells[id] for id in ids if id in self._cells]
        described = self._told(chosen, rest=rest)
        synthetic = bool(chosen) and all(cell.synthetic for cell in chosen)
        return f"{described} ({SYNTHETIC})" if synthetic and SYNTHETIC not in described else described

    def _told(self, chosen: Sequence[CellRow], *, rest: bool) -> str:
        axes = self._axes(chosen)
        found = self._fitting(chosen, axes)
        if rest and found != len(chosen):
            return f"the other {plural(len(chosen), 'cell')}"
        how_many = f"all {len(chosen):,}" if found == len(chosen) else f"{len(chosen):,} of the {found:,}"
        if not axes:
            return f"{how_many} cells" if found == len(chosen) else f"{len(chosen):,} of {plural(found, 'cell')}"
        return f"{how_many} cells with {' and '.join(self._said(chosen, axis) for axis in axes)}"

    def _axes(self, chosen: Sequence[CellRow]) -> tuple[str, ...]:
        """Returns the smallest set of axes that distinguishes this group best."""
        narrower = [axis for axis, found in self.varying.items() if _values(chosen, axis) != found]
        tried = [axes for size in range(min(_AT_ONCE, len(narrower)) + 1) for axes in combinations(narrower, size)]
        return min(tried, key=lambda axes: (self._fitting(chosen, axes), len(axes), self._length(chosen, axes)))

    def _length(self, chosen: Sequence[CellRow], axes: Sequence[str]) -> int:
        return sum(len(_values(chosen, axis)) for axis in axes)

    def _fitting(self, chosen: Sequence[CellRow], axes: Sequence[str]) -> int:
        """Returns how many cells of the run have these values."""
        wanted = {axis: _values(chosen, axis) for axis in axes}
        return sum(
            all(cell.axes.get(axis, "") in values for axis, values in wanted.items()) for cell in self._cells.values()
        )

    def _said(self, chosen: Sequence[CellRow], axis: str) -> str:
        having = _values(chosen, axis)
        values = [value for value in self.varying[axis] if value in having]
        others = [value for value in self.varying[axis] if value not in having]
        if len(others) < len(values):
            return f"{axis} other than {shortened_list(others, _VALUES)}"
        return f"{axis} {shortened_list([value or 'none' for value in values], _VALUES)}"


def _values(cells: Iterable[CellRow], axis: str) -> dict[str, None]:
    return dict.fromkeys(cell.axes.get(axis, "") for cell in cells)
