"""Run checks: how the plan and the end of a journal contradict its other lines. Pure."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pytest_codexsandbox.journal import exit_code
from pytest_codexsandbox.journal.known_deviations import day_of
from pytest_codexsandbox.matrix.expectations import Applied
from pytest_codexsandbox.model.ledger import ReadJournal, count, never_written
from pytest_codexsandbox.model.plan_content import content_digest, plan_digest
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record

_SET_BACK: Final = datetime.timedelta(minutes=10)  # by which a clock is corrected during a run
STRICT: Final = "--codex-strict"
PLAN_CHANGED: Final = "the plan does not fit its digest"


def has_traces(journal: ReadJournal) -> bool:
    """Checks for members that came together with the basis of results. A version that writes one of them writes all."""
    plan = journal.plan
    rows = any(row.policies or row.cases or row.requires or row.asks or row.asked for row in plan.promises)
    found = plan.content or plan.expectations or rows or any(cell.release for cell in plan.cells)
    return bool(found) or (journal.end is not None and journal.end.others is not None)


def plan_faults(journal: ReadJournal, *, is_new: bool) -> Iterator[str]:
    plan = journal.plan
    if not is_new:
        return
    if content_digest(plan) != plan.content:
        yield PLAN_CHANGED
    elif plan_digest(plan.keys, {row.id: row.asks for row in plan.promises}) != plan.digest:
        yield f"{PLAN_CHANGED}: digest"
    for row in plan.cells:
        if row.as_version and row.release:
            yield f"only a build of yours may stand for {row.as_version}, and the plan has the release {row.release}"


def end_faults(journal: ReadJournal, states: Mapping[Key, Record], ways: Sequence[Applied]) -> Iterator[str]:
    """Yields how the last line differs from the results. `ways`: the results with known deviations, on each day on
    which the run may have ended; none in a journal of an earlier version."""
    end = journal.end
    if end is None:
        return
    if day_of(end.finished) is None or day_of(journal.run.started) is None:
        yield "the run has no time at which it began, or none at which it ended"
    elif _is_before(end.finished, journal.run.started):
        yield f"the run ended at {end.finished}, and began at {journal.run.started}"
    if STRICT in journal.run.invocation and not journal.run.strict:
        yield f"its command asks for {STRICT}, and the run says that it was not strict"
    found = count(states.values())
    differ = [f"{end.counts.get(word, 0):,} {word}, not {number:,}" for word, number in found.items()
              if end.counts.get(word, 0) != number]  # fmt: skip
    if differ:
        yield f"when the run ended it counted {', '.join(differ)}"
    if not ways:
        return
    others = end.others
    if others is None:
        yield "its end lacks reasons for the exit code that no other line holds"
        return
    missing = len(never_written(states))
    if missing != others.never_run:
        yield f"{missing:,} planned results are missing, and when the run ended {others.never_run:,} were"
    expected = [
        exit_code.of_run(
            journal.plan, way, others, leaks=end.leaks, environments=journal.environments, strict=journal.run.strict
        )
        for way in ways
    ]
    ended = end.exit, [_code(reason) for reason in end.reasons]
    if all(ended != (one.code, [_code(reason) for reason in one.reasons]) for one in expected):
        yield f"the run ended with exit code {end.exit}, and its results with {expected[0].code}"


def _is_before(one: str, other: str) -> bool:
    """Compares two times. A time without a zone is one in UTC. A clock may have been set back a little meanwhile."""
    first, second = (datetime.datetime.fromisoformat(text) for text in (one, other))
    utc = datetime.UTC
    return second.replace(tzinfo=second.tzinfo or utc) - first.replace(tzinfo=first.tzinfo or utc) > _SET_BACK


def _code(reason: str) -> str:
    return reason.partition(" ")[0]
