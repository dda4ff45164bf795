"""Pairwise: few cells that hold every pair (or triple) of axis values: a covering array, only ever extended. Pure.

covertable makes the array deterministically. The coverage is counted here, and missing parts are added, so that no pair
is claimed on another program's word.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from pytest_codexsandbox.matrix.combinations import CombinationSpace, Row, Rule
from pytest_codexsandbox.model.coverage import AXES, Coverage, Part, parts

STRENGTHS: Final = (2, 3)


def cover(space: CombinationSpace, strength: int, *, kept: Iterable[Row] = ()) -> tuple[tuple[Row, ...], Coverage]:
    """Returns the valid rows of `kept`, and as few more as cover the rest, in the order of the values."""
    coverage, can = space.coverage(strength)
    rows = valid(space, kept)
    fixed = len(rows)
    if _missing(can, rows, strength):
        made = _array(space, strength, rows) if can else ()
        rows = list(dict.fromkeys([*rows, *valid(space, made)]))
    for part in _missing(can, rows, strength):
        if part in _missing((part,), rows, strength) and (row := space.completed(part)):
            rows.append(row)
    rows = _balanced(space, strength, rows, fixed=fixed)
    return tuple(sorted(rows, key=space.place)), coverage


def valid(space: CombinationSpace, rows: Iterable[Row]) -> list[Row]:
    """Returns the rows whose values are all requested and that break no rule, each once."""
    known = {axis: frozenset(values) for axis, values in space.values.items()}
    there = [
        row
        for row in dict.fromkeys(rows)
        if len(row) == len(AXES) and all(value in known[axis] for axis, value in zip(AXES, row, strict=True))
    ]
    return [row for row in there if not space.why_not(row)[1]]


def _missing(can: Sequence[Part], rows: Iterable[Row], strength: int) -> list[Part]:
    held = {part for row in rows for part in _parts(row, strength)}
    return [part for part in can if part not in held]


def _balanced(space: CombinationSpace, strength: int, rows: Sequence[Row], *, fixed: int) -> list[Row]:
    """Replaces values that no pair of a new row needs by the rarest one of their axis. Otherwise half of all cells
    would have the first value of each axis."""
    made = list(rows)
    held = Counter(part for row in made for part in _parts(row, strength))
    used = Counter((axis, value) for row in made for axis, value in zip(AXES, row, strict=True))
    there = set(made)
    for place in range(fixed, len(made)):
        for number, axis in enumerate(AXES):
            row = made[place]
            through = [part for part in _parts(row, strength) if (axis, row[number]) in part]
            if any(held[part] < 2 for part in through):
                continue
            for value in sorted(space.values[axis], key=lambda one: used[axis, one]):
                other = (*row[:number], value, *row[number + 1 :])
                if used[axis, value] + 1 >= used[axis, row[number]]:
                    break
                if other not in there and not space.why_not(other)[1]:
                    held.subtract(_parts(row, strength))
                    held.update(_parts(other, strength))
                    used.subtract({(axis, row[number]): 1})
                    used.update({(axis, value): 1})
                    there = (there - {row}) | {other}
                    made[place] = other
                    break
    return made


def _parts(row: Row, strength: int) -> tuple[Part, ...]:
    return tuple(parts(dict(zip(AXES, row, strict=True)), strength))


def _array(space: CombinationSpace, strength: int, kept: Sequence[Row]) -> list[Row]:
    from covertable import make_async  # dear to import, and most runs pick nothing

    presets = [dict(zip(AXES, row, strict=True)) for row in kept]
    factors = {axis: list(space.values[axis]) for axis in AXES}
    constraints = [_constraint(rule) for rule in space.rules]
    made = make_async(factors, strength=strength, presets=presets, constraints=constraints)
    return [tuple(row[axis] for axis in AXES) for row in made]


def _constraint(rule: Rule) -> dict[str, Any]:
    return {"operator": "fn", "requires": list(rule.axes), "evaluate": lambda row: not rule.broken(row)}
