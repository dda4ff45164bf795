"""Cause scope: the short names of cells, and the policies, in which a cause was seen."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from pytest_codexsandbox.model.journal_lines import CellRow
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.suite_index import SuiteIndex
from pytest_codexsandbox.reports.cell_groups import FEW, CellGroups
from pytest_codexsandbox.reports.grid import Column, Grid, names_of, side_names
from pytest_codexsandbox.reports.headlines import plural, shortened_list


class Locations(msgspec.Struct, frozen=True, kw_only=True):
    names: Mapping[str, str]  # cell id → short name
    alike: CellGroups
    sides: Mapping[Column, str]  # column → name
    suites: SuiteIndex

    def side(self, side: Column) -> str:
        return self.sides.get(side, side.policy)

    def of(self, records: Iterable[Record]) -> list[str]:
        """Returns texts like `0.163.0, 0.169.0 / read-only, workspace-write`. Cells with equal policies share one
        text."""
        by_cell: dict[str, dict[str, None]] = {}
        for record in records:
            key = record.key
            by_cell.setdefault(key.cell, {})[self.side(Column(key.door, key.policy))] = None
        by_sides: dict[tuple[str, ...], list[str]] = {}
        for cell, sides in by_cell.items():
            by_sides.setdefault(tuple(sides), []).append(cell)
        return [f"{self._cells(cells)} / {shortened_list(sides, 6)}" for sides, cells in by_sides.items()]

    def _cells(self, cells: Sequence[str]) -> str:
        """Returns the names of cells. For many cells in a run over several axes, it returns what they have in
        common."""
        if len(cells) > FEW and self.alike.speaks:
            return self.alike.described(cells)
        return shortened_list(self.names.get(cell, cell) for cell in cells)

    def described(self, records: Iterable[Record], limit: int) -> str:
        places = self.of(records)
        more = f"; and {plural(len(places) - limit, 'more place')}" if len(places) > limit else ""
        return "; ".join(places[:limit]) + more


def places(cells: Iterable[CellRow], grid: Grid) -> Locations:
    cells, suites = tuple(cells), grid.suites
    return Locations(
        names=names_of(cells), alike=CellGroups(cells), sides=side_names(grid.sides, suites), suites=suites
    )
