"""Arguments of a journal line: words and numbers that differ from line to line, and the holes that they leave."""

import re
import string
from collections.abc import Iterable, Mapping
from itertools import count
from typing import Final

from pytest_codexsandbox.journal.references import CLOSE, OPEN

NUMBERS: Final = re.compile(rb'"(inode|ms|pid|seconds|device)":(-?[0-9][0-9.eE+-]*)')
_SHORTEST: Final = 4  # characters of a word that becomes an argument
_INSIDE: Final = frozenset(
    (b"", b"\\", OPEN.encode()[-1:], *(b"%c" % one for one in string.ascii_letters.encode() + b"0123456789"))
)
_NO_TEXT: Final = re.compile(rb"[0-9.eE+-]+|true|false|null")

Pieces = tuple[tuple[bool, bytes], ...]
"""A word in pieces: arguments (True), and text that stays in the part (False). Encoded, without quotes."""


class Words:
    """Words that differ from call to call.

    A word counts where no letter, digit, backslash or bracket of a hole stands before it. So it never begins inside an
    escape of JSON. A word that could be a number of JSON is left alone.
    """

    def __init__(self, pieces: Mapping[bytes, Pieces]) -> None:
        words = {word: held for word, held in pieces.items() if _is_word(word)}
        self.longest_first = tuple(sorted(words.items(), key=lambda item: -len(item[0])))


def _is_word(word: bytes) -> bool:
    return len(word) >= _SHORTEST and _NO_TEXT.fullmatch(word) is None


class Arguments:
    """Collects the arguments of one line: first its tables of numbers, then its texts, each once."""

    def __init__(self, tables: int, words: Words) -> None:
        self.numbers: list[list[bytes]] = [[] for _ in range(tables)]
        self._words = words
        self._holes: dict[bytes, bytes] = {}
        self._written: list[bytes] = []

    def hole(self, text: bytes) -> bytes:
        """Returns the hole of a text."""
        if text not in self._holes:
            self.place((text,), b'"%s"' % text)
        return self._holes[text]

    def place(self, texts: Iterable[bytes], written: bytes) -> None:
        """Adds texts, each with its place. `written`: how the line has them: a text, or a reference to a list."""
        for text in texts:
            place = len(self.numbers) + len(self._holes)
            # A text that is there twice leaves a place empty, so that others keep theirs.
            key = text if text not in self._holes else b"\0%d" % place
            self._holes[key] = b"%s%d%s" % (OPEN.encode(), place, CLOSE.encode())
        self._written.append(written)

    def holed(self, value: bytes) -> bytes:
        """Returns an encoded value with a hole for each word in it."""
        for word, pieces in self._words.longest_first:
            if word in value:
                value = self._replaced(word, pieces, value)
        return value

    def _replaced(self, word: bytes, pieces: Pieces, value: bytes) -> bytes:
        holes = b""
        first, *others = value.split(word)
        found, before = [first], first
        for after in others:
            if before[-1:] in _INSIDE and (before or len(found) > 1):
                found += [word, after]
            else:
                holes = holes or b"".join(self.hole(text) if own else text for own, text in pieces)
                found += [holes, after]
            before = after
        return b"".join(found)

    def replaced(self, pattern: re.Pattern[bytes], value: bytes) -> bytes:
        """Returns an encoded value with a hole for each match, which must be part of a text."""
        return pattern.sub(lambda found: self.hole(found[0]), value)

    def encoded(self) -> bytes:
        """Returns them as a list of JSON; b"" if there are none."""
        if not self._written and not any(self.numbers):
            return b""
        tables = [b"[%s]" % b",".join(table) for table in self.numbers]
        return b"[%s]" % b",".join([*tables, *self._written])


def split(value: bytes) -> tuple[bytes, list[bytes]]:
    """Returns an encoded value without its numbers, and the numbers."""
    pieces = NUMBERS.split(value)
    numbers = pieces[2::3]
    del pieces[2::3]
    return b"#".join(pieces), numbers


def numbered(values: Iterable[bytes], table: int, start: int) -> list[bytes]:
    """Returns encoded values with a hole for each number, counted through from `start`."""
    places = count(start)

    def hole(found: re.Match[bytes]) -> bytes:
        return b'"%s":{"#":[%d,%d]}' % (found[1], table, next(places))

    return [NUMBERS.sub(hole, value) for value in values]
