"""Batteries: decides which acts share one call. Pure."""

from collections.abc import Iterable

import msgspec

from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.model.promise import Promise

SHARED = ""  # Promise.group of promises without a call of their own


class Battery(msgspec.Struct, frozen=True):
    """Acts that share one call."""

    promises: tuple[Promise, ...]
    acts: dict[str, Act]
    call: Call


def acts_of(promises: Iterable[Promise], group: str) -> dict[str, Act]:
    """Returns the acts of one group, in the promises' order."""
    return {
        promise.act_id(name): act
        for promise in promises
        if promise.group == group
        for name, act in promise.acts.items()
    }


def call_of(promise: Promise | None, *, acts: int, scale: float) -> Call:
    """Returns the call of a group. The time limit of a battery grows with its acts."""
    call = (promise.call if promise else None) or Call(timeout=20 + 0.5 * acts)
    return msgspec.structs.replace(call, timeout=call.timeout * scale)


def calls_of(plan: Plan) -> dict[str, int]:
    """Counts the calls of Codex in each cell: one battery for each policy, promises with a call of their own, and cases
    that stand alone. Generators' results are not counted: they need an unknown number of calls."""
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
    return max(1, promise.call.copies) * max(1, promise.call.starts) if promise.call else 1


def batteries_of(plan: Plan, scale: float) -> dict[tuple[str, str], Battery]:
    """Returns the batteries by policy and group, with the acts of the promises that have a key under the policy. The
    policy "" stands for the control, which has the acts of every policy. All cells have the same batteries. `scale`:
    the factor for every time limit."""
    planned: dict[str, set[str]] = {"": {promise.id for promise in plan.promises}}
    for key in plan.keys:
        if str(key) not in plan.not_applicable:
            planned.setdefault(key.policy, set()).add(key.promise)
    grouped: dict[tuple[str, str], list[Promise]] = {(policy, SHARED): [] for policy in ("", *POLICIES)}
    for policy, ids in planned.items():
        for promise in plan.promises:
            if promise.id in ids:
                grouped.setdefault((policy, promise.group), []).append(promise)
    return {place: _battery(tuple(promises), place[1], scale) for place, promises in grouped.items()}


def _battery(promises: tuple[Promise, ...], group: str, scale: float) -> Battery:
    acts = acts_of(promises, group)
    own = promises[0] if group != SHARED else None
    return Battery(promises, acts, call_of(own, acts=len(acts), scale=scale))
