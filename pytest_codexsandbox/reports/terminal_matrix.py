"""Terminal matrix: the matrix on a screen.

If every column has enough space for its name, headings are stepped. Otherwise the columns of a cell are placed
together below its name. If that is too wide too, cells are numbered and shown in blocks below each other.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from pytest_codexsandbox.model.journal_lines import CellRow
from pytest_codexsandbox.reports.cell_groups import FEW, CellGroups
from pytest_codexsandbox.reports.escape import width_of
from pytest_codexsandbox.reports.grid import Column, Grid, GridRow, Group, common, names_of, side_names
from pytest_codexsandbox.reports.row_folding import FoldedRow, folded
from pytest_codexsandbox.reports.terminal_style import Paint

_NARROWEST: Final = 14  # least columns of a label
_STEM: Final = "|"
_ALL: Final = "all {} cells"


class Margin(msgspec.Struct, frozen=True, kw_only=True):
    """The columns left of the signs."""

    topic: int
    label: int

    @property
    def width(self) -> int:
        return self.topic + self.label


class MatrixBlock(msgspec.Struct, frozen=True, kw_only=True):
    """Columns that are shown side by side, with their positions."""

    columns: tuple[tuple[str, Column], ...]
    places: tuple[int, ...]  # offset of each sign
    headings: tuple[str, ...]  # lines above, from offset 0


def matrix(grid: Grid, cells: Sequence[CellRow], paint: Paint, *, verbosity: int) -> list[str]:
    names = names_of(cells)
    sides = side_names(grid.sides, grid.suites)
    margin = _margin(grid, paint, every=verbosity > 0)
    left = margin.width
    titles = _titles(grid.groups, names)
    stepped = _stepped(grid, titles, sides, paint, left)
    named = stepped or _grouped(grid, titles, paint, left)
    blocks = [named] if named else _numbered(grid, paint, left)
    lines: list[str] = []
    for block in blocks:
        lines += ["", *(" " * left + heading for heading in block.headings)]
        lines += _rows(grid.topics().values(), block, paint, margin=margin, every=verbosity > 0)
    keys = [] if stepped else _sides_key(grid, sides, paint)
    same = common(cells) if len({cell.environment for cell in cells}) > 1 else {}
    keys += paint.labelled("in each", [f"{axis} {value}," for axis, value in same.items()]) if same else []
    return [
        *lines,
        *keys,
        *_cells_key(grid.groups, names, CellGroups(cells), paint, every=named is None, all=verbosity > 0),
    ]


def _titles(groups: Sequence[Group], names: dict[str, str]) -> list[str]:
    """Returns a cell's name; for equal cells their count and a number, which the key below explains."""
    if len(groups) == 1 and len(groups[0].cells) > 1:
        return [_ALL.format(len(groups[0].cells))]
    return [
        names[group.first] if len(group.cells) == 1 else f"{len(group.cells)} cells [{number}]"
        for number, group in enumerate(groups, 1)
    ]


# ---- positions
def _margin(grid: Grid, paint: Paint, *, every: bool) -> Margin:
    topic = max((len(row.topic) for row in grid.rows), default=0) + 1
    every_column = [(group.first, side) for group in grid.groups for side in grid.sides]
    shown = [line for rows in grid.topics().values() for line in folded(rows, every_column, every=every)]
    label = max((len(line.label) for line in shown), default=0) + 1
    room = paint.width - topic - max(14, paint.width // 3)
    return Margin(topic=topic, label=max(_NARROWEST, min(label, room)))


def _columns(grid: Grid, group: Group) -> list[Column]:
    return [side for side in grid.sides if any(row.verdict(group.first, side) for row in grid.rows)]


def _stepped(
    grid: Grid, titles: Sequence[str], sides: dict[Column, str], paint: Paint, left: int
) -> MatrixBlock | None:
    columns, labels = [], []
    for group, title in zip(grid.groups, titles, strict=True):
        for place, side in enumerate(_columns(grid, group)):
            columns.append((group.first, side))
            labels.append(paint.text(sides[side] if place else f"{title} {sides[side]}"))
    places = [2 * number for number in range(len(columns))]
    if any(left + place + width_of(label) > paint.width for place, label in zip(places, labels, strict=True)):
        return None
    headings = [f"{_STEM} " * number + label for number, label in enumerate(labels)]
    return MatrixBlock(columns=tuple(columns), places=tuple(places), headings=tuple(headings))


def _grouped(grid: Grid, titles: Sequence[str], paint: Paint, left: int) -> MatrixBlock | None:
    """Returns each group as a run of signs with a gap after each door and stepped names above; None if that is too
    wide."""
    wide = _wide(grid.sides)
    titles = [paint.text(title) for title in titles]
    if any(left + wide * place + width_of(title) > paint.width for place, title in enumerate(titles)):
        return None
    if left + wide * (len(titles) - 1) + _spots(grid.sides)[-1] + 1 > paint.width:
        return None
    stem = f"{_STEM:<{wide}}"
    return _run_together(grid, grid.groups, wide, tuple(stem * place + title for place, title in enumerate(titles)))


def _spots(sides: Sequence[Column]) -> list[int]:
    """Returns the positions of a group's signs: those of one door have no gaps."""
    doors = [side.door for side in sides]
    return [place + sum(one != other for one, other in pairwise(doors[: place + 1])) for place in range(len(sides))]


def _wide(sides: Sequence[Column]) -> int:
    """Returns the width of a group with the gap after it, which is wider than the gaps inside."""
    several = len({side.door for side in sides}) > 1
    return _spots(sides)[-1] + (3 if several else 2)


def _run_together(grid: Grid, groups: Sequence[Group], wide: int, headings: tuple[str, ...]) -> MatrixBlock:
    places = [wide * offset + place for offset in range(len(groups)) for place in _spots(grid.sides)]
    columns = [(group.first, side) for group in groups for side in grid.sides]
    return MatrixBlock(columns=tuple(columns), places=tuple(places), headings=headings)


def _numbered(grid: Grid, paint: Paint, left: int) -> list[MatrixBlock]:
    """Returns each group below its number, in as many blocks as needed."""
    wide = max(_wide(grid.sides), len(f"{len(grid.groups)}") + 1)
    fit = max(1, (paint.width - left + 1) // wide)
    blocks = []
    for start in range(0, len(grid.groups), fit):
        part = grid.groups[start : start + fit]
        numbers = "".join(f"{start + place:<{wide}}" for place in range(1, len(part) + 1))
        blocks.append(_run_together(grid, part, wide, (numbers.rstrip(),)))
    return blocks


# ---- lines
def _rows(
    topics: Iterable[Sequence[GridRow]], block: MatrixBlock, paint: Paint, *, margin: Margin, every: bool
) -> list[str]:
    lines: list[str] = []
    for rows in topics:
        shown = folded(rows, block.columns, every=every)
        for place, line in enumerate(shown):
            lines += _row(line, block, paint, margin=margin, topic=line.topic if place == 0 else "")
    return lines


def _row(line: FoldedRow, block: MatrixBlock, paint: Paint, *, margin: Margin, topic: str) -> list[str]:
    head, *rest = _broken(paint.text(line.label), margin.label - 1)
    signs, at = "", 0
    for place, verdict in zip(block.places, line.signs, strict=True):
        if verdict is not None:
            signs += " " * (place - at) + paint.sign(verdict)
            at = place + 1
    first = f"{paint.text(topic):<{margin.topic}}{head}"
    below = [" " * (margin.topic + 2) + piece for piece in rest]
    return [first + " " * (margin.width - width_of(first)) + signs, *below]


def _broken(label: str, width: int) -> list[str]:
    """Breaks a label into as many lines as needed, after a hyphen or a blank if possible."""
    pieces, room = [], width
    while width_of(label) > room:
        cut = max(label.rfind("-", 0, room), label.rfind(" ", 0, room)) + 1
        cut = cut if cut > room // 3 else room
        pieces.append(label[:cut].rstrip(" "))
        label, room = label[cut:], width - 2
    return [*pieces, label]


# ---- keys
def _sides_key(grid: Grid, sides: dict[Column, str], paint: Paint) -> list[str]:
    if len(grid.sides) == 1:
        return paint.labelled("each cell", sides[grid.sides[0]])
    doors, policies = (list(dict.fromkeys(words)) for words in zip(*map(_words, grid.sides), strict=True))
    if len(doors) > 1 and len(grid.sides) == len(doors) * len(policies):
        return [
            *paint.labelled("each cell", ["signs of", *_listed(policies)]),
            *paint.labelled("doors", [*(f"{door}," for door in doors), "a gap after each"]),
        ]
    return paint.labelled("each cell", ["signs of", *_listed([sides[side] for side in grid.sides])])


def _words(side: Column) -> tuple[str, str]:
    return side.door, side.policy


def _listed(names: Sequence[str]) -> list[str]:
    """Returns the pieces between which a line may break."""
    return [*(f"{name}," for name in names[:-1]), names[-1]]


def _cells_key(
    groups: Sequence[Group], names: dict[str, str], alike: CellGroups, paint: Paint, *, every: bool, all: bool
) -> list[str]:
    """Returns which cells a number, or a heading like `3 cells`, means. Lines break between names."""
    shown: dict[int, list[str]] = {}
    described = False
    largest = max(groups, key=lambda group: len(group.cells), default=None)
    for number, group in enumerate(groups, 1):
        if every or len(group.cells) > 1:
            shown[number] = ",\0".join(names[cell.id] for cell in group.cells).split("\0")
            if len(group.cells) > FEW and alike.speaks and not all:
                shown[number] = alike.described([cell.id for cell in group.cells], rest=group is largest).split(" ")
                described = True
    if described and len(groups) > 1:
        return [line for number, parts in shown.items() for line in paint.labelled(f"[{number}]", parts)]
    parts = [part for number, parts in shown.items() for part in _numbered_first(number, parts, len(groups))]
    return paint.labelled("cells", parts) if parts else []


def _numbered_first(number: int, parts: Sequence[str], groups: int) -> list[str]:
    return list(parts) if groups == 1 else [f"[{number}] {parts[0]}", *parts[1:]]
