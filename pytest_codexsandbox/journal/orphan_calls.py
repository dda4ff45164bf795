"""Orphan calls: calls of Codex that no result names, although every test that makes a call has a result. Pure.

An attempt that was taken out leaves its calls behind. These calls are excused:

- a test that was interrupted, or could not be set up, names no call: its key excuses those that it may have made;
- a promise that the environment rules out at run time has made its own call, and names none;
- a suite of another distribution may make calls that no result names, but none with acts of this program.

A worker that crashed may have taken the results of its calls with it. Another one makes the calls of the column again,
so the results of this column are unsure.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pytest_codexsandbox.journal.not_applicable import USER, is_of_sandbox
from pytest_codexsandbox.matrix.shipped_promises import declared
from pytest_codexsandbox.model import generator_suite
from pytest_codexsandbox.model.journal_lines import CallLine
from pytest_codexsandbox.model.ledger import HARNESS, START, ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.registry import doors

_BASE = "base"  # the prefix of acts that every call performs
Column = tuple[str, str, str]
"""A cell, a door and a policy."""


class Orphan(NamedTuple):
    """A call that no result names, by its place among the calls of a journal."""

    place: int
    why: str
    unsure: Column | None  # the column whose results are unsure, where a crash may have caused it


def orphans(journal: ReadJournal, states: Mapping[Key, Record], promises: Mapping[str, Promise]) -> Iterator[Orphan]:
    """Yields each such call of a run that ended by itself."""
    if journal.end is None:
        return
    named = _named(journal)
    unnamed = [
        (place, line) for place, line in enumerate(journal.calls) if not is_control(line) and line.id not in named
    ]
    if not unnamed:
        return
    foreign = {key.cell for key in journal.plan.keys if not _is_ours(promises.get(key.promise))}
    excuses = _Excuses(journal, states)
    for place, line in unnamed:
        if excuses.covers(line):
            continue
        if line.cell in foreign and not any(_is_known(name, promises) for name in _asked(line)):
            continue
        why = f"no result names the call {line.id}: the attempt that made it is missing"
        yield Orphan(place, why, _column(line) if _was_made_again(line, journal) else None)


def _column(line: CallLine) -> Column:
    return line.cell, line.observation.door, line.observation.policy


def _of_key(key: Key) -> Column:
    return key.cell, key.door, key.policy


def _excusing(line: CallLine) -> Column:
    """Returns the column whose tests may have made a call. A generator's files are measured through any door."""
    cell, door, policy = _column(line)
    return (cell, generator_suite.DOOR, policy) if policy == generator_suite.AS_ASKED else (cell, door, policy)


def _was_made_again(line: CallLine, journal: ReadJournal) -> bool:
    """Checks whether another worker made calls of the same column, as it does after a crash."""
    workers = {one.id: one.worker for one in journal.environments}
    here = workers.get(line.environment, "")
    return bool(here) and any(
        workers.get(other.environment, "") not in ("", here)
        for other in journal.calls
        if not other.control and _column(other) == _column(line)
    )


def is_control(line: CallLine) -> bool:
    """Checks whether a call is a control: it says so, and it went through no door of Codex."""
    traits = doors().get(line.observation.door)
    return line.control and (traits is None or traits.is_control)


def _named(journal: ReadJournal) -> set[str]:
    """Returns the calls that a result of their own column names. The state of a sandbox may name a battery that no
    result has left among its calls; if another result names one with the same acts, it is one too many."""
    lines = {line.id: line for line in journal.calls}
    named, started = set(), set()
    for record in journal.records:
        of = {*record.calls, *(row.call for row in record.evidence)}
        named |= {name for name in of if name in lines and _is_of(lines[name], record)}
        if record.basis is not None and record.basis.started is not None:
            name = record.basis.started.call
            started |= {name} if name in lines and _is_of(lines[name], record) else set()
    known = {_group(lines[name]) for name in named}
    return named | {name for name in started if _group(lines[name]) not in known}


def _is_of(line: CallLine, record: Record) -> bool:
    """Checks whether a call was made for the column of a result."""
    return _of_key(record.key) in (_column(line), _excusing(line))


def _group(line: CallLine) -> tuple[Column, frozenset[str]]:
    return _column(line), frozenset(_asked(line))


def _is_ours(promise: Promise | None) -> bool:
    return promise is not None and (is_of_sandbox(promise) or promise.suite == generator_suite.NAME)


def _is_known(name: str, promises: Mapping[str, Promise]) -> bool:
    """Checks whether a promise is one of this program, whatever the plan says about its suite."""
    return name == USER or name in declared() or _is_ours(promises.get(name))


class _Excuses:
    """Finds the calls whose test may have made them without naming them."""

    def __init__(self, journal: ReadJournal, states: Mapping[Key, Record]) -> None:
        self._untold: dict[Column, set[str]] = defaultdict(set)  # promises whose tests name no call
        self._ruled_out: dict[Column, set[str]] = defaultdict(set)  # promises that are n/a once their call was made
        planned = journal.plan.not_applicable
        for record in (*journal.records, *states.values()):
            key, how = record.key, record.basis.how if record.basis is not None else ""
            column, of_user = _of_key(key), key.promise.partition(".")[0] == USER
            # Set up, a user's test has made no call.
            if (not record.attempt and str(key) not in planned) or (how == "fault" and not of_user):
                self._untold[column].add(key.promise)
            elif how == "ruled-out" and str(key) not in planned and not of_user:
                self._ruled_out[column].add(key.promise)

    def covers(self, line: CallLine) -> bool:
        column, asked = _excusing(line), _asked(line)
        untold = self._untold.get(column, set())
        got_no_further = line.observation.ended == "lost"  # than its first acts
        if untold and (got_no_further or line.observation.policy == generator_suite.AS_ASKED):
            return True
        topics = {name.partition(".")[0] for name in untold}
        if untold and (not asked or topics & {START, HARNESS} or asked & {*untold, *topics & {USER}}):
            return True
        return any(_has_made(name, asked) for name in self._ruled_out.get(column, ()))


def _has_made(name: str, asked: set[str]) -> bool:
    """Checks whether these acts are the own call of a promise. Other results name the battery that promises share."""
    promise = declared().get(name)
    return promise is None or (promise.call is not None and (asked == {name} or not (asked or promise.acts)))


def _asked(line: CallLine) -> set[str]:
    """Returns the promises whose acts a call performs, as far as it got; `user` for a user's own command."""
    seen = line.observation
    acts = (*seen.rows, *(name.partition("|")[0] for name in seen.before))
    return {act.rpartition("/")[0] for act in acts} - {_BASE}
