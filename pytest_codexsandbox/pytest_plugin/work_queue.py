"""Work queue: decides which work unit a worker gets next. Pure.

A worker stays with a family as long as it has units: its generator's run without a file, its Codex and its environment
are ready. Then it takes a family that no worker has begun. With none left it helps where most is left to do.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

from pytest_codexsandbox.pytest_plugin.work_units import NOBODYS, WorkUnit

CHUNK: Final = 20  # items outside the matrix that go to a worker at once
Dealt = tuple[WorkUnit, list[int]]


class WorkQueue:
    """Holds all items that no worker has yet."""

    def __init__(self, names: Sequence[str], share: Callable[[str], WorkUnit]) -> None:
        self._back: list[Dealt] = []  # units of workers that died
        self._families: OrderedDict[str, OrderedDict[WorkUnit, list[int]]] = OrderedDict()
        self._begun: set[str] = set()
        others: list[int] = []
        for index, name in enumerate(names):
            found = share(name)
            if found == NOBODYS:
                others.append(index)
            else:
                self._families.setdefault(found.family, OrderedDict()).setdefault(found, []).append(index)
        self._others = [others[start : start + CHUNK] for start in range(0, len(others), CHUNK)]

    def __bool__(self) -> bool:
        return bool(self._back or self._families or self._others)

    def give_back(self, share: WorkUnit, items: list[int]) -> None:
        self._back.insert(0, (share, items))

    def next(self, last: WorkUnit) -> Dealt | None:
        """Returns the next unit for a worker that had `last`. None: nothing is left."""
        if self._back:
            return self._back.pop(0)
        if self._families:
            return self._of(max(self._families, key=lambda family: self._worth(family, last)))
        return (NOBODYS, self._others.pop(0)) if self._others else None

    def _worth(self, family: str, last: WorkUnit) -> tuple[bool, bool, bool, int]:
        """Returns how well a family suits a worker. Of equals, the first in the plan is taken."""
        shares = self._families[family]
        same_place = next(iter(shares)).environment == last.environment
        return family == last.family, family not in self._begun, same_place, sum(map(len, shares.values()))

    def _of(self, family: str) -> Dealt:
        shares = self._families[family]
        self._begun.add(family)
        found = shares.popitem(last=False)
        if not shares:
            del self._families[family]
        return found
