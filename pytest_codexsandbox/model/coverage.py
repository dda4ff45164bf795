"""Coverage: which combinations of axis values a run measures: those that `--codex-pairs` promises, and those in its
cells."""

from collections.abc import Iterable, Mapping
from itertools import combinations
from math import prod
from typing import Final

import msgspec

AXES: Final = ("distro", "bwrap", "profile", "user", "codex")  # of a cell in a container, in the order of its id
WORDS: Final = {2: "pairs", 3: "triples"}
Part = tuple[tuple[str, str], ...]  # (axis, value) of some axes, in their order


class Uncoverable(msgspec.Struct, frozen=True, kw_only=True):
    """Pairs (triples) that no cell can hold, all for one reason."""

    why: str
    count: int
    example: str


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    strength: int  # 2: every pair of values is to meet in some cell, 3: every triple
    axes: dict[str, tuple[str, ...]]  # the values that were asked for
    coverable: int
    uncoverable: tuple[Uncoverable, ...] = ()

    @property
    def word(self) -> str:
        return WORDS.get(self.strength, f"{self.strength}-tuples")

    @property
    def combinations(self) -> int:
        return prod(map(len, self.axes.values()))

    def covered(self, cells: Iterable[Mapping[str, str]]) -> int:
        """Counts the combinations in cells with these axes. A cell that is in no container does not count."""
        found: set[Part] = set()
        for axes in cells:
            if all(axes.get(axis, "") in values for axis, values in self.axes.items()):
                found.update(parts(axes, self.strength))
        return len(found)


def parts(axes: Mapping[str, str], strength: int) -> Iterable[Part]:
    """Returns every pair (triple) of values of one cell."""
    return combinations([(axis, axes[axis]) for axis in AXES if axis in axes], strength)
