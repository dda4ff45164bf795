"""Bare tools on a terminal: environments in which a sandbox does not start; with -v all of them."""

from collections.abc import Mapping
from typing import Final

from pytest_codexsandbox.reports.bare_tools import (
    UNKNOWN,
    BareToolField,
    BareToolRow,
    Note,
    View,
    headings,
    numbered,
    token,
)
from pytest_codexsandbox.reports.headlines import plural, shortened_list
from pytest_codexsandbox.reports.terminal_style import Paint

_ROWS: Final = 16  # shown without -v
_FAILS: Final = 1  # last rank of a row in which a start fails
_NAMES: Final = 6


def block(view: View | None, paint: Paint, *, verbosity: int) -> list[str]:
    """Returns the table. Names come last, because they may be long."""
    if view is None:
        return []
    failing = [row for row in view.rows if row.rank <= _FAILS]
    rows = view.rows if verbosity else tuple(failing[:_ROWS])
    if not rows:
        return []
    numbers = numbered(rows)
    heads = [*headings(view), *(("Codex",) if view.sides else ())]
    table = [_tokens(row, numbers) for row in rows]
    widths = [max(len(cell) for cell in column) + 2 for column in zip(heads, *table, strict=True)]
    lines = ["", *paint.wrapped(_title(view))]
    head = f"   {_line(heads, widths)}".rstrip()
    lines += [paint.dim(head)] if len(head) <= paint.width else []
    for row, fields in zip(rows, table, strict=True):
        lines += _told(row, fields, widths, heads, paint, verbosity)
    for note, number in numbers.items():
        lines += paint.labelled(f"{number}", _note(note, verbosity))
    return [*lines, *_rest(view, rows, paint, verbosity)]


def _title(view: View) -> str:
    under = f"; then Codex under {', '.join(view.sides)}" if view.sides else ""
    return f"by itself: bubblewrap and unshare there without Codex (a number: below){under}"


def _tokens(row: BareToolRow, numbers: Mapping[Note, int]) -> list[str]:
    tried = [token(field, numbers) for field in row.tried]
    sides = [_side(side, numbers) for side in row.codex]
    if not sides:
        return tried
    return [*tried, sides[0] if len(set(sides)) == 1 else " ".join(sides)]


def _side(fields: tuple[BareToolField, ...], numbers: Mapping[Note, int]) -> str:
    return ",".join(token(field, numbers) for field in fields) or "-"


def _line(fields: list[str], widths: list[int]) -> str:
    return "".join(f"{field:<{width}}" for field, width in zip(fields, widths, strict=True))


def _told(
    row: BareToolRow, tokens: list[str], widths: list[int], heads: list[str], paint: Paint, verbosity: int
) -> list[str]:
    first = f"   {_line(tokens, widths)}"
    names = shortened_list(row.names, len(row.names) if verbosity else _NAMES)
    asked = [f"queried directly: {row.asked}"] if verbosity and row.asked else []
    if len(first) <= paint.width // 2:
        shown = paint.wrapped(names, indent=" " * len(first), first=first)
        indent = " " * len(first)
    else:  # the row is too wide for names beside it
        shown = [*paint.wrapped(names, indent="     ", first="   "), *_fields(tokens, first, heads, paint)]
        indent = "     "
    return [*shown, *(line for text in asked for line in paint.wrapped(text, indent=indent, first=indent))]


def _fields(tokens: list[str], line: str, heads: list[str], paint: Paint) -> list[str]:
    if len(line.rstrip()) <= paint.width:
        return [line.rstrip()]
    parts = [f"{head} {token}," for head, token in zip(heads, tokens, strict=True)]
    return paint.wrapped(parts, indent="     ", first="     ")


def _note(note: Note, verbosity: int) -> str:
    shown = f"{note.words} ({note.fingerprint or UNKNOWN})"
    return f"{shown}: {note.cause}" if verbosity and note.cause else shown


def _rest(view: View, rows: tuple[BareToolRow, ...], paint: Paint, verbosity: int) -> list[str]:
    shown = {name for row in rows for name in row.names}
    more = sum(name not in shown for row in view.rows for name in row.names)
    lines = paint.labelled("", f"and {plural(more, 'more environment')} (-v)") if more else []
    missing = f"{plural(len(view.untold), 'environment')} not measured: {shortened_list(view.untold)}"
    return [*lines, *(paint.labelled("", missing) if view.untold and verbosity else ())]
