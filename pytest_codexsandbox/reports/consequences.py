"""Splits results that have one cause into those that show it and those that follow from it. Pure.

A check of the file shows where a key stands. What Codex then says and does follows from that.
"""

from collections.abc import Sequence
from typing import Final

from pytest_codexsandbox.model.policy import AS_ASKED
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import DIRECTIONS, Direction

_FOLLOWING_TOPICS: Final = ("effective",)
_FOLLOWING: Final = ("generator.config-loads",)


def follows(record: Record) -> bool:
    """Checks whether a result about a generator tells what Codex makes of its files."""
    promise = record.key.promise
    of_codex = promise in _FOLLOWING or promise.partition(".")[0] in _FOLLOWING_TOPICS
    return record.key.policy == AS_ASKED and of_codex


def split(records: Sequence[Record]) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
    """Returns the results that show a cause, and those that follow. All show it where no check of the file does."""
    direct = tuple(record for record in records if not follows(record))
    if not direct:
        return tuple(records), ()
    return direct, tuple(record for record in records if follows(record))


def worst(records: Sequence[Record]) -> Direction:
    return min((record.direction for record in records), key=severity)


def severity(direction: Direction) -> int:
    """Returns the place of a direction: 0 is the worst."""
    return DIRECTIONS.index(direction) if direction in DIRECTIONS else len(DIRECTIONS)
