"""Verdicts: their signs, and which of several is the worst."""

from enum import StrEnum
from typing import Final, Literal

Direction = Literal["", "leak", "denied", "wrong-claim", "litter"]
DIRECTIONS: Final[tuple[Direction, ...]] = ("leak", "denied", "wrong-claim", "litter")  # worst first


class Verdict(StrEnum):
    CONFORMS = "conforms"
    UNCONFINED = "unconfined"
    VIOLATES = "violates"
    BLOCKED = "blocked"
    BROKEN = "broken"
    NOT_APPLICABLE = "n/a"
    EXPECTED = "expected"
    STALE = "stale"


SIGNS: Final[dict[Verdict, str]] = {
    Verdict.CONFORMS: "P",
    Verdict.UNCONFINED: "U",
    Verdict.VIOLATES: "F",
    Verdict.BLOCKED: "B",
    Verdict.BROKEN: "E",
    Verdict.NOT_APPLICABLE: "-",
    Verdict.EXPECTED: "x",
    Verdict.STALE: "X",
}
WORDS: Final[dict[Verdict, str]] = {
    Verdict.CONFORMS: "conforms",
    Verdict.UNCONFINED: "unconfined, as asked",
    Verdict.VIOLATES: "violates",
    Verdict.BLOCKED: "blocked",
    Verdict.BROKEN: "broken",
    Verdict.NOT_APPLICABLE: "not applicable",
    Verdict.EXPECTED: "known deviation",
    Verdict.STALE: "stale expectation",
}
# One sign stands for many results (a folded row, several attempts): the first of these that is among them.
WORST_FIRST: Final = (
    Verdict.VIOLATES,
    Verdict.BROKEN,
    Verdict.STALE,
    Verdict.BLOCKED,
    Verdict.UNCONFINED,
    Verdict.EXPECTED,
    Verdict.CONFORMS,
    Verdict.NOT_APPLICABLE,
)
MEASURED: Final = frozenset({Verdict.CONFORMS, Verdict.UNCONFINED, Verdict.VIOLATES, Verdict.EXPECTED, Verdict.STALE})
RED: Final = frozenset({Verdict.VIOLATES, Verdict.BROKEN, Verdict.STALE})


def worst(verdicts: "list[Verdict] | tuple[Verdict, ...]") -> Verdict:
    """Returns the worst of at least one verdict."""
    return min(verdicts, key=WORST_FIRST.index)
