"""Where something was seen: cells by their short names, and under which policies."""

from collections.abc import Iterable, Mapping

import msgspec

from pytest_codexsandbox.model.journal import CellRow
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.reports.facts import listed, many
from pytest_codexsandbox.reports.grid import Side, names_of


class Places(msgspec.Struct, frozen=True, kw_only=True):
    names: Mapping[str, str]  # of cells
    one_door: bool

    def side(self, side: Side) -> str:
        return side.policy if self.one_door else f"{side.policy} by {side.door}"

    def of(self, records: Iterable[Record]) -> list[str]:
        """`0.163.0, 0.169.0 / read-only, workspace-write`: cells that share their policies in one text."""
        by_cell: dict[str, dict[str, None]] = {}
        for record in records:
            key = record.key
            name = self.names.get(key.cell, key.cell)
            by_cell.setdefault(name, {})[self.side(Side(key.door, key.policy))] = None
        by_sides: dict[tuple[str, ...], list[str]] = {}
        for cell, sides in by_cell.items():
            by_sides.setdefault(tuple(sides), []).append(cell)
        return [f"{listed(cells)} / {listed(sides, 6)}" for sides, cells in by_sides.items()]

    def told(self, records: Iterable[Record], limit: int) -> str:
        places = self.of(records)
        more = f"; and {many(len(places) - limit, 'more place')}" if len(places) > limit else ""
        return "; ".join(places[:limit]) + more


def places(cells: Iterable[CellRow], sides: Iterable[Side]) -> Places:
    return Places(names=names_of(cells), one_door=len({side.door for side in sides}) <= 1)
