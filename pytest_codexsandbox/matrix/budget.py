"""Budget (`--codex-budget 10m`): the cells that fit into the time, those with most uncovered values first. Pure."""

import heapq
from collections.abc import Mapping
from typing import Final

import msgspec

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.model.coverage import Part, parts
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import NotPlanned

KIND: Final = "budget"


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    seconds: float
    text: str  # as the user typed it


def within(plan: Plan, budget: Budget, *, seconds: Mapping[str, float], workers: int = 1) -> Plan:
    """Returns the plan with the cells that fit. A cell is kept whole or not at all.

    `seconds`: expected time of each cell; `workers` run side by side.
    """
    kept = _fitting(plan, seconds, budget.seconds * max(1, workers))
    if len(kept) == len(plan.cells):
        return plan
    if not kept:
        least = min(seconds[cell.id] for cell in plan.cells)
        raise InputError(
            f"--codex-budget {budget.text} is too short for a single cell",
            why=f"the shortest takes about {least:.0f} s",
        )
    why = f"not within --codex-budget {budget.text}"
    gone = tuple(NotPlanned(what=cell.id, why=why, kind=KIND) for cell in plan.cells if cell.id not in kept)
    keys = tuple(key for key in plan.keys if key.cell in kept)
    used, known = {key.promise for key in keys}, {str(key) for key in keys}
    return msgspec.structs.replace(
        plan,
        keys=keys,
        cells=tuple(cell for cell in plan.cells if cell.id in kept),
        promises=tuple(promise for promise in plan.promises if promise.id in used),
        not_applicable={key: why for key, why in plan.not_applicable.items() if key in known},
        not_planned=(*plan.not_planned, *gone),
    )


def _fitting(plan: Plan, seconds: Mapping[str, float], room: float) -> set[str]:
    """Chooses cells greedily by new pairs of values per second; among equals the first one of the plan.

    Choosing a cell can only reduce what other cells add. An old value is thus an upper bound, and the heap stays valid.
    """
    strength = plan.coverage.strength if plan.coverage else 2
    parts_of = [frozenset(parts(cell.axes, strength)) for cell in plan.cells]
    costs = [max(seconds[cell.id], 1e-6) for cell in plan.cells]
    heap = [(-len(parts_of[place]) / costs[place], place) for place in range(len(parts_of))]
    heapq.heapify(heap)
    seen: set[Part] = set()
    kept: set[str] = set()
    while heap:
        worth, place = heapq.heappop(heap)
        now = -len(parts_of[place] - seen) / costs[place]
        if now > worth:
            heapq.heappush(heap, (now, place))
        elif costs[place] <= room:
            room -= costs[place]
            seen |= parts_of[place]
            kept.add(plan.cells[place].id)
    return kept
