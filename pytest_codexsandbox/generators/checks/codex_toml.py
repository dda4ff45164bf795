"""Codex TOML: reads a configuration as Codex does: TOML 1.1, at most one byte order mark at the start, 64-bit
integers."""

import codecs
import datetime
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec
import tomli

from pytest_codexsandbox.generators.checks.toml_lexer import Statement, bytes_of, document

Path = tuple[str, ...]
Value = tuple[str, Any]
"""A TOML value that can be compared: its type and its value. `1` and `1.0` differ, nan equals nan."""

_LINE = re.compile(r"line (?P<line>\d+)")
_PLACE = re.compile(r" \(at (?P<place>[^)]*)\)$")
_WORDS: Final = (
    (re.compile(r"Unterminated string|character '\\n'"), "unclosed-string"),
    (re.compile(r"Cannot overwrite"), "duplicate-key"),
    (re.compile(r"Cannot declare|Cannot mutate|Cannot redefine"), "duplicate-table"),
    (re.compile(r"[Ii](?:nvalid|llegal) character"), "control-character"),
    (re.compile(r"64 bits"), "number-too-large"),
)
_LARGEST: Final = 2**63


class ParsedConfig(msgspec.Struct, frozen=True, kw_only=True):
    data: dict[str, Any] = {}
    fault: str = ""  # the parser's message
    place: str = ""
    reason: str = ""  # one word for the fault

    @property
    def loads(self) -> bool:
        return not self.fault


@lru_cache(maxsize=512)
def read(content: bytes) -> ParsedConfig:
    try:
        text = content.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        return ParsedConfig(fault=f"not UTF-8: {error.reason} at byte {error.start}", reason="not-utf-8")
    try:
        return _whole(tomli.loads(text))
    except tomli.TOMLDecodeError as error:
        return _broken(text, str(error))
    except RecursionError:
        return ParsedConfig(fault="nested too deeply", reason="too-deep")


def _broken(text: str, message: str) -> ParsedConfig:
    found = _PLACE.search(message)
    place = found["place"] if found else ""
    words = message[: found.start()] if found else message
    named = next((word for pattern, word in _WORDS if pattern.search(words)), "does-not-parse")
    if re.search(r"^[ \t]*\ufeff", text, re.MULTILINE):
        # A second byte order mark, or one that text was put in front of: no key can begin with it.
        return ParsedConfig(fault=words, place=place, reason="bom-moved")
    if named in ("duplicate-key", "duplicate-table") and _is_inline(text, place):
        return ParsedConfig(fault=words, place=place, reason="extends-inline-table")
    return ParsedConfig(fault=words, place=place, reason=named)


def _is_inline(text: str, place: str) -> bool:
    """Checks whether the statement at that place extends a table that another one writes in braces, or the reverse."""
    here = at_fault(text, place)
    others = [one for one in document(bytes_of(text)).statements if one is not here]
    return here is not None and any(_extends(text, one, here) or _extends(text, here, one) for one in others)


def at_fault(text: str, place: str) -> Statement | None:
    """Returns the statement at the parser's position; the last one if the parser stopped at the end of the document."""
    named = _LINE.match(place)
    line = int(named["line"]) if named else text.count("\n") + 1
    offset = sum(len(one) + 1 for one in text.split("\n")[: line - 1])
    found = document(bytes_of(text))
    return found.at(offset) or (found.statements[-1] if found.statements and not named else None)


def _is_braced(text: str, statement: Statement) -> bool:
    return statement.kind == "key" and text[statement.value[0] : statement.value[1]].lstrip().startswith("{")


def _extends(text: str, braced: Statement, other: Statement) -> bool:
    """Checks for `a = {…}` together with `[a.b]` or `a.b = 1`. `[a]` with `a.b = {…}` extends no inline table."""
    depth = len(braced.path)
    return len(other.path) > depth and other.path[:depth] == braced.path and _is_braced(text, braced)


def _whole(data: dict[str, Any]) -> ParsedConfig:
    if any(kind == "int" and not -_LARGEST <= value < _LARGEST for kind, value in _atoms(data)):
        return ParsedConfig(fault="a whole number of more than 64 bits", reason="number-too-large")
    return ParsedConfig(data=data)


def _atoms(value: Any) -> Iterator[Value]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    if inner is None:
        yield (kind(value), value)
        return
    for one in inner:
        yield from _atoms(one)


def kind(value: Any) -> str:
    """Returns the TOML type. Tests `bool` before `int` and `datetime` before `date`, because they are subclasses."""
    types: tuple[tuple[type, str], ...] = (
        (bool, "bool"),
        (int, "int"),
        (float, "float"),
        (str, "string"),
        (datetime.datetime, "datetime"),
        (datetime.date, "date"),
        (datetime.time, "time"),
        (list, "array"),
        (dict, "table"),
    )
    return next(name for type_, name in types if isinstance(value, type_))


def comparable(value: Any) -> Value:
    named = kind(value)
    if isinstance(value, dict):
        return (named, tuple(sorted((key, comparable(one)) for key, one in value.items())))
    if isinstance(value, list):
        return (named, tuple(comparable(one) for one in value))
    return (named, value if isinstance(value, str) else repr(value))


def leaves(data: Mapping[str, Any], above: Path = ()) -> dict[Path, Any]:
    """Returns every key path with a value. Empty tables are values; an array, also one of tables, is one value."""
    found: dict[Path, Any] = {}
    for key, value in data.items():
        path = (*above, key)
        if isinstance(value, dict) and value:
            found |= leaves(value, path)
        else:
            found[path] = value
    return found


def everywhere(data: Any, above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yields every path with its value, including tables and the items of arrays (an item's key is its number)."""
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inner:
        path = (*above, str(key))
        yield path, value
        yield from everywhere(value, path)


def written(path: Path) -> str:
    """Returns a key path as TOML writes it."""
    return ".".join(key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else f'"{key}"' for key in path)
