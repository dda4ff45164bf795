"""Orphan calls: calls of Codex that no result names, although every test that makes a call has a result. Pure.

An attempt that was taken out leaves its calls behind. A test that was interrupted, or could not be set up, names no
call: its key excuses those that it may have made. A suite of another distribution may make calls that no result names.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from pytest_codexsandbox.journal.not_applicable import USER, is_of_sandbox
from pytest_codexsandbox.model.journal_lines import CallLine
from pytest_codexsandbox.model.ledger import HARNESS, START, ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Record

_BASE = "base"  # the prefix of acts that every call performs
Column = tuple[str, str, str]
"""A cell, a door and a policy."""


def orphans(
    journal: ReadJournal, states: Mapping[Key, Record], promises: Mapping[str, Promise]
) -> Iterator[tuple[int, str]]:
    """Yields the place of each such call among the calls of a run that ended by itself, and what is wrong with it."""
    if journal.end is None:
        return
    named = set(_named(journal))
    unnamed = [(place, line) for place, line in enumerate(journal.calls) if not line.control and line.id not in named]
    if not unnamed:
        return
    others = {key.cell for key in journal.plan.keys if not _is_ours(promises.get(key.promise))}
    excuses = _excuses(journal, states)
    for place, line in unnamed:
        seen = line.observation
        column = (line.cell, seen.door, seen.policy)
        if line.cell not in others and seen.ended != "lost" and not _is_excused(line, excuses.get(column, set())):
            yield place, f"no result names the call {line.id}: the attempt that made it is missing"


def _named(journal: ReadJournal) -> Iterator[str]:
    for record in journal.records:
        yield from record.calls
        yield from (row.call for row in record.evidence)
        if record.basis is not None and record.basis.started is not None:
            yield record.basis.started.call


def _is_ours(promise: Promise | None) -> bool:
    return promise is not None and is_of_sandbox(promise)


def _excuses(journal: ReadJournal, states: Mapping[Key, Record]) -> dict[Column, set[str]]:
    """Returns the promises of each column whose tests may have made calls without naming them."""
    found: dict[Column, set[str]] = defaultdict(set)
    ruled_out = journal.plan.not_applicable
    for record in (*journal.records, *states.values()):
        key, how = record.key, record.basis.how if record.basis is not None else ""
        never_ran = not record.attempt and str(key) not in ruled_out
        unnamed = how == "fault" or (how == "ruled-out" and str(key) not in ruled_out)
        if never_ran or (unnamed and key.promise.partition(".")[0] != USER):  # set up, a user's test has made no call
            found[key.cell, key.door, key.policy].add(key.promise)
    return found


def _is_excused(line: CallLine, promises: set[str]) -> bool:
    """Checks whether one of these promises may have made the call: one of its acts, or one that every call performs."""
    topics = {name.partition(".")[0] for name in promises}
    asked = _asked(line)
    return bool(promises) and (
        not asked or bool(topics & {START, HARNESS}) or bool(asked & {*promises, *topics & {USER}})
    )


def _asked(line: CallLine) -> set[str]:
    """Returns the promises whose acts a call performs, as far as it got; `user` for a user's own command."""
    seen = line.observation
    acts = (*seen.rows, *(name.partition("|")[0] for name in seen.before))
    return {act.rpartition("/")[0] for act in acts} - {_BASE}
