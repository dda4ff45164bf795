"""TOML lexer: splits a configuration into statements, and finds every comment with the statement it belongs to.

An exact lexer of TOML's lines that continues where a parser gives up: files that a generator has broken must still be
read.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Literal

import msgspec
import tomli

Place = Literal["above", "beside", "inside", "free"]

# In a value: strings and comments whole, brackets one by one, then characters without a meaning here. An unclosed
# multi-line string runs to the end, as for a parser; the quote of an unclosed one-line string is skipped.
_PART: Final = re.compile(
    r'(?P<string>"""(?:[^\\"]|\\.|"(?!""))*(?:"{3,5}|\Z)'
    r"|'''(?:[^']|'(?!''))*(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\r\n]|\\[^\r\n])*"|\'[^\'\r\n]*\')'
    r"|(?P<comment>#(?:[^\r\n]|\r(?!\n))*)|(?P<open>[\[{])|(?P<close>[\]}])|(?P<end>\r?\n)|[^\"'#\[\]{}\r\n]+|.",
    re.DOTALL,
)
_WORD: Final = r"""[ \t]*(?:"(?:[^"\\\r\n]|\\[^\r\n])*"|'[^'\r\n]*'|[^\s=."'\[\]#{},]+)[ \t]*"""
_PATH: Final = rf"{_WORD}(?:\.{_WORD})*"
_KEY: Final = re.compile(rf"(?P<path>{_PATH})=")
_HEADER: Final = re.compile(rf"[ \t]*(?P<open>\[\[?)(?P<path>{_PATH})\]\]?")
_BLANK: Final = re.compile(r"[ \t\ufeff]*(?P<comment>#(?:[^\r\n]|\r(?!\n))*)?(?P<end>\r?\n|\Z)")
_ONE: Final = re.compile(_WORD)


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    kind: Literal["key", "header", "broken"]
    path: tuple[str, ...]  # from the root; tables of an array have no numbers
    start: int
    end: int  # after the end of its last line
    value: tuple[int, int] = (0, 0)  # span of a key's value, with the rest of the line


class Comment(msgspec.Struct, frozen=True, kw_only=True):
    text: str  # with its #
    place: Place
    start: int
    statement: int  # number of the statement it belongs to, or of the next one; -1: none

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class Strings(msgspec.Struct, frozen=True):
    start: int
    end: int


class Document(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    statements: tuple[Statement, ...]
    comments: tuple[Comment, ...]
    strings: tuple[Strings, ...]

    def alone(self, comment: Comment) -> bool:
        """Checks whether a comment has a line of its own, outside every array."""
        return comment.place in ("above", "free")

    def at(self, offset: int) -> Statement | None:
        return next((one for one in self.statements if one.start <= offset < one.end), None)


def text_of(content: bytes) -> str:
    """Decodes also what is not UTF-8: `bytes_of` returns every byte."""
    return content.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def document(content: bytes) -> Document:
    return _document(text_of(content))


@lru_cache(maxsize=256)
def _document(text: str) -> Document:
    scanner = _Scanner(text)
    scanner.scan()
    return Document(
        text=text,
        statements=tuple(scanner.statements),
        comments=tuple(_placed(scanner)),
        strings=tuple(scanner.strings),
    )


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.table: tuple[str, ...] = ()
        self.statements: list[Statement] = []
        self.strings: list[Strings] = []
        self.found: list[tuple[str, int, int, Place]] = []  # comments: text, offset, statement, place
        self.blanks: set[int] = set()  # offsets of empty lines: a comment above one belongs to no statement

    def scan(self) -> None:
        at = 1 if self.text.startswith("\ufeff") else 0
        while at < len(self.text):
            blank = _BLANK.match(self.text, at)
            if blank is None:
                at = self._statement(at)
                continue
            if blank["comment"] is not None:
                self.found.append((blank["comment"], blank.start("comment"), len(self.statements), "above"))
            else:
                self.blanks.add(blank.start())
            at = max(blank.end(), at + 1)

    def _statement(self, at: int) -> int:
        header, key = _HEADER.match(self.text, at), _KEY.match(self.text, at)
        kind: Literal["key", "header", "broken"] = "header" if header else "key" if key else "broken"
        words = key_path((header or key)["path"]) if header or key else ()  # type: ignore[index]
        self.table = words if header else self.table
        begin = (header or key).end() if header or key else at  # type: ignore[union-attr]
        end = self._value(begin)
        path = words if header else (*self.table, *words)
        self.statements.append(Statement(kind=kind, path=path, start=at, end=end, value=(begin, end)))
        return end

    def _value(self, at: int) -> int:
        depth = 0
        for part in _PART.finditer(self.text, at):
            if part["string"] is not None:
                self.strings.append(Strings(part.start(), part.end()))
            elif part["comment"] is not None:
                place: Place = "inside" if depth else "beside"
                self.found.append((part["comment"], part.start(), len(self.statements), place))
            elif part["open"]:
                depth += 1
            elif part["close"]:
                depth = max(depth - 1, 0)
            elif part["end"] and not depth:
                return part.end()
        return len(self.text)


def _placed(scanner: _Scanner) -> Iterator[Comment]:
    for text, start, number, place in scanner.found:
        last = number >= len(scanner.statements)
        stop = len(scanner.text) if last else scanner.statements[number].start
        loose = place == "above" and (last or any(start < blank < stop for blank in scanner.blanks))
        yield Comment(text=text, place="free" if loose else place, start=start, statement=-1 if last else number)


def key_path(text: str) -> tuple[str, ...]:
    """Splits a dotted key: `a."b.c".'d'`."""
    return tuple(_word(found[0].strip(" \t")) for found in _ONE.finditer(text))


def _word(raw: str) -> str:
    if not raw.startswith(('"', "'")):
        return raw
    try:
        return str(tomli.loads(f"k = {raw}")["k"])
    except tomli.TOMLDecodeError:
        return raw[1:-1]


def without(content: bytes, start: int, end: int) -> bytes:
    text = text_of(content)
    return bytes_of(text[:start] + text[end:])
