"""Which acts ride together in one call: pure."""

from collections.abc import Iterable, Mapping

import msgspec

from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.promise import Promise

SHARED = ""  # the group of all promises that need no call of their own


def group_of(promise: Promise) -> str:
    return promise.id if promise.call is not None else SHARED


def act_id(promise: Promise, name: str) -> str:
    return f"{promise.id}/{name}"


def acts_of(promises: Iterable[Promise], group: str) -> dict[str, Act]:
    """The acts of one group, in the promises' order."""
    return {
        act_id(promise, name): act
        for promise in promises
        if group_of(promise) == group
        for name, act in promise.acts.items()
    }


def call_of(promise: Promise | None, *, acts: int, scale: float) -> Call:
    """The call of a group with its time limit: a battery gets longer with its acts."""
    call = (promise.call if promise else None) or Call(timeout=20 + 0.5 * acts)
    return msgspec.structs.replace(call, timeout=call.timeout * scale)


def calls_of(plan: Plan) -> dict[str, int]:
    """How often Codex would be started in each cell: one battery for each policy, and the promises that need a call
    of their own. How often for what generators left, nobody knows before they have left it."""
    promises = {promise.id: promise for promise in plan.promises}
    groups = {
        (key.cell, key.door, key.policy, group_of(promises[key.promise])): _copies(promises[key.promise])
        for key in plan.keys
        if not promises[key.promise].of_generators and (not plan.not_applicable or str(key) not in plan.not_applicable)
    }
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
