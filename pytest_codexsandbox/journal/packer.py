"""Packer: writes each value of a journal once, as a part, and makes lines that refer to parts.

Values repeat except for a few words (the folder of a test world, its nonce) and numbers (inodes, milliseconds). These
become arguments of the line, and holes of the part. Pure: the journal's writer writes what the packer returns.
"""

import os
import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from pytest_codexsandbox.journal.part_store import (
    MAP,
    Arguments,
    PartStore,
    Pieces,
    Words,
    default,
    defaults_of,
    encode,
    refer,
)
from pytest_codexsandbox.journal.references import AMBIGUOUS, CLOSE, OPEN
from pytest_codexsandbox.model.journal_lines import CallLine, EndLine, Line, PlanLine, ResultLine, RunLine
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Basis, Diagnosis, Evidence, Record, RemedyHere, Started
from pytest_codexsandbox.model.redact import may_hold

_NAMESPACE: Final = re.compile(rb'(?<=[a-z]:\[)[0-9]{6,}(?=\]")')
_PORT: Final = re.compile(rb'(?<="HTTP":")[0-9]+(?=")|(?<="DNS":")[0-9]+(?=")')
_PORT_OF_PLAN: Final = re.compile(rb'(?<=\\"port\\":\\")[0-9]+(?=\\")')
_TABLES: Final = {"before": 0, "after": 1, "rows": 2, "readings": 3}  # members with numbers of their own
_OTHERS: Final = 4  # the table of all others
_GROUPS: Final = (  # members of an observation that change together; they join the rest where the first is empty
    *(("argv",), ("before",), ("after",), ("rows",), ("given",), ("readings",)),
    ("stdout", "stdout_sha256", "stdout_total"),
    ("stderr", "stderr_sha256", "stderr_total"),
    *(("arrivals",), ("survivors",), ("litter",)),
)
_LONG: Final = 256  # bytes of a member that does not share a part with others
_OF_KEY: Final = ("cell", "door", "policy", "promise", "case")
_OF_RECORD: Final = ("environment", "subject")
_HOLE_OF: Final = {name: f"{OPEN}{name}{CLOSE}" for name in (*_OF_KEY, *_OF_RECORD)}  # a member of the line → its hole
_SHARED: Final = ("cell", "door", "policy", *_OF_RECORD)  # members of a result that many results have alike
_SHOWN: Final = ("promise", "case", "attempt", "verdict", "direction", "diagnosis")  # members that its line has itself
_TEXTS: Final = rb'(?:[^{}"]|"[^"\\]*(?:\\.[^"\\]*)*"|\{"\$":\["[0-9a-f]+"\]\})*\}'  # the rest of an object of texts
# Members that most records have alike, and the rows of evidence, of which few differ from record to record.
_ALIKE: Final = re.compile(
    rb'(?:(?<="key":)|(?<="started":))\{' + _TEXTS + rb'|(?<="calls":)\["[^"\\]*"(?:,"[^"\\]*")*\]|\{"claim":' + _TEXTS
)
_RECORD: Final = defaults_of(Record, Key, Evidence, Diagnosis, RemedyHere, Basis, Started)


class Packer:
    """Packs the lines of one journal. They are to be written in order, all of them."""

    def __init__(self) -> None:
        self._store = PartStore()
        self._words: dict[str, dict[bytes, Pieces]] = {}  # id of a call → its words
        self._calls: dict[tuple[str, ...], Words] = {}  # ids of calls → the words of all

    def packed(self, line: Line, whole: bytes) -> tuple[list[bytes], bool]:
        """Returns the parts that no earlier line has and then the line, and whether it has a hint of a credential.

        `whole`: the line, encoded as it is.
        """
        if any(mark in whole for mark in AMBIGUOUS):
            return [whole[:-1] + b',"plain":true}'], may_hold(whole)
        match line:
            case RunLine() | EndLine():
                packed = whole
            case CallLine():
                packed = self._call(line)
            case ResultLine():
                packed = self._result(line)
            case PlanLine():
                packed = _object(line, {"keys": self._keys(line), "not_applicable": self._ruled_out(line)})
            case _:
                packed = self._other(line)
        return self._store.done(packed)

    # ---- calls
    def _call(self, line: CallLine) -> bytes:
        seen = line.observation
        words, own, common = _words_of(seen)
        self._words[line.id] = {word: pieces for word, pieces in words.items() if b"/" not in word}
        args = Arguments(_OTHERS + 1, Words(words))
        args.place(own)
        args.place(common, refer(self._store.part(b"[%s]" % b",".join(b'"%s"' % text for text in common))))
        apart = [group for group in _GROUPS if getattr(seen, group[0])]
        among = {name for group in apart for name in group}
        rest = tuple(name for name in seen.__struct_fields__ if name not in among)
        names = [name for group in (*apart, rest) for name in self._group(seen, group, args)]
        more = [
            b'"%s":%s' % (name.encode(), self._long(args.holed(encode(value))))
            for name, value in _set(line)
            if name not in ("id", "observation")
        ]
        shared = self._store.parts(b"{%s}" % b",".join(more), _OTHERS, args)
        return b'{"line":"call","id":%s,"observation":%s,"$":%s,"args":%s}' % (
            *(encode(line.id), refer(*names), refer(*shared)[5:-1], args.encoded()),
        )

    def _group(self, seen: Observation, group: tuple[str, ...], args: Arguments) -> tuple[str, ...]:
        """Returns the part of some members of an observation: an object."""
        members = [b'"%s":%s' % (name.encode(), self._seen(name, getattr(seen, name), args)) for name in group]
        return self._store.parts(b"{%s}" % b",".join(members), _TABLES.get(group[0], _OTHERS), args)

    def _seen(self, name: str, value: Any, args: Arguments) -> bytes:
        match name:
            case "argv" if value and value[-1].startswith("{"):  # the probe's plan: all calls of a battery have it
                words, plan = (args.holed(encode(one)) for one in (value[:-1], value[-1:]))
                return refer(self._store.part(words), self._store.part(args.replaced(_PORT_OF_PLAN, plan)))
            case "readings":
                return args.replaced(_NAMESPACE, args.holed(encode(value)))
            case "world":
                return args.replaced(_PORT, args.holed(encode(value)))
            case "before" | "after" | "rows" if len(value) >= MAP:
                return refer(*self._store.map_parts(value, _TABLES[name], args))
        return args.holed(encode(value))

    # ---- results
    def _result(self, line: ResultLine) -> bytes:
        record = line.record
        started = record.basis.started if record.basis is not None else None
        named = (*record.calls, *(row.call for row in record.evidence), started.call if started is not None else "")
        ids = dict.fromkeys(call for call in named if call)
        among = (line.door, line.policy, *ids)
        if (words := self._calls.get(among)) is None:
            words = self._calls[among] = Words(
                {word: held for call in ids for word, held in self._words_in(call, line).items()}
            )
        args = Arguments(1, words)
        # Each repro has a name of its own, and each worker its number.
        own = {name: text for name in ("repro", "worker") if (text := getattr(record, name))}
        record = replace(record, **{name: args.hole(_inner(text)).decode() for name, text in own.items()})
        record = _without_members_of(line, record)
        holed = args.holed(encode(record))
        names = self._store.parts(holed, 0, args, lambda: self._record(record, holed, args))
        more = b"{%s}" % b",".join(b'"%s":%s' % (name.encode(), encode(getattr(line, name))) for name in _SHARED)
        shown = [b',"%s":%s' % (name.encode(), encode(value)) for name, value in _set(line) if name in _SHOWN]
        return b'{"line":"result"%s,"record":%s,"$":%s,"args":%s}' % (
            *(b"".join(shown), refer(*names), refer(*self._store.parts(more, 0, args))[5:-1], args.encoded()),
        )

    def _words_in(self, call: str, line: ResultLine) -> dict[bytes, Pieces]:
        """Returns the words of a result's call."""
        known = self._words.get(call)
        if known is None:
            return {_inner(call): ((True, _inner(call)),)}
        start = f"{line.door}-{line.policy}-"
        if not call.startswith(start):
            return known
        shared = f"{_HOLE_OF['door']}-{_HOLE_OF['policy']}-".encode()
        return known | {_inner(call): ((False, shared), (True, _inner(call[len(start) :])))}

    def _record(self, record: Record, holed: bytes, args: Arguments) -> bytes:
        """Returns a record, encoded and with its holes, whose diagnosis is a part: many results share it, or only its
        remedies."""
        found = record.diagnosis
        if found is None:
            return self._bare(holed)
        long = {name: getattr(found, name) for name in ("ways", "remedies") if getattr(found, name)}
        held = b"".join(b',"%s":%s' % (name.encode(), self._short(value, args)) for name, value in long.items())
        own = self._bare(args.holed(encode(replace(found, ways=(), remedies=()))))
        own = self._store.short(own[:-1] + held + b"}")
        return self._bare(args.holed(encode(replace(record, diagnosis=None))))[:-1] + b',"diagnosis":%s}' % own

    def _bare(self, value: bytes) -> bytes:
        """Returns an encoded record or diagnosis without defaults and without what others have alike."""
        return self._store.apart(_ALIKE, self._store.shortened(_RECORD.sub(b"", value)))

    def _short(self, value: Any, args: Arguments) -> bytes:
        return self._store.short(args.holed(encode(value)))

    def _long(self, value: bytes) -> bytes:
        return value if len(value) < _LONG else refer(self._store.part(value))

    # ---- the plan
    def _keys(self, line: PlanLine) -> bytes:
        groups = groupby(line.keys, key=lambda key: key.cell)
        return self._by_cell([(cell, encode(list(keys))) for cell, keys in groups], b'{"cell":"%s",') or b"[]"

    def _ruled_out(self, line: PlanLine) -> bytes:
        cells = {str(key): key.cell for key in line.keys}
        groups = groupby(line.not_applicable.items(), key=lambda item: cells.get(item[0], ""))
        return self._by_cell([(cell, encode(dict(held))) for cell, held in groups], b" \xc2\xb7 %s \xc2\xb7 ") or b"{}"

    def _by_cell(self, groups: list[tuple[str, bytes]], around: bytes) -> bytes:
        """Returns a list, or an object, that has like items for each cell. The cell is a hole of what they share."""
        names = []
        for cell, held in groups:
            word, hole = cell.encode(), f"{OPEN}0{CLOSE}".encode()
            if cell and encode(cell) == b'"%s"' % word and b"]" not in word:
                shared = self._store.part(held.replace(around % word, around % hole))
                names.append(self._store.part(refer(shared, args=b'["%s"]' % word)))
            else:
                names.append(self._store.part(held))
        return refer(*names) if names else b""

    # ---- environments, subjects, case runs, claims
    def _other(self, line: Line) -> bytes:
        args = Arguments(1, Words({}))
        found = {}
        for name, value in _set(line):
            if name == "id" or not isinstance(value, str | dict | list | tuple | msgspec.Struct):
                continue
            if isinstance(value, dict) and len(value) >= MAP:
                found[name] = refer(*self._store.map_parts(value, 0, args))
            elif len(text := encode(value)) > len(refer(" " * 12)):
                found[name] = refer(*self._store.parts(text, 0, args))
        return _object(line, found, args)


def _object(line: Line, members: Mapping[str, bytes], args: Arguments | None = None) -> bytes:
    """Returns a line: these members in place of its own, and no member that has its default."""
    tag = line.__struct_config__
    own = [b'"%s":"%s"' % (str(tag.tag_field).encode(), str(tag.tag).encode())]
    own += [b'"%s":%s' % (name.encode(), members.get(name) or encode(value)) for name, value in _set(line)]
    filled = args.encoded() if args is not None else b""
    return b"{%s}" % b",".join([*own, b'"args":' + filled] if filled else own)


_FIELDS: Final[dict[type, list[tuple[str, Any]]]] = {}


def _set(line: Line) -> Iterator[tuple[str, Any]]:
    """Yields the members of a line that have another value than their default."""
    kind = type(line)
    if kind not in _FIELDS:
        _FIELDS[kind] = [(field.name, default(field)) for field in msgspec.structs.fields(kind)]
    for name, usual in _FIELDS[kind]:
        value = getattr(line, name)
        if type(value) is not type(usual) or value != usual:
            yield name, value


def _words_of(seen: Observation) -> tuple[dict[bytes, Pieces], list[bytes], list[bytes]]:
    """Returns the words of a call, and its first arguments: its own ones, and those that its environment's calls share.

    The words are the folder and the id of its world, and its nonce.
    """
    nonce, spaces = _inner(seen.nonce), [_inner(text) for text in _namespaces(seen)]
    world = seen.world
    if world is None:
        return {nonce: ((True, nonce),)}, [nonce, b""], [b"", b"", b"", b"", *spaces]
    above, name = os.path.split(world.folder)
    run = world.id.removesuffix(name)
    place, own, first = (True, _inner(above)), (True, _inner(name)), (True, _inner(run))
    words: dict[bytes, Pieces] = {
        place[1]: (place,),
        _inner(world.folder): (place, (False, b"/"), own),
        first[1]: (first,),
        _inner(world.id): (first, own) if run != world.id else (first,),
        nonce: ((True, nonce),),
    }
    ports = [_inner(world.values.get(port, "")) for port in ("HTTP", "DNS")]
    return words, [nonce, own[1]], [place[1], first[1], *ports, *spaces]


def _namespaces(seen: Observation) -> list[str]:
    """Returns the numbers of the agent's own namespaces: every call of an environment has the same."""
    found = [space.partition("[")[2].rstrip("]") for one in seen.readings for space in one.hand_namespaces.values()]
    return list(dict.fromkeys(found))


def _inner(text: str) -> bytes:
    return encode(text)[1:-1]


def _without_members_of(line: ResultLine, record: Record) -> Record:
    """Returns the record of a result, with a hole for each text that its line has as well."""
    key = {name: _HOLE_OF[name] for name in _OF_KEY if getattr(line, name) == getattr(record.key, name) != ""}
    own = {name: _HOLE_OF[name] for name in _OF_RECORD if getattr(line, name) == getattr(record, name) != ""}
    return replace(record, key=replace(record.key, **key), **own)
