"""TOML statements: splits a document into statements, byte for byte: comments, headers and keys with their positions.

A parser returns what a file means, but no positions. Both are needed to change one value and leave every other byte
alone. This module decides nothing: a text that was edited by these positions is parsed again before it is written.
"""

import re
from collections.abc import Iterator
from typing import Final, Literal

import msgspec
import tomli

_WORD: Final = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_KEY: Final = re.compile(rf"{_WORD}(?:[ \t]*\.[ \t]*{_WORD})*")
_HEADER: Final = re.compile(rf"(\[\[?)[ \t]*({_KEY.pattern})[ \t]*(\]\]?)")
_EQUALS: Final = re.compile(r"[ \t]*=[ \t]*")
_REST: Final = re.compile(r"[ \t]*(#[^\n]*)?\r?(?:\n|\Z)")
_GAP: Final = re.compile(r"(?:[ \t\r\n,]+|#[^\n]*)*")
_COMMENT: Final = re.compile(r"#[^\n]*")
_STRING: Final = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})|' + r"'''.*?'''(?:'{0,2})|" + r'"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'", re.DOTALL
)
_BARE: Final = re.compile(r"[^,\]}#\n]+")
_SKIPPED: Final = re.compile(r"[^\[\]{}\"'#]+")
_CLOSER: Final = {"[": "]", "{": "}"}


class NotToml(Exception):
    """Raised if the text cannot be split: it is no TOML, or uses unknown syntax."""


class KeyValue(msgspec.Struct, frozen=True, kw_only=True):
    """`key = value`, with the start and end of the value's text."""

    key: tuple[str, ...]
    begin: int
    end: int


class TomlStatement(msgspec.Struct, frozen=True, kw_only=True):
    """Whole lines: `start` is the start of the first line, `stop` the position after the end of the last."""

    kind: Literal["blank", "comment", "header", "pair"]
    start: int
    stop: int
    table: tuple[str, ...]  # of the header above; for a header: its own
    pair: KeyValue | None = None
    comment: str = ""  # the comment after the statement, or the comment line itself, trimmed
    array: bool = False  # whether it is below a `[[…]]` header, or is one


def cut(text: str) -> tuple[TomlStatement, ...]:
    """Splits a text. Raises NotToml for a line of none of the four kinds. Line ends may be LF or CRLF."""
    return tuple(_pieces(text))


def inner(text: str, begin: int) -> tuple[KeyValue, ...]:
    """Returns the pairs of an inline table whose `{` is at `begin`."""
    found: list[KeyValue] = []
    at = _must(_GAP, text, begin + 1).end()
    while text[at : at + 1] != "}":
        pair = _pair(text, at)
        found.append(pair)
        at = _must(_GAP, text, pair.end).end()
    return tuple(found)


def comments_in(text: str) -> tuple[str, ...]:
    """Returns the comments inside a multi-line value."""
    found: list[str] = []
    at = 0
    while at < len(text):
        if text[at] == "#":
            found.append(_must(_COMMENT, text, at)[0].rstrip("\r"))
            at = _must(_COMMENT, text, at).end()
        else:
            at = _string_end(text, at) if text[at] in "\"'" else at + 1
    return tuple(found)


def _pieces(text: str) -> Iterator[TomlStatement]:
    table: tuple[str, ...] = ()
    at, array = 0, False
    while at < len(text):
        start = at
        while text[at : at + 1] in (" ", "\t"):
            at += 1
        pair, kind = None, _kind(text, at)
        if kind == "header":
            header = _must(_HEADER, text, at)
            table, array, at = _names(header[2]), header[1] == "[[", header.end()
        elif kind == "pair":
            pair = _pair(text, at)
            at = pair.end
        rest = _must(_REST, text, at)
        at = rest.end()
        yield TomlStatement(
            kind=kind,
            start=start,
            stop=at,
            table=table,
            pair=pair,
            comment=(rest[1] or "").rstrip("\r \t"),
            array=array,
        )


def _kind(text: str, at: int) -> Literal["blank", "comment", "header", "pair"]:
    if at >= len(text) or text[at] == "\n" or text.startswith("\r\n", at):
        return "blank"
    return "comment" if text[at] == "#" else "header" if text[at] == "[" else "pair"


def _pair(text: str, at: int) -> KeyValue:
    key = _must(_KEY, text, at)
    begin = _must(_EQUALS, text, key.end()).end()
    return KeyValue(key=_names(key[0]), begin=begin, end=_value_end(text, begin))


def _value_end(text: str, at: int) -> int:
    first = text[at : at + 1]
    if first in ("[", "{"):
        return _bracket_end(text, at)
    if first in ('"', "'"):
        return _string_end(text, at)
    bare = _must(_BARE, text, at)
    return at + len(bare[0].rstrip())


def _bracket_end(text: str, at: int) -> int:
    open_ones: list[str] = []
    while at < len(text):
        char = text[at]
        if char in _CLOSER:
            open_ones.append(_CLOSER[char])
        elif char in "]}":
            if open_ones.pop() != char:
                break
            if not open_ones:
                return at + 1
        elif char == "#":
            at = _must(_COMMENT, text, at).end()
            continue
        elif char in "\"'":
            at = _string_end(text, at)
            continue
        else:
            at = _must(_SKIPPED, text, at).end()
            continue
        at += 1
    raise NotToml("a bracket is not closed")


def _string_end(text: str, at: int) -> int:
    return _must(_STRING, text, at).end()


def _names(key: str) -> tuple[str, ...]:
    """Returns each word of a key without its quotes."""
    words = re.findall(_WORD, key)
    try:
        return tuple(next(iter(tomli.loads(f"{word} = 0"))) if word[0] in "\"'" else word for word in words)
    except tomli.TOMLDecodeError as problem:
        raise NotToml(f"{key!r}: {problem}") from None


def _must(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str]:
    found = pattern.match(text, at)
    if found is None:
        raise NotToml(f"line {text.count(chr(10), 0, at) + 1}: {text[at : at + 20]!r} is out of place")
    return found
