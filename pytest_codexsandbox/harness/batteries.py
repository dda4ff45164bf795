"""Which acts ride together in one call: pure."""

from collections.abc import Iterable, Mapping

import msgspec

from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.promise import Promise

SHARED = ""  # Promise.group of all that need no call of their own


def acts_of(promises: Iterable[Promise], group: str) -> dict[str, Act]:
    """The acts of one group, in the promises' order."""
    return {
        promise.act_id(name): act
        for promise in promises
        if promise.group == group
        for name, act in promise.acts.items()
    }


def call_of(promise: Promise | None, *, acts: int, scale: float) -> Call:
    """The call of a group with its time limit: a battery gets longer with its acts."""
    call = (promise.call if promise else None) or Call(timeout=20 + 0.5 * acts)
    return msgspec.structs.replace(call, timeout=call.timeout * scale)


def calls_of(plan: Plan) -> dict[str, int]:
    """Counts how often Codex would be started in each cell: one battery for each policy, the promises that need a call
    of their own, and cases that stand alone. What a generator leaves needs an unknown number of calls."""
    promises, suites = {promise.id: promise for promise in plan.promises}, plan.suite_index()
    groups: dict[tuple[str, ...], int] = {}
    for key in plan.keys:
        if suites.of(key).judges or (plan.not_applicable and str(key) in plan.not_applicable):
            continue
        promise = promises[key.promise]
        own = (promise.id, key.case) if suites.stands_alone(key) else (promise.group,)
        groups[key.cell, key.door, key.policy, *own] = _copies(promise)
    counted: dict[str, int] = {}
    for (cell, *_), copies in groups.items():
        counted[cell] = counted.get(cell, 0) + copies
    return counted


def _copies(promise: Promise) -> int:
    return max(1, promise.call.copies) if promise.call else 1


def promises_by_policy(plan: Plan) -> Mapping[str, tuple[Promise, ...]]:
    """Return the promises with a key under each policy, in the plan's order. Batteries of all cells are alike."""
    wanted: dict[str, set[str]] = {}
    for key in plan.keys:
        if str(key) not in plan.not_applicable:
            wanted.setdefault(key.policy, set()).add(key.promise)
    return {policy: tuple(p for p in plan.promises if p.id in ids) for policy, ids in wanted.items()}
