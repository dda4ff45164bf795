"""Edits: changes of single places in a text: a value in place, a line below a header, a key in an inline table."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from pytest_codexsandbox.config_writer.managed_block import Marks
from pytest_codexsandbox.config_writer.request import VOIDING, WORKSPACE, Path, Value, as_key, as_toml
from pytest_codexsandbox.config_writer.toml_statements import KeyValue, NotToml, TomlStatement, comments_in, cut, inner

MISSING: Final = object()


class NoPlace(Exception):
    """A requested key cannot be changed where it is."""


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """Replaces the text between `begin` and `end` by `text`."""

    begin: int
    end: int
    text: str
    key: str = ""  # a key of the user's whose value is replaced
    notes: tuple[str, ...] = ()  # lines that note the old values


class Edits(msgspec.Struct, frozen=True, kw_only=True):
    edits: tuple[Edit, ...]
    left: dict[Path, Value]  # keys that are not in the user's text and go into the block


def edits(text: str, data: dict[str, Any], values: dict[Path, Value], marks: Marks, *, eol: str) -> Edits:
    """Plans the edits. `text` is the file without our own lines, `data` its parsed content."""
    pieces = cut(text)
    made: list[Edit] = []
    missing: dict[Path, Value] = {}
    for path, value in values.items():
        there = at(data, path)
        if there is MISSING:
            missing[path] = value
        elif not same(there, plain(value)):
            made.append(_replaced(text, pieces, path, value, there, marks, eol=eol))
    inside = {path[1]: value for path, value in missing.items() if path[0] == WORKSPACE}
    added = _added(text, pieces, inside, marks, eol=eol) if inside else None
    if added is None:
        return Edits(edits=tuple(made), left=missing)
    return Edits(edits=(*made, added), left={path: v for path, v in missing.items() if path[0] != WORKSPACE})


def set_aside(text: str, marks: Marks) -> tuple[Edit, ...]:
    """Turns statements that would void the policy into comments, unchanged."""
    return tuple(
        Edit(
            begin=piece.start,
            end=piece.stop,
            key=piece.pair.key[0],
            text="".join(marks.aside + line for line in text[piece.start : piece.stop].splitlines(keepends=True)),
        )
        for piece in cut(text)
        if piece.pair and not piece.table and piece.pair.key[0] in VOIDING
    )


def applied(text: str, changes: Iterable[Edit]) -> str:
    done: list[str] = []
    reached = 0
    for edit in sorted(changes, key=lambda edit: edit.begin):
        done += (text[reached : edit.begin], edit.text)
        reached = edit.end
    return "".join((*done, text[reached:]))


def at(data: dict[str, Any], path: Path) -> Any:
    """Returns the value at a path; MISSING if there is none."""
    here: Any = data
    for word in path:
        if not isinstance(here, dict) or word not in here:
            return MISSING
        here = here[word]
    return here


def line_end(text: str) -> str:
    """Returns the line end of the first line."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def plain(value: Value) -> Any:
    """Converts a value to the type that a parser returns."""
    return list(value) if isinstance(value, tuple) else value


def same(one: Any, other: Any) -> bool:
    """Checks for equal type and value; `nan` equals itself, and -0.0 differs from 0.0."""
    if type(one) is not type(other) or one is MISSING:
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return repr(one) == repr(other)


def _replaced(
    text: str, pieces: tuple[TomlStatement, ...], path: Path, value: Value, old: Any, marks: Marks, *, eol: str
) -> Edit:
    pair = _spot(text, pieces, path)
    was = text[pair.begin : pair.end]
    comments = comments_in(was)
    new = as_toml(value)
    if comments and not isinstance(value, tuple):
        raise NotToml(f"{'.'.join(path)} is not a value that Codex knows, and has comments in it")
    if comments:  # comments stay with their key
        head = new[:-1] + ("," if new != "[]" else "")
        new = head + "".join(f"{eol}  {comment}" for comment in comments) + f"{eol}]"
    key = as_key(path)
    note = f"{marks.was}{key} = {_on_one_line(was, old)}"
    return Edit(begin=pair.begin, end=pair.end, text=new, key=key, notes=(note,))


def _on_one_line(was: str, value: Any) -> str:
    if "\n" not in was:
        return was
    return as_toml(tuple(value)) if isinstance(value, list) and all(isinstance(v, str) for v in value) else repr(value)


def _spot(text: str, pieces: tuple[TomlStatement, ...], path: Path) -> KeyValue:
    """Finds a value: as a key of a table, in dotted keys, or in inline tables."""
    pairs = ((piece.table, piece.pair) for piece in pieces if piece.pair and not piece.array)
    found = next(filter(None, (_within(text, table, pair, path) for table, pair in pairs)), None)
    if found is None:
        raise NoPlace(f"{as_key(path)} is a table in this file, not a value")
    return found


def _within(text: str, table: Path, pair: KeyValue, path: Path) -> KeyValue | None:
    """Returns `pair`, or the pair at `path` in the braces of its value."""
    here = (*table, *pair.key)
    if here == path:
        return pair
    if path[: len(here)] != here or text[pair.begin] != "{":
        return None
    return next(filter(None, (_within(text, here, one, path) for one in inner(text, pair.begin))), None)


def _inline(text: str, pieces: tuple[TomlStatement, ...]) -> KeyValue:
    pairs = (piece.pair for piece in pieces if piece.pair and not piece.table)
    return next(pair for pair in pairs if pair.key == (WORKSPACE,) and text[pair.begin] == "{")


def _added(
    text: str, pieces: tuple[TomlStatement, ...], values: dict[str, Value], marks: Marks, *, eol: str
) -> Edit | None:
    """Adds keys to a table that the user has opened with a header or in braces. Returns None if there is no such
    table."""
    lines = [f"{name} = {as_toml(value)}" for name, value in values.items()]
    for piece in pieces:
        if piece.kind == "header" and piece.table == (WORKSPACE,):
            return _below(text, piece, [f"{line}  {marks.line}" for line in lines], eol=eol)
    try:
        begin = _inline(text, pieces).begin + 1
    except StopIteration:
        return None
    more = "," if inner(text, begin - 1) else " "
    notes = tuple(f"{marks.was}{WORKSPACE}.{name} = nothing" for name in values)
    return Edit(begin=begin, end=begin, text=f" {', '.join(lines)}{more}", notes=notes)


def _below(text: str, header: TomlStatement, lines: list[str], *, eol: str) -> Edit:
    joined = eol.join(lines)
    last = header.stop == len(text) and not text.endswith("\n")
    return Edit(begin=header.stop, end=header.stop, text=eol + joined if last else joined + eol)
