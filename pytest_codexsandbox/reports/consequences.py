"""Consequences: splits results of one cause into those that show it and those that follow from it. Pure.

A check of the file shows where a key is. What Codex then reports and does follows from that.
"""

from collections.abc import Sequence

from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.suite_index import SuiteIndex
from pytest_codexsandbox.model.verdict import DIRECTIONS, Direction


def follows(record: Record, suites: SuiteIndex) -> bool:
    """Checks whether a result is a consequence of a fault, such as what Codex makes of a generator's file."""
    return suites.of(record.key).follows(record.key.promise)


def split(records: Sequence[Record], suites: SuiteIndex) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
    """Returns the results that show a cause, and those that follow. Without a check of the file, all of them show
    it."""
    direct = tuple(record for record in records if not follows(record, suites))
    if not direct:
        return tuple(records), ()
    return direct, tuple(record for record in records if follows(record, suites))


def worst(records: Sequence[Record]) -> Direction:
    return min((record.direction for record in records), key=severity)


def severity(direction: Direction) -> int:
    """Returns the rank of a direction: 0 is the worst."""
    return DIRECTIONS.index(direction) if direction in DIRECTIONS else len(DIRECTIONS)
