"""Stand-ins: cells that run in place of locked cells whose values this machine lacks. Pure.

A stand-in depends on its locked cell alone. A new value in the matrix file changes none of them. A longer lock file
changes one only if the new value could replace the missing one.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Final

from pytest_codexsandbox.matrix.combinations import UNAVAILABLE, CombinationSpace, Row
from pytest_codexsandbox.model.coverage import AXES

_MOST: Final = 3  # most values of one row that are replaced; pairwise.cover fills the gaps


def stand_ins(space: CombinationSpace, locked: Sequence[Row]) -> list[Row]:
    """Returns rows for each locked row that cannot run here. Together they hold every pair of it that can run."""
    rows = [row for row in locked if _is_asked_for(space, row)]
    known = {
        axis: tuple(value for value in space.values[axis] if any(row[place] == value for row in rows))
        for place, axis in enumerate(AXES)
    }
    lost = (row for row in rows if space.why_not(row)[0] == UNAVAILABLE)
    return list(dict.fromkeys(other for row in lost for other in _stand_ins_of(space, row, known)))


def _is_asked_for(space: CombinationSpace, row: Row) -> bool:
    return len(row) == len(AXES) and all(value in space.values[axis] for axis, value in zip(AXES, row, strict=True))


def _stand_ins_of(space: CombinationSpace, row: Row, known: Mapping[str, tuple[str, ...]]) -> list[Row]:
    """Returns one row for each smallest set of values whose replacement makes the row valid."""
    made: dict[tuple[int, ...], Row] = {}
    places = _blamed(space, row, known)
    for size in range(1, _MOST + 1):
        for chosen in combinations(places, size):
            if not any(set(chosen) >= set(smaller) for smaller in made):
                found = _best(space, row, chosen, known)
                made |= {chosen: found} if found else {}
    return list(made.values())


def _best(space: CombinationSpace, row: Row, places: Sequence[int], known: Mapping[str, tuple[str, ...]]) -> Row | None:
    """Chooses among the valid rows by a hash, so that the values spread independently of other rows."""
    valid = [other for other in _replaced(row, places, known) if not space.why_not(other)[1]]
    return max(valid, key=lambda other: (zlib.crc32("\0".join((*row, *other)).encode()), other), default=None)


def _blamed(space: CombinationSpace, row: Row, known: Mapping[str, tuple[str, ...]]) -> tuple[int, ...]:
    """Returns the places of the axes whose rules the row breaks, or breaks once one of them is replaced."""
    lacking = [rule for rule in space.rules if rule.kind == UNAVAILABLE]
    places: tuple[int, ...] = ()
    while True:
        rows = [dict(zip(AXES, other, strict=True)) for other in (row, *_replaced(row, places, known))]
        broken = {axis for rule in lacking if any(rule.broken(one) for one in rows) for axis in rule.axes}
        wider = tuple(place for place, axis in enumerate(AXES) if axis in broken)
        if wider == places:
            return places
        places = wider


def _replaced(row: Row, places: Sequence[int], known: Mapping[str, tuple[str, ...]]) -> Iterator[Row]:
    for values in product(*(known[AXES[place]] for place in places)):
        new = dict(zip(places, values, strict=True))
        yield tuple(new.get(place, value) for place, value in enumerate(row))
