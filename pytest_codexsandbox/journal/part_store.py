"""Part store: gives each value of a journal its part, and knows which parts are written.

Words and numbers that differ from line to line are arguments of the line, and leave holes in the parts."""

import hashlib
import re
import string
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from itertools import count
from typing import Any, Final

import msgspec

from pytest_codexsandbox.journal.references import CLOSE, ID, OPEN, TOKEN
from pytest_codexsandbox.model.redact import may_hold

MAP: Final = 8  # entries from which on two objects with the same names share what is equal in them
_SHORT: Final = 36  # bytes of a value that is no part: a reference has 20
_BASES: Final = 16  # objects with the same names that a later one is compared with

NUMBERS: Final = re.compile(rb'"(inode|ms|pid|seconds|device)":(-?[0-9][0-9.eE+-]*)')
_SHORTEST: Final = 4  # characters of a word that becomes an argument
_INSIDE: Final = frozenset(
    (b"", b"\\", OPEN.encode()[-1:], *(b"%c" % one for one in string.ascii_letters.encode() + b"0123456789"))
)
_NUL: Final = b"\\u0000"  # a whole escape, which parts the words of a command line in /proc
_NO_TEXT: Final = re.compile(rb"[0-9.eE+-]+|true|false|null")

# A member that is a long text, or a list of several texts. A quote inside a text is escaped.
_LONG: Final = re.compile(
    rb'(?<=[,{])"([a-z_]+)":("(?=(?:[^"\\]|\\.){60})[^"\\]*(?:\\.[^"\\]*)*"|\["[^"\\]*"(?:,"[^"\\]*"){3,}\])(?=[,}])'
)

Pieces = tuple[tuple[bool, bytes], ...]
"""A word in pieces: arguments (True), and text that stays in the part (False). Encoded, without quotes."""

encode: Final = msgspec.json.Encoder(enc_hook=repr).encode


def defaults_of(*kinds: type[msgspec.Struct]) -> re.Pattern[bytes]:
    """Returns a pattern of the members of these structs that have their default. Numbers that become arguments stay."""
    found: dict[str, set[bytes]] = {}
    for field in (field for kind in kinds for field in msgspec.structs.fields(kind)):
        if not NUMBERS.match(b'"%s":0' % field.name.encode()):
            found.setdefault(field.name, set()).add(encode(default(field)) if not field.required else b"")
    members = [
        b'"%s":%s' % (name.encode(), *held) for name, held in found.items() if len(held) == 1 and b"" not in held
    ]
    return re.compile(b",(?:" + b"|".join(map(re.escape, members)) + rb")(?=[,}])")


def default(field: msgspec.structs.FieldInfo) -> Any:
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


class Words:
    """Words that differ from call to call.

    A word counts where no letter, digit, backslash or bracket of a hole stands before it, or where a NUL does. So it
    never begins inside an escape of JSON. A word that could be a number of JSON is left alone.
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
            self.place((text,))
        return self._holes[text]

    def place(self, texts: Collection[bytes], written: bytes = b"") -> None:
        """Adds texts, each with its place. `written`: a reference to their list, which the line has instead."""
        for text in texts:
            place = len(self.numbers) + len(self._holes)
            # A text that is there twice leaves a place empty, so that others keep theirs.
            key = text if text not in self._holes else b"\0%d" % place
            self._holes[key] = b"%s%d%s" % (OPEN.encode(), place, CLOSE.encode())
        self._written += [written] if written else [b'"%s"' % text for text in texts]

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
            if before[-1:] in _INSIDE and (before or len(found) > 1) and not before.endswith(_NUL):
                found += [word, after]
            else:
                if not holes:
                    if new := dict.fromkeys(text for own, text in pieces if own and text not in self._holes):
                        self.place(new)
                    holes = b"".join(self._holes[text] if own else text for own, text in pieces)
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


class PartStore:
    """Every part of a journal so far."""

    def __init__(self) -> None:
        self._new: list[tuple[str, bytes]] = []  # parts of the line that is being packed
        self._referred: set[str] = set()  # ids of the parts that it names
        self._suspects: set[str] = set()  # ids of parts with a hint of a credential, in themselves or in their parts
        self._digests: dict[str, str] = {}  # id of a part → digest of its value
        self._known: dict[tuple[int, int, bytes], tuple[str, ...]] = {}  # table, place, value without numbers → parts
        self._apart: dict[bytes, str] = {}  # value → its part, of those that many parts refer to
        self._bases: dict[tuple[Any, ...], list[tuple[str, list[bytes]]]] = {}

    def part(self, value: bytes) -> str:
        """Returns the id of the part with this encoded value."""
        digest = hashlib.sha256(value).hexdigest()
        name = digest[:ID]
        while self._digests.get(name, digest) != digest:  # another value with the same first digits
            name = digest[: len(name) + ID]
        if name not in self._digests:
            self._digests[name] = digest
            self._new.append((name, value))
        self._referred.add(name)
        return name

    def done(self, line: bytes) -> tuple[list[bytes], bool]:
        """Ends a packed line. Returns its new parts as lines and then itself, and whether a credential may be in it."""
        lines = [*(b'{"line":"part","id":"%s","value":%s}' % (name.encode(), value) for name, value in self._new), line]
        hinted = may_hold(b"".join(lines))
        if hinted or self._suspects:
            self._suspects |= suspects_in(self._new, self._suspects)
            hinted = hinted or not self._suspects.isdisjoint(self._referred)
        self._new, self._referred = [], set()
        return lines, hinted

    def short(self, value: bytes) -> bytes:
        """Returns an encoded value, or a reference to it where that is shorter."""
        return value if len(value) <= _SHORT else refer(self.part(value))

    def shortened(self, value: bytes) -> bytes:
        """Returns an encoded object with a reference in place of each long text in it."""
        return _LONG.sub(lambda found: b'"%s":{"$":["%s"]}' % (found[1], self.part(found[2]).encode()), value)

    def apart(self, pattern: re.Pattern[bytes], value: bytes) -> bytes:
        """Returns an encoded value with a reference in place of each match, which is a value itself."""

        def reference(found: re.Match[bytes]) -> bytes:
            if (name := self._apart.get(found[0])) is None:
                name = self._apart[found[0]] = self.part(found[0])
            self._referred.add(name)
            return b'{"$":["%s"]}' % name.encode()

        return pattern.sub(reference, value)

    def parts(
        self, value: bytes, table: int, args: Arguments, smaller: Callable[[], bytes] | None = None
    ) -> tuple[str, ...]:
        """Returns the part of an encoded value, whose numbers become arguments.

        `smaller`: returns the same value in fewer bytes, with the same numbers or none. It is called once for each
        value.
        """
        known, start, key = self._look_up(value, table, args)
        if known is None:
            stored = value if smaller is None else smaller()
            known = self._known[key] = (self.part(*numbered([stored], table, start)),)
        self._referred.update(known)
        return known

    def map_parts(self, value: Mapping[str, Any], table: int, args: Arguments) -> tuple[str, ...]:
        """Returns the parts of an object: one of an earlier object with the same names, and one of what differs."""
        known, start, key = self._look_up(args.holed(encode(value)), table, args)
        if known is None:
            entries = [self.shortened(args.holed(encode({name: held})))[1:-1] for name, held in value.items()]
            known = self._known[key] = self._like(list(value), entries, table, start)
        self._referred.update(known)
        return known

    def _look_up(
        self, value: bytes, table: int, args: Arguments
    ) -> tuple[tuple[str, ...] | None, int, tuple[int, int, bytes]]:
        start, (bare, numbers) = len(args.numbers[table]), split(value)
        args.numbers[table] += numbers
        digest = hashlib.sha256(bare).digest()
        key = (table, start, digest) if numbers else (-1, 0, digest)
        return self._known.get(key), start, key

    def _like(self, names: list[str], entries: list[bytes], table: int, start: int) -> tuple[str, ...]:
        bare, places = [split(entry)[0] for entry in entries], _places(entries, start)
        bases = self._bases.setdefault((table, *names, *places), [])
        differing = [[place for place, one in enumerate(bare) if one != base[place]] for _, base in bases]
        best = min(range(len(bases)), key=lambda one: len(differing[one]), default=-1)
        if best >= 0 and len(differing[best]) * 3 <= len(entries):
            own = [numbered([entries[place]], table, places[place])[0] for place in differing[best]]
            return bases[best][0], self.part(b"{%s}" % b",".join(own))
        name = self.part(b"{%s}" % b",".join(numbered(entries, table, start)))
        if len(bases) < _BASES:
            bases.append((name, bare))
        return (name,)


def _places(entries: list[bytes], start: int) -> tuple[int, ...]:
    """Returns the place of the first number of each entry, and the place behind all."""
    places = [start]
    for entry in entries:
        places.append(places[-1] + len(split(entry)[1]))
    return tuple(places)


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


def refer(*names: str, args: bytes = b"") -> bytes:
    """Returns a reference to parts. `args`: an encoded list of texts that have no bracket."""
    among = b",".join(b'"%s"' % name.encode() for name in names)
    return b'{"$":[%s],"args":%s}' % (among, args) if args else b'{"$":[%s]}' % among


def suspects_in(parts: Iterable[tuple[str, bytes]], known: Set[str]) -> set[str]:
    """Returns the ids of those parts that have a hint of a credential, in themselves or in a part before them."""
    found: set[str] = set()
    for name, value in parts:
        named = [names[1:-1].decode().split('","') for names, *_ in TOKEN.findall(value) if names]
        if may_hold(value) or any(one in known or one in found for names in named for one in names):
            found.add(name)
    return found
