"""Bare tools: what bubblewrap and `unshare` reported in each environment without Codex, next to how Codex starts there.

Equal environments share one row. The output of a bare tool is no verdict. It has no sign and no colour of a verdict,
because nothing was promised about it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from pytest_codexsandbox.model.bare_tools import DIRECTLY, BareToolResults, ToolAttempt
from pytest_codexsandbox.model.ledger import START, ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import SANDBOXED
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import SIGNS, WORDS, Verdict
from pytest_codexsandbox.reports.grid import Column, environments_of, side_names
from pytest_codexsandbox.reports.html_matrix import CLASSES

OK: Final = "ok"
MISSING: Final = "-"
UNKNOWN: Final = "no fingerprint fits"
_HELD: Final = (Verdict.CONFORMS, Verdict.NOT_APPLICABLE, Verdict.UNCONFINED)
# If a Codex is unavailable or a call was lost, its start is unknown; a separate block says why.
_TELLS_NOTHING: Final = (*_HELD, Verdict.BROKEN)


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a program, with its fingerprint and cause."""

    words: str
    fingerprint: str
    cause: str


class _Notes:
    """Keeps each note once: bubblewrap and Codex often report the same."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Note] = {}

    def of(self, words: str, *, fingerprint: str, cause: str) -> Note:
        return self._kept.setdefault((words, fingerprint), Note(words=words, fingerprint=fingerprint, cause=cause))


class BareToolField(msgspec.Struct, frozen=True, kw_only=True):
    sign: str
    word: str
    style: str = ""
    note: Note | None = None


class BareToolRow(msgspec.Struct, frozen=True, kw_only=True):
    names: tuple[str, ...]
    tried: tuple[BareToolField, ...]
    codex: tuple[tuple[BareToolField, ...], ...]  # for each side; if releases differ, each distinct result once
    asked: str
    rank: int  # 0: a start is red, 1: a start is known to fail, 2: something is refused, 3: nothing is

    @property
    def notes(self) -> tuple[Note, ...]:
        fields = (*self.tried, *(field for side in self.codex for field in side))
        return tuple(dict.fromkeys(field.note for field in fields if field.note))


class View(msgspec.Struct, frozen=True, kw_only=True):
    columns: tuple[tuple[str, str], ...]  # name and command of each attempt
    sides: tuple[str, ...]  # of Codex
    rows: tuple[BareToolRow, ...]  # rows with a failing start first
    untold: tuple[str, ...]  # environments without data: not started, or their facts do not contain it


def view(journal: ReadJournal, states: Mapping[Key, Record]) -> View | None:
    """Returns the view; None if no environment has such data."""
    names = environments_of(journal.plan.cells)
    shown = {spec: journal.alone[spec] for spec in names if spec in journal.alone}
    if not shown:
        return None
    columns = {one.name: one.command for found in shown.values() for one in found.tried}
    starts = _starts(journal, states)
    sides = tuple(dict.fromkeys(side for found in starts.values() for side in found))
    synthetic = {cell.environment for cell in journal.plan.cells if cell.synthetic}  # these have rows of their own
    notes = _Notes()
    alike: dict[tuple[object, ...], list[BareToolRow]] = {}
    for spec, found in shown.items():
        theirs = [starts.get(spec, {}).get(side, []) for side in sides]
        row = _row(names[spec], found, tuple(columns), theirs, notes)
        alike.setdefault((spec in synthetic, row.tried, row.codex, row.asked), []).append(row)
    rows = [
        msgspec.structs.replace(same[0], names=tuple(name for row in same for name in row.names))
        for same in alike.values()
    ]
    return View(
        columns=tuple(columns.items()),
        sides=tuple(side_names(sides, journal.plan.suite_index()).values()),
        rows=tuple(sorted(rows, key=lambda row: row.rank)),
        untold=tuple(name for spec, name in names.items() if spec not in shown),
    )


def numbered(rows: Iterable[BareToolRow]) -> dict[Note, int]:
    """Numbers the notes of these rows, in the order in which the rows refer to them."""
    return {note: number for number, note in enumerate(dict.fromkeys(note for row in rows for note in row.notes), 1)}


def token(field: BareToolField, numbers: Mapping[Note, int]) -> str:
    """Returns `ok`, `3` (number of its message) or `-` (not there); for Codex `P`, `F3`, `x3`."""
    return f"{field.sign}{numbers[field.note] if field.note else ''}"


def headings(view: View) -> tuple[str, ...]:
    """Returns the column names, without a prefix that the column before has: `bwrap`, `-net`, `-proc`."""
    names = [name for name, _ in view.columns]
    return tuple(
        name.removeprefix(next((other for other in names[:place] if name.startswith(f"{other}-")), ""))
        for place, name in enumerate(names)
    )


def as_data(journal: ReadJournal, states: Mapping[Key, Record]) -> list[dict[str, Any]]:
    """Returns the data for programs: each environment once, without shared rows."""
    starts = _starts(journal, states)
    synthetic = {cell.environment for cell in journal.plan.cells if cell.synthetic}
    return [
        {
            "environment": spec,
            "synthetic": spec in synthetic,
            "tried": found.tried,
            "asked_directly": found.asked,
            "codex": [_as_data(record) for side in starts.get(spec, {}).values() for record in side],
        }
        for spec, found in journal.alone.items()
    ]


def _as_data(record: Record) -> dict[str, str]:
    key, diagnosis = record.key, record.diagnosis
    return {
        "cell": key.cell,
        "door": key.door,
        "policy": key.policy,
        "verdict": record.verdict.value,
        "deviation": record.deviation,
        "fingerprint": diagnosis.fingerprint if diagnosis else "",
        "said": diagnosis.quote if diagnosis and diagnosis.quote else record.reason,
    }


# ---- making
def _starts(journal: ReadJournal, states: Mapping[Key, Record]) -> dict[str, dict[Column, list[Record]]]:
    environments = {cell.id: cell.environment for cell in journal.plan.cells}
    found: dict[str, dict[Column, list[Record]]] = {}
    for key, record in states.items():
        if key.promise.partition(".")[0] == START and key.policy in SANDBOXED:
            found.setdefault(environments[key.cell], {}).setdefault(Column(key.door, key.policy), []).append(record)
    return found


def _row(
    name: str, found: BareToolResults, columns: Sequence[str], starts: Sequence[Sequence[Record]], notes: _Notes
) -> BareToolRow:
    tried = {one.name: one for one in found.tried}
    fields = tuple(_said(tried[column], notes) if column in tried else _nothing() for column in columns)
    codex = tuple(tuple(dict.fromkeys(_start(record, found, notes) for record in side)) for side in starts)
    every = [record for side in starts for record in side if record.verdict not in _TELLS_NOTHING]
    known = all(record.verdict is Verdict.EXPECTED for record in every)
    rank = (1 if known else 0) if every else (2 if any(field.note for field in fields) else 3)
    return BareToolRow(names=(name,), tried=fields, codex=codex, asked=found.asked.removeprefix(DIRECTLY), rank=rank)


def _nothing() -> BareToolField:
    return BareToolField(sign=MISSING, word="not there")


def _said(tried: ToolAttempt, notes: _Notes) -> BareToolField:
    if tried.held:
        return BareToolField(sign=OK, word="it worked")
    if not tried.said:
        return _nothing()
    note = notes.of(tried.quote or tried.said, fingerprint=tried.fingerprint, cause=tried.cause)
    return BareToolField(sign="", word="it was refused", note=note)


def _start(record: Record, found: BareToolResults, notes: _Notes) -> BareToolField:
    """Returns the field of a start of Codex. The cause leaves out what the row already shows for the environment."""
    sign, word, style = SIGNS[record.verdict], WORDS[record.verdict], CLASSES[record.verdict]
    diagnosis = record.diagnosis
    if record.verdict in _TELLS_NOTHING:
        return BareToolField(sign=sign, word=word, style=style)
    cause = diagnosis.cause if diagnosis else ""
    note = notes.of(
        (diagnosis.quote if diagnosis else "") or record.reason,
        fingerprint=diagnosis.fingerprint if diagnosis else "",
        cause=cause.removesuffix(f" {found.asked}") if found.asked else cause,
    )
    return BareToolField(sign=sign, word=word, style=style, note=note)
