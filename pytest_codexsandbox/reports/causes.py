"""Causes: groups the results that need attention by cause, so that each cause is reported once. Leaks come first."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.model.bwrap_used import BLOCKED_BY
from pytest_codexsandbox.model.journal_lines import CallLine
from pytest_codexsandbox.model.ledger import HARNESS, ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Diagnosis, Evidence, Record
from pytest_codexsandbox.model.suite_index import SuiteIndex
from pytest_codexsandbox.model.verdict import Direction, Verdict
from pytest_codexsandbox.reports.consequences import follows, severity, split, worst
from pytest_codexsandbox.reports.generator_tally import word_of
from pytest_codexsandbox.reports.headlines import plural
from pytest_codexsandbox.reports.merged_remedies import merged

_LOUD: Final = (Verdict.VIOLATES, Verdict.BROKEN, Verdict.STALE, Verdict.BLOCKED)
_MEASURED: Final = 4  # causes shown for one deviation
_QUIET: Final = (Verdict.EXPECTED, Verdict.NOT_APPLICABLE)


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """Results that have one cause. The first of `records` is shown in full."""

    verdict: Verdict
    direction: Direction
    records: tuple[Record, ...]
    suites: SuiteIndex
    starts: tuple[Record, ...] = ()  # for blocked results: the failed start checks that are reported with them
    blocker: Record | None = None  # for blocked results: a failed start check, also one that is reported separately

    @property
    def first(self) -> Record:
        return self.records[0]

    @property
    def diagnosis(self) -> Diagnosis | None:
        """Returns the diagnosis of the results, with the remedies as known for all their environments."""
        blocker = (self.blocker,) if self.blocker else ()
        every = [one.diagnosis for one in (*blocker, *self.starts, *self.records) if one.diagnosis]
        return merged(every) if every else None

    @property
    def measured(self) -> tuple[str, ...]:
        """Returns, for a known deviation, every cause that was found, with what the environment itself reported."""
        found = [record.diagnosis for record in self.records if record.deviation and record.diagnosis]
        shown = dict.fromkeys(f"{one.fingerprint}: {one.cause}" if one.fingerprint else one.cause for one in found)
        return tuple(shown)[:_MEASURED]

    @property
    def what_blocks(self) -> str:
        """Returns in a few words why nothing could be measured."""
        shown, _, _ = self.first.reason.partition(":")
        return shown if 0 < len(shown) < 60 else "the sandbox does not start"

    @property
    def promises(self) -> tuple[str, ...]:
        return promises_of(self.records)

    @property
    def direct(self) -> tuple[Record, ...]:
        """Returns the results that show the cause."""
        return split(self.records, self.suites)[0]

    @property
    def following(self) -> tuple[Record, ...]:
        """Returns the results that follow from it: what Codex makes of a file with this fault."""
        return split(self.records, self.suites)[1]

    @property
    def counted(self) -> str:
        """Returns the count, like `140 results`, and how many results follow from them."""
        more = f", {len(self.following):,} more follow" if self.following else ""
        return f"{plural(len(self.direct), 'result')}{more}"

    @property
    def cases(self) -> tuple[str, ...]:
        """Returns the cases that stand alone, such as the cases of the corpus of generators."""
        found = (one.key.case for one in self.records if one.key.case and self.suites.stands_alone(one.key))
        return tuple(dict.fromkeys(found))

    @property
    def word(self) -> str:
        """Returns the name that the check has for the fault; "" if it has none."""
        theirs = self.verdict is Verdict.VIOLATES and self.suites.of(self.first.key).names_faults
        return word_of(self.first) if theirs else ""

    @property
    def columns(self) -> tuple[tuple[str, str, str], ...]:
        """Returns (cell, door, policy) of every result."""
        return tuple(dict.fromkeys((record.key.cell, record.key.door, record.key.policy) for record in self.records))

    @property
    def evidence(self) -> Evidence | None:
        """Returns the row that decided: for a violation the first in its direction, else the first that was not
        held."""
        rows = self.first.evidence
        return self.first.deciding or next((row for row in rows if not row.held), rows[0] if rows else None)


def promises_of(records: Iterable[Record]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(record.key.promise for record in records))


def loud(states: Mapping[Key, Record], suites: SuiteIndex) -> list[Cause]:
    """Returns the causes that are red or prevented a measurement, worst first."""
    return _causes(states.values(), _LOUD, suites)


def quiet(states: Mapping[Key, Record], suites: SuiteIndex) -> list[Cause]:
    """Returns the grey causes: known deviations, and what does not apply."""
    return _causes(states.values(), _QUIET, suites)


def _causes(records: Iterable[Record], wanted: tuple[Verdict, ...], suites: SuiteIndex) -> list[Cause]:
    records = [record for record in records if record.verdict in wanted]
    blocks = _Blocks(records, suites)
    found: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        if not blocks.is_told_elsewhere(record):
            found.setdefault(_cause_of(record, blocks), []).append(record)
    causes = [
        Cause(
            verdict=members[0].verdict,
            direction=worst(members),
            records=tuple(_telling_first(members, suites)),
            suites=suites,
            starts=blocks.starts_of(members),
            blocker=blocks.of(members[0]),
        )
        for members in found.values()
    ]
    order = {verdict: place for place, verdict in enumerate(wanted)}
    return sorted(causes, key=lambda cause: (*_place(cause, order), -len(cause.cases)))


def _place(cause: Cause, order: Mapping[Verdict, int]) -> tuple[int, int]:
    """Returns the sort order. A broken harness comes first: if it is wrong, no other result counts."""
    if cause.verdict is Verdict.BROKEN and cause.first.key.promise.partition(".")[0] == HARNESS:
        return (-1, 0)
    return (order[cause.verdict], severity(cause.direction))


def _telling_first(records: list[Record], suites: SuiteIndex) -> list[Record]:
    """Sorts the results of one cause: those that show it first, and of these the ones with a diff."""
    return sorted(records, key=lambda one: (follows(one, suites), not (one.deciding and one.deciding.diff)))


class _Blocks:
    """Finds the result that blocked others: a start check, or a check of the same case."""

    def __init__(self, records: Sequence[Record], suites: SuiteIndex) -> None:
        self.suites = suites
        wanted = {self._place(one, one.blocked_by) for one in records if one.verdict is Verdict.BLOCKED}
        keyed = {self._place(one, one.key.promise): one for one in records}
        self._found = {place: one for place, one in keyed.items() if place in wanted}
        # A leak is reported separately. So is a result that blocks its own case alone, such as a file that does not
        # load.
        self._starts = {
            place: one
            for place, one in self._found.items()
            if one.direction != "leak" and not suites.stands_alone(one.key)
        }

    def of(self, record: Record) -> Record | None:
        return self._found.get(self._place(record, record.blocked_by))

    def is_told_elsewhere(self, record: Record) -> bool:
        """Checks whether a result is a start check that is reported with the results it blocked."""
        return self._place(record, record.key.promise) in self._starts

    def starts_of(self, members: Iterable[Record]) -> tuple[Record, ...]:
        wanted = dict.fromkeys(self._place(one, one.blocked_by) for one in members if one.blocked_by)
        return tuple(self._starts[place] for place in wanted if place in self._starts)

    def _place(self, record: Record, promise: str) -> tuple[str, ...]:
        """Returns the key by which blocked results find their blocker: one start, or one case that stands alone."""
        key = record.key
        return promise, key.cell, key.door, key.policy, key.case if self.suites.stands_alone(key) else ""


def _cause_of(record: Record, blocks: _Blocks) -> tuple[str, ...]:
    """Returns the values that two results of one cause share. A blocked result has the cause of the start check."""
    source = blocks.of(record) or record
    diagnosis = source.diagnosis
    shown = (diagnosis.fingerprint, diagnosis.cause) if diagnosis and diagnosis.fingerprint else None
    match record.verdict:
        case Verdict.VIOLATES:
            return ("violates", _apart(record, blocks.suites, shown is not None), *(shown or ("", record.key.promise)))
        case Verdict.BLOCKED if record.blocked_by == BLOCKED_BY:
            return ("blocked", record.reason.partition(" (sha256")[0])  # requested and used bubblewrap
        case Verdict.BLOCKED:
            return ("blocked", *(shown or ("", source.reason)))
        case Verdict.EXPECTED | Verdict.STALE:
            return (record.verdict.value, record.deviation, record.reason if not record.deviation else "")
        case _:
            return (record.verdict.value, record.reason)


def _apart(record: Record, suites: SuiteIndex, known: bool) -> str:
    """Returns what separates results with the same known fault: "" if they belong together. A leak is always
    separate."""
    together = known and suites.of(record.key).names_faults and record.direction != "leak"
    return "" if together else record.direction


class Calls:
    """Finds the call that a result is about."""

    def __init__(self, journal: ReadJournal) -> None:
        self._calls = {call.id: call for call in journal.calls}

    def of(self, record: Record) -> CallLine | None:
        row = next((row for row in record.evidence if not row.held and row.call), None)
        for name in ([row.call] if row else []) + list(record.calls):
            if name in self._calls:
                return self._calls[name]
        return None

    def all_of(self, record: Record) -> list[CallLine]:
        names = dict.fromkeys([*record.calls, *(row.call for row in record.evidence)])
        return [self._calls[name] for name in names if name in self._calls]
