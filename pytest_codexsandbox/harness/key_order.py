"""Key order: the canonical order of a plan's keys. Plans are sorted by it, and so are pytest's items."""

from collections.abc import Callable, Iterable, Sequence

from pytest_codexsandbox.harness.baseline_checks import STANDING
from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.plan_key import Key

KeyPlace = tuple[int, int, int, bool, int, str]


def key_order(
    cells: Sequence[Cell], doors: Sequence[str], policies: Sequence[str], promises: Iterable[str]
) -> Callable[[Key], KeyPlace]:
    """Returns the sort key that puts keys into canonical order.

    Cells, doors, policies and promises count in the given order, cases by name. Start checks and canaries come first
    in each (cell, door, policy): everything else leans on them.
    """
    by_cell = {cell.id: number for number, cell in enumerate(cells)}
    by_door = {door: number for number, door in enumerate(doors)}
    by_policy = {policy: number for number, policy in enumerate(policies)}
    by_promise = {promise: number for number, promise in enumerate(promises)}

    def place(key: Key) -> KeyPlace:
        where = by_cell[key.cell], by_door[key.door], by_policy[key.policy]
        return (*where, key.promise.partition(".")[0] not in STANDING, by_promise[key.promise], key.case)

    return place
