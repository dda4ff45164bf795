"""HTML matrix: the matrix as the HTML page's template needs it: words and links. It decides nothing."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import SIGNS, WORDS, Verdict, worst
from pytest_codexsandbox.reports.cause_scope import Locations
from pytest_codexsandbox.reports.grid import Grid, GridRow, Group
from pytest_codexsandbox.reports.headlines import plural

CLASSES: Final = {verdict: verdict.name.lower().replace("_", "-") for verdict in Verdict}
_OPEN: Final = frozenset({Verdict.VIOLATES, Verdict.BROKEN, Verdict.STALE, Verdict.BLOCKED, Verdict.EXPECTED})
_FEW_ROWS: Final = 40  # a matrix with at most so many rows is shown open


class Sign(msgspec.Struct, frozen=True):
    sign: str
    word: str
    style: str
    link: str = ""


class Heading(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    cells: tuple[str, ...]
    sides: tuple[str, ...]


class MatrixLine(msgspec.Struct, frozen=True, kw_only=True):
    label: str
    title: str
    link: str
    signs: tuple[Sign | None, ...]


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    count: str
    open: bool
    signs: tuple[Sign | None, ...]
    lines: tuple[MatrixLine, ...]


def sign_of(verdict: Verdict, link: str = "") -> Sign:
    return Sign(SIGNS[verdict], WORDS[verdict], CLASSES[verdict], link)


def headings(grid: Grid, places: Locations) -> list[Heading]:
    sides = tuple(places.side(side) for side in grid.sides)
    return [
        Heading(title=_title(group, places), cells=tuple(places.names[cell.id] for cell in group.cells), sides=sides)
        for group in grid.groups
    ]


def _title(group: Group, places: Locations) -> str:
    return places.names[group.first] if len(group.cells) == 1 else f"{len(group.cells)} cells alike"


def topics(grid: Grid, links: Mapping[int, str], anchors: Mapping[str, str]) -> list[Topic]:
    """Returns the topics. `links`: id() of a record → anchor of its cause; `anchors`: promise → its anchor."""
    few = len(grid.rows) <= _FEW_ROWS
    made = []
    for name, rows in grid.topics().items():
        shown = [_records(row, grid) for row in rows]
        columns: list[Verdict | None] = [_worst(column) for column in zip(*shown, strict=True)]
        made.append(
            Topic(
                name=name,
                count=plural(len({row.promise for row in rows}), "promise"),
                open=few or not _OPEN.isdisjoint(columns),
                signs=tuple(sign_of(verdict) if verdict else None for verdict in columns),
                lines=tuple(_line(row, records, links, anchors) for row, records in zip(rows, shown, strict=True)),
            )
        )
    return made


def _records(row: GridRow, grid: Grid) -> list[Record | None]:
    return [row.fields.get(group.first, {}).get(side) for group in grid.groups for side in grid.sides]


def _worst(column: Iterable[Record | None]) -> Verdict | None:
    verdicts = [record.verdict for record in column if record]
    return worst(verdicts) if verdicts else None


def _line(
    row: GridRow, records: Sequence[Record | None], links: Mapping[int, str], anchors: Mapping[str, str]
) -> MatrixLine:
    return MatrixLine(
        label=row.name,
        title=row.title,
        link=anchors.get(row.promise, ""),
        signs=tuple(sign_of(record.verdict, links.get(id(record), "")) if record else None for record in records),
    )
