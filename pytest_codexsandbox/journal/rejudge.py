"""Rejudge: derives every verdict of a journal anew, with the judge that judged during the run. Pure.

A result that contradicts its evidence, its calls or the plan is `broken`, with the number of its line. A result that an
earlier version wrote does not hold what the judge had: it stays as it is, and is named as `not re-judged`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

import msgspec

from pytest_codexsandbox.journal.known_deviations import KnownDeviations
from pytest_codexsandbox.journal.orphan_calls import Column, orphans
from pytest_codexsandbox.journal.record_checks import RecordChecks, rows_faults
from pytest_codexsandbox.journal.run_checks import end_faults, has_traces, plan_faults
from pytest_codexsandbox.model.ledger import START, Contradicted, ReadJournal, settle
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict

GREEN = (Verdict.CONFORMS, Verdict.UNCONFINED)
KEEPS_BASIS: Final = 2  # the first schema whose every result holds what the judge had
NO_BASIS: Final = "it lacks what the judge had, and each result of such a journal has it"


class LineNumbers(msgspec.Struct, kw_only=True):
    """Holds the numbers of the lines of a journal, counted from 1."""

    plan: int = 0
    end: int = 0
    records: list[int] = []  # in the order of ReadJournal.records
    calls: list[int] = []  # in the order of ReadJournal.calls


def rejudged(journal: ReadJournal, numbers: LineNumbers) -> ReadJournal:
    """Returns the journal with its verdicts judged again, and with every contradiction that was found."""
    return _Rejudge(journal, numbers).done()


def with_contradictions(journal: ReadJournal, found: Mapping[int, str]) -> ReadJournal:
    """Returns the journal with more broken results. `found`: place in `records` → what is wrong with it."""
    if not found:
        return journal
    records = list(journal.records)
    more = []
    for place, why in found.items():
        if not any(one.line == journal.lines[place] for one in journal.contradicted):
            more.append(Contradicted(line=journal.lines[place], why=why, key=records[place].key))
            records[place] = _broken(records[place], journal.lines[place], why)
    every = sorted((*journal.contradicted, *more), key=lambda one: one.line)
    return msgspec.structs.replace(journal, records=tuple(records), contradicted=tuple(every))


class _Rejudge:
    def __init__(self, journal: ReadJournal, numbers: LineNumbers) -> None:
        self._journal, self._numbers = journal, numbers
        self._found: list[Contradicted] = []
        self._wrong: dict[int, str] = {}  # place in `records` → the first contradiction
        self._unsure: set[Column] = set()  # columns with a call that no result names, after a crash
        self._checks = RecordChecks(journal)
        self._as_judged = [*map(self._plain, journal.records)]  # each record before known deviations
        self._states = settle(journal.plan.keys, journal.records, journal.plan.not_applicable)
        self._of_plan = [*plan_faults(journal, is_new=self._is_new)]
        known = () if self._of_plan else journal.plan.expectations  # those of a changed plan excuse nothing
        self._deviations = KnownDeviations(journal, self._judged_states(), known)

    def done(self) -> ReadJournal:
        journal, states = self._journal, self._states
        for place, record in enumerate(journal.records):
            self._take(place, next(self._contradictions(record, self._as_judged[place]), ""))
        self._attempts()
        self._blocked(states)
        if self._is_new and not self._of_plan:
            self._settled(states)
        for why in self._of_plan:
            self._found.append(Contradicted(line=self._numbers.plan, why=why))
        possible = dict(journal.plan.not_applicable)
        unwritten = [key for key, one in states.items() if not one.attempt]
        for key, why in self._checks.plan_faults(unwritten) if self._is_new else ():
            self._found.append(Contradicted(line=self._numbers.plan, why=why, key=key))
            possible.pop(str(key))
        for orphan in orphans(journal, states, self._checks.promises) if self._is_new else ():
            if orphan.unsure is not None:
                self._unsure.add(orphan.unsure)
            else:
                self._found.append(Contradicted(line=self._numbers.calls[orphan.place], why=orphan.why))
        if not self._wrong and not self._found:
            applied = self._deviations.applied if self._is_new else ()
            for why in end_faults(journal, states, applied):
                self._found.append(Contradicted(line=self._numbers.end, why=why))
        wrong = [
            Contradicted(line=self._numbers.records[place], why=why, key=journal.records[place].key)
            for place, why in self._wrong.items()
        ]
        plan = journal.plan
        if len(possible) != len(plan.not_applicable):  # a key that is neither ruled out nor written is broken
            plan = msgspec.structs.replace(plan, not_applicable=possible)
        return msgspec.structs.replace(
            journal,
            plan=plan,
            records=tuple(map(self._shown, range(len(journal.records)))),
            lines=tuple(self._numbers.records),
            contradicted=tuple(sorted((*wrong, *self._found), key=lambda one: one.line)),
            not_rejudged=tuple(key for key, one in states.items() if self._is_unsure(one)),
        )

    @cached_property
    def _is_new(self) -> bool:
        """Checks whether a version wrote the journal that keeps what the judge had. Each that writes schema 2 does."""
        journal = self._journal
        return (
            journal.run.schema >= KEEPS_BASIS
            or any(one.basis is not None for one in journal.records)
            or has_traces(journal)
        )

    def _is_unsure(self, record: Record) -> bool:
        if not record.attempt:  # without a result; the plan may rule it out
            return self._is_new and self._checks.is_plan_unsure(record.key)
        key = record.key
        lost = (key.cell, key.door, key.policy) in self._unsure
        return record.basis is None or lost or self._checks.is_unsure(record)

    def _take(self, place: int, why: str) -> None:
        if why:
            self._wrong.setdefault(place, why)

    def _plain(self, record: Record) -> Record | None:
        judged = self._checks.judged(record)
        if judged is None:
            return None
        now = (judged.verdict, judged.direction, judged.blocked_by, "")
        if now == (record.verdict, record.direction, record.blocked_by, record.deviation):
            return record
        return msgspec.structs.replace(
            record, verdict=judged.verdict, direction=judged.direction, blocked_by=judged.blocked_by, deviation=""
        )

    def _contradictions(self, record: Record, plain: Record | None) -> Iterator[str]:
        if record.basis is None:
            yield from (NO_BASIS,) if self._is_new else rows_faults(record)
            return
        if plain is None:
            yield "its record does not hold everything that the judge had"
            return
        yield from self._deviations.faults(record, plain)
        if record.blocked_by != plain.blocked_by:
            names = (one or "nothing" for one in (record.blocked_by, plain.blocked_by))
            yield "it is blocked by {}, and by its evidence it is by {}".format(*names)
        yield from self._checks.faults(record)

    def _attempts(self) -> None:
        """Checks that no attempt at a key is missing: the worst one counts."""
        places: dict[Key, list[int]] = defaultdict(list)
        for place, record in enumerate(self._journal.records):
            places[record.key].append(place)
        for found in places.values():
            attempts = {self._journal.records[place].attempt for place in found}
            if attempts != set(range(1, len(found) + 1)):
                self._take(found[0], "an attempt at its key is missing")

    def _blocked(self, states: Mapping[Key, Record]) -> None:
        """Checks that the promise that blocks a result is not green itself."""
        for place, record in enumerate(self._journal.records):
            if record.verdict is not Verdict.BLOCKED or record.basis is None:
                continue
            key = msgspec.structs.replace(record.key, promise=record.blocked_by)
            found = states.get(key) or states.get(msgspec.structs.replace(key, case=""))
            if found is not None and found.verdict in GREEN:
                self._take(place, f"it is blocked by {record.blocked_by}, which is {found.verdict.value}")
            elif found is None and record.blocked_by.startswith(f"{START}."):
                self._take(place, f"it is blocked by {record.blocked_by}, which was not planned there")

    def _settled(self, states: Mapping[Key, Record]) -> None:
        """Checks that the known deviations of the plan lead to the states of the journal."""
        if self._journal.end is None:
            return
        places = {(one.key, one.attempt): place for place, one in enumerate(self._journal.records)}
        for key, why in self._deviations.misapplied(states):
            self._take(places[key, states[key].attempt], why)

    def _judged_states(self) -> dict[Key, Record]:
        """Returns the states as the judge alone leaves them."""
        pairs = zip(self._journal.records, self._as_judged, strict=True)
        plain = {id(record): one for record, one in pairs if one is not None}
        return {key: plain.get(id(one), one) for key, one in self._states.items()}

    def _shown(self, place: int) -> Record:
        record = self._journal.records[place]
        why = self._wrong.get(place, "")
        return _broken(record, self._numbers.records[place], why) if why else record


def _broken(record: Record, line: int, why: str) -> Record:
    reason = f"line {line} of the journal contradicts itself: {why}"
    return msgspec.structs.replace(
        record,
        verdict=Verdict.BROKEN,
        direction="",
        reason=reason,
        evidence=(),
        diagnosis=None,
        deviation="",
        blocked_by="",
        repro="",
    )
