"""Ledger: a journal that has been read. Every planned key has a state, however the run ended. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from pytest_codexsandbox.model.bare_tools import BareToolResults
from pytest_codexsandbox.model.journal_lines import (
    CallLine,
    ClaimLine,
    EndLine,
    EnvironmentLine,
    PlanLine,
    RunLine,
    StoryLine,
    SubjectLine,
)
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import SANDBOXED, asks_for_sandbox
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import MEASURED, WORST_FIRST, Verdict

START: Final = "start"  # the topic that promises the sandbox itself
HARNESS: Final = "trust"  # what the canaries show is about the harness: it measures no Codex

STRICT_WORDS: Final = {
    Verdict.BLOCKED: "blocked",
    Verdict.UNCONFINED: "unconfined",
    Verdict.NOT_APPLICABLE: "n/a by probe",
}


class Contradicted(msgspec.Struct, frozen=True, kw_only=True):
    """One way in which a journal contradicts itself."""

    line: int
    why: str
    key: Key | None = None  # of the result that is broken by it


class ReadJournal(msgspec.Struct, frozen=True, kw_only=True):
    run: RunLine
    plan: PlanLine
    environments: tuple[EnvironmentLine, ...] = ()
    subjects: tuple[SubjectLine, ...] = ()
    calls: tuple[CallLine, ...] = ()
    stories: tuple[StoryLine, ...] = ()
    claims: tuple[ClaimLine, ...] = ()
    records: tuple[Record, ...] = ()  # every attempt, in the order written
    end: EndLine | None = None
    torn: str = ""  # what was wrong with the last line, when the run died while it wrote
    alone: dict[
        str, BareToolResults
    ] = {}  # EnvironmentSpec.id → what it is without Codex; no line: made of the facts (explain)
    lines: tuple[int, ...] = ()  # where each of `records` is, counted from 1; empty where no file was read
    contradicted: tuple[Contradicted, ...] = ()  # found when it was read (journal.rejudge)
    not_replayed: tuple[str, ...] = ()  # promises with rows that were not made again (harness.replay)
    not_rejudged: tuple[Key, ...] = ()  # results that lack what the judge had, or that need code that is not here
    own_deviations: tuple[str, ...] = ()  # known deviations of the plan that are not shipped with this program

    def states(self) -> dict[Key, Record]:
        """Returns one record for each planned key: the worst attempt; without any, n/a where data ruled the key out,
        else `broken`."""
        return settle(self.plan.keys, self.records, self.plan.not_applicable)

    def counts(self) -> dict[str, int]:
        return count(self.states().values())


def settle(
    planned: tuple[Key, ...], records: tuple[Record, ...], not_applicable: Mapping[str, str]
) -> dict[Key, Record]:
    """Returns one record for each planned key. `not_applicable`: str(key) → the reason, known before anything started.
    No interruption changes those."""
    worst: dict[Key, Record] = {}
    for record in records:
        known = worst.get(record.key)
        if known is None or WORST_FIRST.index(record.verdict) < WORST_FIRST.index(known.verdict):
            worst[record.key] = record
    return {key: worst.get(key) or never_run(key, not_applicable.get(str(key), "")) for key in planned}


def never_run(key: Key, ruled_out: str = "") -> Record:
    if ruled_out:
        return Record(key=key, verdict=Verdict.NOT_APPLICABLE, attempt=0, reason=ruled_out)
    return Record(
        key=key, verdict=Verdict.BROKEN, attempt=0, reason="planned, and the run ended before its result was written"
    )


def never_written(states: Mapping[Key, Record]) -> list[Key]:
    """Returns the planned keys that have no result, and that no data rules out."""
    return [key for key, one in states.items() if one.attempt == 0 and one.verdict is Verdict.BROKEN]


def count(records: Iterable[Record]) -> dict[str, int]:
    """Counts the records of each verdict. A verdict that does not occur has 0."""
    found = Counter(record.verdict.value for record in records)
    return {verdict.value: found.get(verdict.value, 0) for verdict in Verdict}


def measures(record: Record) -> bool:
    """Checks whether the record says something about Codex. A start that is known to fail is no news, and it blocks
    everything that needs a sandbox."""
    topic = _topic(record)
    known = topic == START and bool(record.deviation)
    return record.verdict in MEASURED and topic != HARNESS and not known


def measured_cells(records: Iterable[Record]) -> set[str]:
    """Returns the cells where something was measured. Where a start was requested, the start itself must be among it: a
    violation in another sandbox says nothing about this cell."""
    found: set[str] = set()
    asked: dict[str, bool] = {}
    for record in records:
        cell = record.key.cell
        if _topic(record) == START and record.verdict is not Verdict.UNCONFINED:
            asked[cell] = asked.get(cell, False) or measures(record)
        if measures(record):
            found.add(cell)
    return {cell for cell in found if asked.get(cell, True)}


def known_without_sandbox(records: Iterable[Record]) -> set[str]:
    """Returns the cells where every requested sandbox is refused, as is known and was seen again.

    Only refusals count. Where a command ran without its sandbox, or where the result is unknown, nothing is excused.
    """
    starts: dict[str, list[Record]] = {}
    for record in records:
        if _topic(record) == START and record.key.policy in SANDBOXED and record.verdict is not Verdict.NOT_APPLICABLE:
            starts.setdefault(record.key.cell, []).append(record)
    return {cell for cell, found in starts.items() if all(map(_known_refusal, found))}


def too_little(records: Mapping[Key, Record], from_data: Collection[str]) -> list[Key]:
    """Returns the results that a strict run does not accept: blocked, n/a by probe, and unconfined where the policy
    asks for a sandbox. `from_data`: str(key) of the keys that data ruled out."""
    return [key for key, one in records.items() if _is_too_little(one, from_data)]


def _is_too_little(record: Record, from_data: Collection[str]) -> bool:
    if record.verdict is Verdict.UNCONFINED:
        return asks_for_sandbox(record.key.policy)
    if record.verdict is Verdict.NOT_APPLICABLE:
        return str(record.key) not in from_data
    return record.verdict is Verdict.BLOCKED


def _known_refusal(record: Record) -> bool:
    return record.verdict is Verdict.EXPECTED and record.direction == "denied"


def _topic(record: Record) -> str:
    return record.key.promise.partition(".")[0]
