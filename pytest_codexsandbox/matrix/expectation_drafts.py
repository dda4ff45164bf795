"""Expectation drafts: the fewest deviations that describe what a run saw, and nothing more. Pure.

A draft is a box: lists of environments, releases, policies, doors and cases. All measured combinations in it were
violated in one way. A box grows from one violation as long as no other measured result falls inside.
"""

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.matrix.expectation_files import LOST_CAPABILITY
from pytest_codexsandbox.model.journal_lines import CellRow
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import MEASURED, Verdict

DIMENSIONS: Final = ("environment", "codex", "policy", "door", "case")
Point = tuple[str, ...]  # of a key, in the order of DIMENSIONS
Box = tuple[frozenset[str], ...]
Way = tuple[str, str]  # direction, fingerprint


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    promise: str
    direction: str
    fingerprint: str
    where: dict[str, tuple[str, ...]]
    case: tuple[str, ...]  # empty: every case
    reason: str
    count: int  # number of violations that it covers


def drafts(
    states: Mapping[Key, Record],
    cells: Sequence[CellRow],
    *,
    again: frozenset[str] = frozenset(),
    taken: Iterable[str] = (),
) -> tuple[Draft, ...]:
    """Returns drafts for every unknown violation, and for those known by the deviations `again`. `taken`: ids in
    use."""
    rows = {cell.id: cell for cell in cells}
    names = _Names(taken)
    found: list[Draft] = []
    for promise, records in _by_promise(states).items():
        points = {_point(key, rows): record for key, record in records.items()}
        for way in sorted({_way(record) for record in points.values() if _wanted(record, again)}):
            for box, inside in _boxes(points, way, again):
                found.append(_draft(promise, way, box, points, inside, names))
    return tuple(found)


def _by_promise(states: Mapping[Key, Record]) -> dict[str, dict[Key, Record]]:
    grouped: dict[str, dict[Key, Record]] = defaultdict(dict)
    for key, record in states.items():
        grouped[key.promise][key] = record
    return grouped


def _point(key: Key, rows: Mapping[str, CellRow]) -> Point:
    cell = rows[key.cell]
    return (cell.axes.get("environment", cell.environment), cell.subject, key.policy, key.door, key.case)


def _way(record: Record) -> Way:
    return (record.direction, record.diagnosis.fingerprint if record.diagnosis else "")


def _wanted(record: Record, again: frozenset[str]) -> bool:
    if record.verdict is Verdict.VIOLATES:
        return _way(record)[1] != LOST_CAPABILITY
    return record.verdict is Verdict.EXPECTED and record.deviation in again


def _boxes(points: Mapping[Point, Record], way: Way, again: frozenset[str]) -> Iterator[tuple[Box, list[Point]]]:
    """Yields boxes greedily: the largest box that grows from any remaining violation, then the next."""
    left = sorted(point for point, one in points.items() if _wanted(one, again) and _way(one) == way)
    others = [point for point, one in points.items() if one.verdict in MEASURED and point not in set(left)]
    while left:
        grown = [_grow(seed, left, others) for seed in left[:64]]
        box = max(grown, key=lambda one: sum(_in(one, point) for point in left))
        inside = [point for point in left if _in(box, point)]
        yield box, inside
        left = [point for point in left if point not in set(inside)]


def _grow(seed: Point, wanted: Sequence[Point], others: Sequence[Point]) -> Box:
    box: Box = tuple(frozenset({value}) for value in seed)
    for point in wanted:
        larger = tuple(values | {value} for values, value in zip(box, point, strict=True))
        if not any(_in(larger, other) for other in others):
            box = larger
    return box


def _in(box: Box, point: Point) -> bool:
    return all(value in values for values, value in zip(box, point, strict=True))


def _draft(
    promise: str, way: Way, box: Box, points: Mapping[Point, Record], inside: Sequence[Point], names: "_Names"
) -> Draft:
    """Builds a draft. It always names environment and release; policy, door and case only if not all planned ones are
    meant."""
    planned = tuple(frozenset(values) for values in zip(*points, strict=True))
    said = {
        name: tuple(sorted(values))
        for name, values, every in zip(DIMENSIONS, box, planned, strict=True)
        if name in ("environment", "codex") or values != every
    }
    cases = said.pop("case", ())
    direction, fingerprint = way
    return Draft(
        id=names.fresh(promise),
        promise=promise,
        direction=direction,
        fingerprint=fingerprint,
        where=said,
        case=tuple(map(_literal, cases)),
        reason=_short(points[inside[0]].reason),
        count=len(inside),
    )


def _literal(case: str) -> str:
    """Returns a glob that matches this case alone."""
    return re.sub(r"([*?\[])", r"[\1]", case)


def _short(reason: str) -> str:
    """Returns a first line for the reason; people replace it."""
    return textwrap.shorten(reason, 120, placeholder=" …") or "not yet explained"


class _Names:
    """Ids of entries: the promise's id, with a number if it is taken."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)

    def fresh(self, promise: str) -> str:
        stem = promise.replace(".", "-")
        name, number = stem, 1
        while name in self._taken:
            number += 1
            name = f"{stem}-{number}"
        self._taken.add(name)
        return name
