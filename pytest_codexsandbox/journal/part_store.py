"""Part store: gives each value of a journal its part, and knows which parts are written."""

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from pytest_codexsandbox.journal.arguments import NUMBERS, Arguments, numbered, split
from pytest_codexsandbox.journal.references import ID, digest_of, names_in, part_line, refer
from pytest_codexsandbox.model.redact import may_hold

MAP: Final = 8  # entries from which on two objects with the same names share what is equal in them
_SHORT: Final = 36  # bytes of a value that is no part: a reference has 20
_BASES: Final = 16  # objects with the same names that a later one is compared with

# A member that is a long text, or a list of several texts. A quote inside a text is escaped.
_LONG: Final = re.compile(
    rb'(?<=[,{])"([a-z_]+)":("(?=[^"]{60})[^"\\]*(?:\\.[^"\\]*)*"|\["[^"\\]*"(?:,"[^"\\]*"){3,}\])(?=[,}])'
)

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


class PartStore:
    """Every part of a journal so far."""

    def __init__(self) -> None:
        self._new: list[tuple[str, bytes]] = []  # parts of the line that is being packed
        self._hinted = False  # whether it refers to a suspect
        self._suspects: set[str] = set()  # ids of parts with a hint of a credential, in themselves or in their parts
        self._digests: dict[str, str] = {}  # id of a part → digest of its value
        self._known: dict[tuple[int, int, bytes], tuple[str, ...]] = {}  # table, place, value without numbers → parts
        self._bases: dict[tuple[Any, ...], list[tuple[str, list[bytes]]]] = {}

    def part(self, value: bytes) -> str:
        """Returns the id of the part with this encoded value."""
        digest = digest_of(value)
        name = digest[:ID]
        while self._digests.get(name, digest) != digest:  # another value with the same first digits
            name = digest[: len(name) + ID]
        if name not in self._digests:
            self._digests[name] = digest
            self._new.append((name, value))
        return self._noted((name,))[0]

    def _noted(self, names: tuple[str, ...]) -> tuple[str, ...]:
        if self._suspects and not self._suspects.isdisjoint(names):
            self._hinted = True
        return names

    def done(self, line: bytes) -> tuple[list[bytes], bool]:
        """Ends a packed line. Returns its new parts as lines and then itself, and whether a credential may be in it."""
        new, self._new = self._new, []
        lines = [*(part_line(name, value) for name, value in new), line]
        hinted, self._hinted = self._hinted, False
        if may_hold(b"".join(lines)):
            hinted = True
            for name, value in new:
                if may_hold(value) or not self._suspects.isdisjoint(names_in(value)):
                    self._suspects.add(name)
        elif self._suspects:
            self._suspects |= {name for name, value in new if not self._suspects.isdisjoint(names_in(value))}
        return lines, hinted

    def short(self, value: bytes) -> bytes:
        """Returns an encoded value, or a reference to it where that is shorter."""
        return value if len(value) <= _SHORT else refer(self.part(value))

    def shortened(self, value: bytes) -> bytes:
        """Returns an encoded object with a reference in place of each long text in it."""
        return _LONG.sub(lambda found: b'"%s":%s' % (found[1], refer(self.part(found[2]))), value)

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
        return self._noted(known)

    def map_parts(self, value: Mapping[str, Any], table: int, args: Arguments) -> tuple[str, ...]:
        """Returns the parts of an object: one of an earlier object with the same names, and one of what differs."""
        known, start, key = self._look_up(args.holed(encode(value)), table, args)
        if known is None:
            entries = [self.shortened(args.holed(encode({name: held})))[1:-1] for name, held in value.items()]
            known = self._known[key] = self._like(list(value), entries, table, start)
        return self._noted(known)

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
