"""Combinations: the combinations of axis values that can be cells, because they break no rule. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Final

import msgspec

from pytest_codexsandbox.model.coverage import AXES, Coverage, Part, Uncoverable

Row = tuple[str, ...]  # one value for each of AXES
EXCLUDED: Final = "excluded"
IMPOSSIBLE: Final = "impossible"
UNAVAILABLE: Final = "unavailable"


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A reason why a combination is no cell. It is evaluated as soon as these axes have values."""

    axes: tuple[str, ...]
    kind: str
    broken: Callable[[Mapping[str, str]], str]  # returns the reason, or ""


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """Values that cannot be combined (or one value that is unavailable), as data that can be sent to workers."""

    values: dict[str, str]
    why: str


class CombinationSpace(msgspec.Struct, frozen=True, kw_only=True):
    values: dict[str, tuple[str, ...]]  # by axis, in the order of AXES
    rules: tuple[Rule, ...] = ()

    def why_not(self, row: Row) -> tuple[str, str]:
        """Returns (kind, reason) of the first rule that the row breaks; ("", "") if it breaks none."""
        return self._broken(dict(zip(AXES, row, strict=False)), set(AXES[: len(row)]))

    def rows(self) -> Iterator[Row]:
        return product(*(self.values[axis] for axis in AXES))

    def place(self, row: Row) -> tuple[int, ...]:
        """Returns the position of a row in the requested order of values."""
        return tuple(self.values[axis].index(value) for axis, value in zip(AXES, row, strict=True))

    def parts(self, strength: int) -> Iterator[Part]:
        for axes in combinations(AXES, strength):
            for values in product(*(self.values[axis] for axis in axes)):
                yield tuple(zip(axes, values, strict=True))

    def completed(self, part: Part) -> Row | None:
        """Returns the first cell that contains this part; None if there is none."""
        found = self._completed(dict(part), [axis for axis in AXES if axis not in dict(part)], [])
        return found if isinstance(found, tuple) else None

    def coverage(self, strength: int) -> tuple[Coverage, tuple[Part, ...]]:
        """Returns what is to be covered, and every pair (triple) that can be covered."""
        can: list[Part] = []
        cannot: dict[str, list[Part]] = {}
        for part in self.parts(strength):
            whys: list[str] = []
            rest = [axis for axis in AXES if axis not in dict(part)]
            if self._completed(dict(part), rest, whys) is not None:
                can.append(part)
            else:
                cannot.setdefault("; ".join(dict.fromkeys(whys[:2])), []).append(part)
        uncoverable = tuple(
            Uncoverable(why=why, count=len(found), example=" + ".join(value for _, value in found[0]))
            for why, found in cannot.items()
        )
        return Coverage(strength=strength, axes=self.values, coverable=len(can), uncoverable=uncoverable), tuple(can)

    def _completed(self, row: dict[str, str], rest: Sequence[str], whys: list[str]) -> Row | None:
        """Completes a row depth first. `whys` collects the reasons of failed attempts."""
        if why := self._broken(row, {*row} if len(row) < len(AXES) else set(AXES))[1]:
            whys.append(why)
            return None
        if not rest:
            return tuple(row[axis] for axis in AXES)
        axis, *others = rest
        for value in self.values[axis]:
            if found := self._completed({**row, axis: value}, others, whys):
                return found
        return None

    def _broken(self, row: Mapping[str, str], bound: set[str]) -> tuple[str, str]:
        for rule in self.rules:
            if bound.issuperset(rule.axes) and (why := rule.broken(row)):
                return rule.kind, why
        return "", ""


# ---- unavailable values: from a reason for each environment to the values that cause it
def narrowed(answers: Mapping[tuple[str, ...], str], axes: Sequence[str]) -> tuple[LeftOut, ...]:
    """Returns the smallest sets of values that explain all unavailable combinations.

    `answers`: combination → why it is unavailable, "" if it is available.
    """
    open_ = {row: why for row, why in answers.items() if why}
    reasons = dict(open_)
    found: list[LeftOut] = []
    for size in range(1, len(axes) + 1):
        for places in combinations(range(len(axes)), size):
            if not open_:
                break
            asked = Counter(tuple(row[place] for place in places) for row in answers)
            counted = Counter(tuple(row[place] for place in places) for row in reasons)
            here = dict.fromkeys(tuple(row[place] for place in places) for row in open_)
            whole = {part for part in here if counted[part] == asked[part]}
            for part in sorted(whole):
                why = next(why for row, why in open_.items() if tuple(row[place] for place in places) == part)
                found.append(
                    LeftOut(values={axes[place]: value for place, value in zip(places, part, strict=True)}, why=why)
                )
            open_ = {row: why for row, why in open_.items() if tuple(row[place] for place in places) not in whole}
    return tuple(found)


def left_out(found: Iterable[LeftOut], kind: str) -> tuple[Rule, ...]:
    """Returns one rule for each set of axes."""
    by_axes: dict[tuple[str, ...], dict[tuple[str, ...], str]] = {}
    for one in found:
        by_axes.setdefault(tuple(one.values), {})[tuple(one.values.values())] = one.why
    return tuple(Rule(axes=axes, kind=kind, broken=_among(axes, reasons)) for axes, reasons in by_axes.items())


def _among(axes: tuple[str, ...], reasons: Mapping[tuple[str, ...], str]) -> Callable[[Mapping[str, str]], str]:
    return lambda row: reasons.get(tuple(row[axis] for axis in axes), "")
