"""Known deviations of a journal: applies them again, and finds results that they do not cover. Pure."""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from pytest_codexsandbox.matrix import expectations
from pytest_codexsandbox.matrix.expectations import Applied
from pytest_codexsandbox.matrix.where_clause import parse
from pytest_codexsandbox.model.deviation import Deviation
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record


class KnownDeviations:
    """Applies the deviations of a plan. `states`: the state of each key as the judge alone leaves it."""

    def __init__(self, journal: ReadJournal, states: Mapping[Key, Record], known: Sequence[Deviation]) -> None:
        self._journal, self._states, self._known = journal, states, known
        self._ids = {one.id for one in known}

    def faults(self, record: Record, plain: Record) -> Iterator[str]:
        """Yields how the verdict of a record differs from its evidence. `plain`: the record as the judge leaves it."""
        if not record.deviation:
            if (record.verdict, record.direction) != (plain.verdict, plain.direction):
                yield f"it says {_words(record)}, and its evidence says {_words(plain)}"
            return
        if record.deviation not in self._ids:
            yield f"it is {record.verdict.value} by {record.deviation}, which the journal's plan does not have"
        elif not any(_same(record, one.records[record.key]) for one in self._ways_of(plain)):
            yield f"it is {record.verdict.value} by {record.deviation}, which does not cover what its evidence shows"

    def misapplied(self, states: Mapping[Key, Record]) -> Iterator[tuple[Key, str]]:
        """Yields the keys whose state in the journal is not what all deviations of the plan lead to."""
        ways = [way.records for way in self.applied]
        for key, one in states.items():
            found = ways[0][key]
            if one.attempt and not any(_same(one, way[key]) for way in ways):
                by = f" by {found.deviation}" if found.deviation else ""
                yield key, f"it says {_words(one)}, and with the known deviations it is {_words(found)}{by}"

    @cached_property
    def applied(self) -> tuple[Applied, ...]:
        """Returns the states with known deviations, on each day on which the run may have ended."""
        return tuple(self._ways(self._states))

    def _ways_of(self, plain: Record) -> Iterable[Applied]:
        """Applies the deviations to one attempt, which may not be the one that counts."""
        return self.applied if self._states.get(plain.key) is plain else self._ways({plain.key: plain})

    def _ways(self, plain: Mapping[Key, Record]) -> Iterator[Applied]:
        """Applies the deviations on each day on which the run may have done so."""
        for today in self._days:
            yield expectations.apply(self._journal.plan, plain, self._known, versions=self._versions, today=today)

    @cached_property
    def _days(self) -> tuple[datetime.date, ...]:
        end = self._journal.end.finished if self._journal.end is not None else self._journal.run.started
        days = [day_of(text) for text in (end, self._journal.run.started)]
        return tuple(dict.fromkeys(day or datetime.date.max for day in days))

    @cached_property
    def _versions(self) -> dict[str, str]:
        measured = {line.label: line.version for line in self._journal.subjects}
        places = {
            cell.id: cell.as_version or measured.get(cell.subject, "") or cell.release
            for cell in self._journal.plan.cells
        }
        return {cell: place for cell, place in places.items() if parse(place) is not None}


def day_of(text: str) -> datetime.date | None:
    try:
        return datetime.datetime.fromisoformat(text).date()
    except ValueError:
        return None


def _same(one: Record, other: Record) -> bool:
    return (one.verdict, one.direction, one.deviation) == (other.verdict, other.direction, other.deviation)


def _words(record: Record) -> str:
    return record.verdict.value + (f" ({record.direction})" if record.direction else "")
