"""Expectations: apply known deviations to records: `violates` becomes `expected`. One that claims too much is stale.

| what was seen where the deviation applies      | the record              | the deviation |
|------------------------------------------------|-------------------------|---------------|
| violated, same direction and fingerprint       | expected                | holds         |
| the same, on or after `until`                  | stale                   | stale         |
| violated in another way                        | violates: unknown       | stale         |
| held (here: broader than observed; all: healed)| stale                   | stale         |
| blocked, broken, n/a, a lost capability        | unchanged               | unaffected    |

An intermittent deviation may hold anywhere and is never healed.
"""

import datetime
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final, Protocol

import msgspec

from pytest_codexsandbox.matrix.expectation_files import LOST_CAPABILITY, load
from pytest_codexsandbox.matrix.where_clause import fits, needs_place, parse, values
from pytest_codexsandbox.model.deviation import Deviation
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import asks_for_sandbox
from pytest_codexsandbox.model.record import OUTLIVES, Record
from pytest_codexsandbox.model.verdict import Verdict

__all__ = ["Applied", "Deviation", "apply", "load"]
HELD: Final = (Verdict.CONFORMS, Verdict.UNCONFINED)
_OF_A_STEP: Final = ("door", "policy")


class PlannedPromise(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def policies(self) -> Sequence[str]: ...
    @property
    def cases(self) -> Sequence[str]: ...


class PlannedCell(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def axes(self) -> Mapping[str, str]: ...


class Planned(Protocol):
    """The part of a plan that deviations refer to. A plan has it, and so does its line in a journal."""

    @property
    def cells(self) -> Sequence[PlannedCell]: ...
    @property
    def promises(self) -> Sequence[PlannedPromise]: ...


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    records: dict[Key, Record]
    unmatched: tuple[str, ...] = ()  # deviations that can never fit what was planned, with the reason
    stale: tuple[str, ...] = ()  # `id: why`, each deviation once
    refused: tuple[str, ...] = ()  # not applied to a cell, because its Codex has no place in version ranges
    flaky: tuple[Key, ...] = ()  # measured keys to which an intermittent deviation applies


def apply(
    plan: Planned,
    records: Mapping[Key, Record],
    deviations: Iterable[Deviation],
    *,
    versions: Mapping[str, str],
    today: datetime.date,
) -> Applied:
    """Applies deviations to records. `versions`: cell id → the version for ranges; missing or 0.0.0: none.

    `records` may be a part of the plan's, even one of many thousand: only deviations about them are considered. The
    effect of an earlier application is undone first, so applying twice gives the same as applying once.
    """
    records = {key: as_seen(record) for key, record in records.items()}
    seen = {key.promise for key in records}
    deviations = tuple(one for one in deviations if any(fnmatchcase(promise, one.promise) for promise in seen))
    binding = _Binding(plan, records, versions)
    bound: dict[Key, list[Deviation]] = defaultdict(list)
    for deviation in deviations:
        for key in binding.keys(deviation):
            bound[key].append(deviation)
    outcome = _Outcome(today)
    settled = {key: outcome.of(record, bound[key]) if bound.get(key) else record for key, record in records.items()}
    return Applied(
        records=settled,
        unmatched=tuple(filter(None, map(binding.impossible, deviations))),
        stale=outcome.stale(deviations),
        refused=tuple(binding.refused),
        flaky=tuple(outcome.flaky),
    )


def concerning(plan: Planned, deviations: Iterable[Deviation]) -> tuple[Deviation, ...]:
    """Returns the deviations that may apply to a planned key, whatever version its Codex has."""
    found = []
    for one in deviations:
        where = {name: value for name, value in one.where.items() if name not in (*_OF_A_STEP, "codex")}
        promised = any(fnmatchcase(promise.id, one.promise) for promise in plan.promises)
        if promised and any(fits(where, cell.axes, version="") for cell in plan.cells):
            found.append(one)
    return tuple(found)


def as_seen(record: Record) -> Record:
    """Returns the record as it was before any deviation was applied."""
    if not record.deviation:
        return record
    held = Verdict.CONFORMS if asks_for_sandbox(record.key.policy) else Verdict.UNCONFINED
    violated = bool(record.direction) or record.deciding is not None  # a user's own test may give no direction
    return msgspec.structs.replace(record, verdict=Verdict.VIOLATES if violated else held, deviation="")


class _Binding:
    """Finds the keys to which a deviation applies."""

    def __init__(self, plan: Planned, keys: Iterable[Key], versions: Mapping[str, str]) -> None:
        self._plan = plan
        self._versions = versions
        self._by_promise: dict[str, list[Key]] = defaultdict(list)
        for key in keys:
            self._by_promise[key.promise].append(key)
        self.refused: list[str] = []

    def keys(self, deviation: Deviation) -> list[Key]:
        cells = self._cells(deviation)
        return [
            key
            for promise in self._promises(deviation)
            for key in self._by_promise[promise.id]
            if key.cell in cells and _case(deviation, key.case) and _step(deviation, key.door, key.policy)
        ]

    def impossible(self, deviation: Deviation) -> str:
        """Returns why a deviation fits nothing although its cell and promise are planned; "" if it may still fit."""
        promises = self._promises(deviation)
        if not promises or not self._cells(deviation):
            return ""
        policies = values(deviation.where, "policy") or ("*",)
        if any(
            _any(policies, policy) and _case(deviation, case)
            for promise in promises
            for policy in promise.policies
            for case in promise.cases
        ):
            return ""
        case = f" case {deviation.case!r}" if deviation.case != () else ""
        return f"{deviation.id}: {deviation.promise} has no{case} policy {' or '.join(policies)}"

    def _promises(self, deviation: Deviation) -> list[PlannedPromise]:
        return [promise for promise in self._plan.promises if fnmatchcase(promise.id, deviation.promise)]

    def _cells(self, deviation: Deviation) -> set[str]:
        where = {name: value for name, value in deviation.where.items() if name not in _OF_A_STEP}
        return {cell.id for cell in self._plan.cells if self._fits(deviation, where, cell.id, cell.axes)}

    def _fits(
        self, deviation: Deviation, where: dict[str, str | tuple[str, ...]], cell: str, axes: Mapping[str, str]
    ) -> bool:
        version = self._versions.get(cell, "")
        if not needs_place(where) or parse(version) is not None:
            return fits(where, axes, version=version)
        elsewhere = {name: value for name, value in where.items() if name != "codex"}
        if fits(elsewhere, axes, version="") and self._promises(deviation):
            place = f"{cell} has an unknown version: name it, --codex-bin LABEL=PATH@VERSION"
            self._refuse(f"{deviation.id} is bound to Codex {values(where, 'codex')[0]}, and {place}")
        return False

    def _refuse(self, text: str) -> None:
        if text not in self.refused:
            self.refused.append(text)


class _Outcome:
    """Computes the new records, and collects what that shows about deviations."""

    def __init__(self, today: datetime.date) -> None:
        self._today = today
        self._held: dict[str, int] = defaultdict(int)
        self._seen: dict[str, int] = defaultdict(int)
        self._otherwise: dict[str, str] = {}
        self._bound: set[str] = set()
        self.flaky: list[Key] = []

    def of(self, record: Record, bound: list[Deviation]) -> Record:
        self._bound |= {deviation.id for deviation in bound}
        if record.verdict in HELD:
            return self._of_held(record, bound)
        if record.verdict is Verdict.VIOLATES and _fingerprint(record) != LOST_CAPABILITY:
            return self._of_violated(record, bound)
        return record

    def _of_held(self, record: Record, bound: list[Deviation]) -> Record:
        strict = [deviation for deviation in bound if not deviation.intermittent]
        if len(strict) < len(bound):
            self.flaky.append(record.key)
        for deviation in strict:
            self._held[deviation.id] += 1
        if not strict:
            return record
        names = ", ".join(deviation.id for deviation in strict)
        return _with(record, Verdict.STALE, strict[0], f"the promise holds here, but {names} says that it does not")

    def _of_violated(self, record: Record, bound: list[Deviation]) -> Record:
        same = [deviation for deviation in bound if _describes(deviation, record)]
        for deviation in bound:
            if deviation not in same and not deviation.intermittent:
                self._otherwise.setdefault(deviation.id, f"seen {_way(record)}, not {_expected_way(deviation)}")
        if not same:
            others = "; ".join(f"{one.id} knows it only as {_expected_way(one)}" for one in bound)
            return msgspec.structs.replace(record, reason=_join(others, record.reason))
        first = min(same, key=self._expired)
        self._seen[first.id] += 1
        if first.intermittent:
            self.flaky.append(record.key)
        if self._expired(first):
            return _with(record, Verdict.STALE, first, f"{first.id} expired on {first.until}")
        return _with(record, Verdict.EXPECTED, first, f"{first.reason} (known until {first.until})")

    def stale(self, deviations: Iterable[Deviation]) -> tuple[str, ...]:
        reasons = {deviation.id: self._why_stale(deviation) for deviation in deviations if deviation.id in self._bound}
        return tuple(f"{name}: {why}" for name, why in reasons.items() if why)

    def _why_stale(self, deviation: Deviation) -> str:
        name = deviation.id
        found = []
        if self._expired(deviation):
            found.append(f"expired on {deviation.until}")
        if self._held[name] and self._seen[name]:
            found.append(f"broader than observed: the promise holds in {self._held[name]} of its places")
        elif self._held[name]:
            found.append("healed: the promise holds")
        if name in self._otherwise:
            found.append(f"violated in another way: {self._otherwise[name]}")
        return "; ".join(found)

    def _expired(self, deviation: Deviation) -> bool:
        return self._today >= deviation.until


def _case(deviation: Deviation, case: str) -> bool:
    globs = (deviation.case,) if isinstance(deviation.case, str) else deviation.case
    return not globs or _any(globs, case)


def _step(deviation: Deviation, door: str, policy: str) -> bool:
    found = {"door": door, "policy": policy}
    return all(_any(values(deviation.where, name) or ("*",), found[name]) for name in _OF_A_STEP)


def _any(globs: Iterable[str], name: str) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def _fingerprint(record: Record) -> str:
    return record.diagnosis.fingerprint if record.diagnosis else ""


def _describes(deviation: Deviation, record: Record) -> bool:
    if any(row.reason == OUTLIVES and not row.held for row in record.evidence):
        return False
    return (deviation.direction, deviation.fingerprint) == (record.direction, _fingerprint(record))


def _way(record: Record) -> str:
    return _words(record.direction, _fingerprint(record))


def _expected_way(deviation: Deviation) -> str:
    return _words(deviation.direction, deviation.fingerprint)


def _words(direction: str, fingerprint: str) -> str:
    return f"{direction or 'without direction'} ({fingerprint or 'no known cause'})"


def _with(record: Record, verdict: Verdict, deviation: Deviation, why: str) -> Record:
    reason = _join(why, record.reason)
    return msgspec.structs.replace(record, verdict=verdict, deviation=deviation.id, reason=reason)


def _join(note: str, reason: str) -> str:
    """Puts the note in front of the reason, once, however often it is applied."""
    if reason.startswith(note):
        return reason
    return f"{note}; {reason}" if reason else note
