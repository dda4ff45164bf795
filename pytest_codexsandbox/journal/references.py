"""References of schema 2: how a line names values that an earlier line `part` holds, and how they are put back.

- `{"$": ["id", …]}` is the value of this part. Of several parts, lists are joined and objects merged: the last wins.
  With `"args": […]` beside it, its holes are filled from these in place of the line's own.
- `⟦3⟧` in a text of a part, or of a name, is the text `args[3]` of the line; `⟦cell⟧` is the line's own member `cell`.
- `{"#": [0, 5]}` is the number `args[0][5]` of the line.

Everything here works on encoded JSON. A quote inside a text is escaped there, so no text can look like a reference.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

ID: Final = 12  # hexadecimal digits of a part's id; more where another part has the same ones
OPEN, CLOSE = "⟦", "⟧"
AMBIGUOUS: Final = (OPEN.encode(), b'{"$":', b'{"#":')  # a line with one of these in its own data is written plain
_HOLE: Final = OPEN.encode() + rb"([0-9]+|[a-z_]+)" + CLOSE.encode()
_NAMES: Final = rb'\{"\$":\[("[0-9a-f]+"(?:,"[0-9a-f]+")*)\](?:,"args":(\[[^\]]*\]))?\}'
_NUMBER: Final = rb'\{"#":\[([0-9]+),([0-9]+)\]\}'
TOKEN: Final = re.compile(_NAMES + b"|" + _NUMBER + b"|" + _HOLE)
_HEAD: Final = re.compile(rb'\{"line":"part","id":"([0-9a-f]{%d,64})","value":' % ID)
_DIGITS: Final = 9  # of a place among the args
FLOOR: Final = 64 << 20  # bytes that the lines of the shortest file may be, with every part in place
RATIO: Final = 512  # and for each byte of the file so many more: a run of six releases needs 24, its last lines 42
LINE: Final = 1 << 30  # bytes for one line
PIECE: Final = 128  # bytes that each piece counts beside its own
Raw = Mapping[str, bytes]  # a line's members, encoded
Piece = Callable[["Scope"], bytes]


class Faulty(Exception):
    """A part or a reference that no run writes; the text says why."""


class TooLarge(Exception):
    """Lines with their parts in place are larger than any that a run writes; the text says why."""


def digest_of(value: bytes) -> str:
    return hashlib.sha256(value).hexdigest()


class Scope:
    """Values that fill the holes of one line."""

    def __init__(self, texts: dict[str, bytes], numbers: dict[str, tuple[bytes, ...]]) -> None:
        self.texts = texts  # hole → text, as it is written between two quotes
        self.numbers = numbers


class Parts:
    """Every part of a journal so far. `size`: bytes of the file, which limit how much its lines may become.

    Parts refer to parts, so that a short file can describe a huge one. Every byte that is put together counts, also
    where it is only a piece of the next one.
    """

    def __init__(self, size: int = 0) -> None:
        self._pieces: dict[str, tuple[bytes | Piece, ...]] = {}
        self._most = FLOOR + RATIO * size
        self._made = self._before = 0  # bytes so far, and up to the line before

    def add(self, line: bytes) -> None:
        """Takes the line of a part, without its sum. Raises Faulty for a value that does not fit its id."""
        head = _HEAD.match(line)
        if head is None:
            raise Faulty("a part has other members than line, id and value")
        name, value = head[1].decode(), line[head.end() : -1]
        if not digest_of(value).startswith(name):
            raise Faulty(f"the value of part {name} does not fit its id: {digest_of(value)[: len(name)]}")
        self._pieces[name] = self._compiled(value)

    def whole(self, line: bytes) -> bytes:
        """Returns a line with every reference replaced by its value. Raises Faulty for one that leads nowhere."""
        members: dict[str, Any] = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        if "plain" in members:
            return line
        self._before = self._made
        scope = self._scope(bytes(members.pop("args", b"[]")))
        if shared := members.pop("$", None):
            more = self._filled(b'{"$":%s}' % bytes(shared), scope)
            members = msgspec.json.decode(more, type=dict[str, msgspec.Raw]) | members
        for name, raw in members.items():
            members[name] = value = self._filled(bytes(raw), scope)
            if value[:1] == b'"':
                scope.texts[name] = value[1:-1]
        return self._put_together([b"{", *_named(members), b"}"])

    def _scope(self, args: bytes) -> Scope:
        scope = Scope({}, {})
        place = 0
        for raw in msgspec.json.decode(args, type=list[msgspec.Raw]):
            value = bytes(raw)
            if value[:1] == b"[":
                scope.numbers[str(place)] = tuple(value[1:-1].split(b","))
                place += 1
                continue
            texts = [value] if value[:1] == b'"' else _texts(self._filled(value, scope))
            scope.texts |= {str(place + further): text[1:-1] for further, text in enumerate(texts)}
            place += len(texts)
        return scope

    def _filled(self, value: bytes, scope: Scope) -> bytes:
        if b"{" not in value and AMBIGUOUS[0] not in value:
            return value
        return self._joined(self._compiled(value), scope)

    def _compiled(self, value: bytes) -> tuple[bytes | Piece, ...]:
        """Returns a value as literal pieces and as functions that give the rest. Parts without holes are literal."""
        pieces: list[bytes | Piece] = []
        end = 0
        for token in TOKEN.finditer(value):
            pieces += [value[end : token.start()], self._piece(token)]
            end = token.end()
        pieces.append(value[end:])
        return (self._put_together(pieces),) if all(isinstance(one, bytes) for one in pieces) else tuple(pieces)  # type: ignore[arg-type]

    def _piece(self, token: re.Match[bytes]) -> bytes | Piece:
        names, args, table, place, hole = token.groups()
        if names is not None:
            return self._reference(tuple(name.decode() for name in names[1:-1].split(b'","')), args)
        if table is None:
            return _text(hole.decode())
        if len(place) > _DIGITS:
            raise Faulty("it asks for a number that its args cannot have")
        return _number(table.decode(), int(place))

    def _reference(self, names: tuple[str, ...], args: bytes | None) -> bytes | Piece:
        try:
            parts = [self._pieces[name] for name in names]
        except KeyError as missing:
            raise Faulty(f"no line before it has the part {missing.args[0]}") from None
        if args is not None:
            own = self._scope(args)
            return self._merged([self._joined(part, own) for part in parts])
        if all(len(part) == 1 and isinstance(part[0], bytes) for part in parts):
            return self._merged([part[0] for part in parts])  # type: ignore[misc]
        return lambda scope: self._merged([self._joined(part, scope) for part in parts])

    def _joined(self, pieces: tuple[bytes | Piece, ...], scope: Scope) -> bytes:
        return self._put_together([one if isinstance(one, bytes) else one(scope) for one in pieces])

    def _merged(self, values: list[bytes]) -> bytes:
        if len(values) == 1:
            return values[0]
        kinds = {value[:1] for value in values}
        if kinds not in ({b"{"}, {b"["}):
            raise Faulty("a reference joins parts that are neither all lists nor all objects")
        # Of a member that is there twice, the last one counts.
        inner = [piece for value in values if len(value) > 2 for piece in (b",", value[1:-1])][1:]
        return self._put_together([values[0][:1], *inner, values[0][-1:]])

    def _put_together(self, pieces: list[bytes]) -> bytes:
        """Joins pieces, after a check that this is not too much: a piece without a byte takes time as well."""
        if len(pieces) == 1:  # it exists already
            return pieces[0]
        self._made += sum(map(len, pieces)) + PIECE * len(pieces)
        if self._made > self._most or self._made - self._before > LINE:
            raise TooLarge(f"its references describe more than {min(self._most, LINE) >> 20:,} MiB")
        return b"".join(pieces)


def _named(members: Mapping[str, bytes]) -> list[bytes]:
    return [
        piece
        for place, (name, value) in enumerate(members.items())
        for piece in (b',"' if place else b'"', name.encode(), b'":', value)
    ]


def _texts(value: bytes) -> list[bytes]:
    """Returns the encoded texts of a list that is among the args by reference."""
    return [bytes(raw) for raw in msgspec.json.decode(value, type=list[msgspec.Raw])]


@lru_cache(4096)  # few holes differ, and each new function is work for Python's garbage collection
def _number(table: str, place: int) -> Piece:
    def number(scope: Scope) -> bytes:
        found = scope.numbers.get(table, ())
        if place >= len(found):
            raise Faulty(f"its args have no number {table}, {place}")
        return found[place]

    return number


@lru_cache(4096)
def _text(hole: str) -> Piece:
    def text(scope: Scope) -> bytes:
        found = scope.texts.get(hole)
        if found is None and hole.isdigit():
            raise Faulty(f"its args have no text {hole}")
        return found or b""  # a member that is left out is empty

    return text
