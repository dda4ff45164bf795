"""Row folding: joins rows with compatible signs into one line, so that a green run stays short.

A violated, known or stale row always has its own line. So has a broken one, unless one cause breaks many rows.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec

from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.reports.grid import Column, GridRow

CellColumn = tuple[str, Column]  # cell id, column
Signs = tuple[Verdict | None, ...]

_OWN_LINE = frozenset({Verdict.VIOLATES, Verdict.EXPECTED, Verdict.STALE})
_MANY = 3  # rows that one cause may break before they fold


class FoldedRow(msgspec.Struct, frozen=True, kw_only=True):
    topic: str
    label: str
    signs: Signs
    rows: tuple[GridRow, ...]


class _Fold:
    """Rows that fit together: in each column the same sign, or none."""

    def __init__(self, row: GridRow, signs: Signs) -> None:
        self.rows, self.signs = [row], list(signs)

    def takes(self, row: GridRow, signs: Signs) -> bool:
        if any(mine is not theirs for mine, theirs in zip(self.signs, signs, strict=True) if mine and theirs):
            return False
        self.rows.append(row)
        self.signs = [mine or theirs for mine, theirs in zip(self.signs, signs, strict=True)]
        return True


def folded(rows: Sequence[GridRow], columns: Sequence[CellColumn], *, every: bool = False) -> list[FoldedRow]:
    """Returns the lines of one topic over `columns`. `every`: nothing is folded."""
    shown = [(row, tuple(row.verdict(cell, side) for cell, side in columns)) for row in rows]
    shown = [(row, signs) for row, signs in shown if any(signs)]
    if every:
        return [_line([row], signs, columns, first=True) for row, signs in shown]
    folds: list[_Fold] = []
    own: list[tuple[GridRow, Signs]] = []
    spread = Counter(reason for row, _ in shown for reason in _breakages(row, columns))
    for row, signs in shown:
        if _OWN_LINE.intersection(signs) or any(spread[reason] <= _MANY for reason in _breakages(row, columns)):
            own.append((row, signs))
        elif not any(fold.takes(row, signs) for fold in folds):
            folds.append(_Fold(row, signs))
    lines = [_line(fold.rows, tuple(fold.signs), columns, first=place == 0) for place, fold in enumerate(folds)]
    return [*lines, *(_line([row], signs, columns, first=True) for row, signs in own)]


def _breakages(row: GridRow, columns: Sequence[CellColumn]) -> set[str]:
    found = (row.fields.get(cell, {}).get(side) for cell, side in columns)
    return {record.reason for record in found if record and record.verdict is Verdict.BROKEN}


def _line(rows: Sequence[GridRow], signs: Signs, columns: Sequence[CellColumn], *, first: bool) -> FoldedRow:
    promises = len({row.promise for row in rows})
    label = _named(rows[0], columns) if len(rows) == 1 else _counted(promises, more=not first)
    return FoldedRow(topic=rows[0].topic, label=label, signs=signs, rows=tuple(rows))


def _named(row: GridRow, columns: Sequence[CellColumn]) -> str:
    held = row.held(columns)
    return f"{row.name}: {held}" if held else row.name


def _counted(promises: int, *, more: bool) -> str:
    if promises == 1:
        return "1 promise, its other cases" if more else "1 promise, all cases"
    return f"{promises} {'more ' if more else ''}promises"
