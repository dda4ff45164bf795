"""Plan: derives every key that will get a state from cells and promises, before anything runs. Pure."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix import requirements
from pytest_codexsandbox.matrix.expectations import concerning
from pytest_codexsandbox.matrix.select import Names, Selection, Selector, check, is_standing
from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.coverage import Coverage
from pytest_codexsandbox.model.deviation import Deviation
from pytest_codexsandbox.model.door_traits import DoorTraits
from pytest_codexsandbox.model.journal_lines import CellRow, PlanLine, PromiseRow
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_content import asks_digest, content_digest, plan_digest
from pytest_codexsandbox.model.plan_key import Key, NotPlanned
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.suite_traits import SANDBOX
from pytest_codexsandbox.suite_protocols import Side

EVERYTHING = Selection()
OWN_CALL: Final = "such a door runs only the acts of the battery, and no separate call"
NO_SNAPSHOT: Final = "Codex starts no shell of the user beside a command at such a door"
OF_DOORS: Final = frozenset({OWN_CALL, NO_SNAPSHOT})


class SuiteSides(msgspec.Struct, frozen=True, kw_only=True):
    """The doors and policies by which a suite measures a cell, and the cases of each of its promises there."""

    policies: tuple[str, ...] = ()  # policies that only this suite has
    of: Callable[[Cell], Sequence[Side]]
    cases: Callable[[Promise, Cell], Sequence[str]] = lambda promise, cell: promise.cases
    asked: Callable[[Promise, Cell, str], str] = lambda promise, cell, door: ""  # why not, "" if it is checked
    ruled_out: Callable[[Key, Promise, Cell], str] = lambda key, promise, cell: ""  # why it is n/a, or ""


def product(doors: Sequence[DoorTraits], policies: Sequence[str]) -> SuiteSides:
    """Returns every policy through every door."""
    sides = tuple((door.name, policy) for door in doors for policy in policies)
    known = {door.name: door for door in doors}
    return SuiteSides(of=lambda cell: sides, asked=lambda promise, cell, door: not_at(promise, known[door]))


def make(
    preset: str,
    cells: Sequence[Cell],
    promises: Sequence[Promise],
    *,
    doors: Sequence[DoorTraits],
    selection: Selection = EVERYTHING,
    policies: Sequence[str] = tuple(POLICIES),
    sides: Mapping[str, SuiteSides] | None = None,
    not_planned: tuple[NotPlanned, ...] = (),
    coverage: Coverage | None = None,
    platform: str = sys.platform,
) -> Plan:
    """Makes the plan. `policies` are the matrix file's; `not_planned` and `coverage` come from expanding it. `sides`:
    suite → where it measures; None means the sandbox suite alone."""
    ordered = tuple(policy for policy in POLICIES if policy in policies)
    measured = sides or {SANDBOX: product(doors, ordered)}
    _refuse_twins(cells, promises, measured)
    names = _names(cells, promises, measured, ordered)
    check(selection, names)
    steps = _Steps(Selector(selection, names), promises, measured)
    keys = tuple(key for cell in cells for suite in measured for key in steps.of(suite, cell))
    if not keys:
        raise InputError(
            "nothing is left to run",
            why="; ".join(sorted(set(steps.reasons.values()))[:3]),
            next_step="widen a glob: globs of one kind add up; promises, policies, cells and doors narrow each other",
        )
    used, there = {key.promise for key in keys}, {key.cell for key in keys}
    return Plan(
        preset=preset,
        cells=tuple(cell for cell in cells if cell.id in there),
        coverage=coverage,
        promises=tuple(promise for promise in promises if promise.id in used),
        keys=keys,
        not_applicable=_not_applicable(cells, promises, keys, measured, platform),
        not_planned=(*not_planned, *_left_out(names, keys, steps, promises, doors), *_not_by(doors, keys, promises)),
    )


def _known_policies(sides: Mapping[str, SuiteSides]) -> tuple[str, ...]:
    return (*POLICIES, *(policy for one in sides.values() for policy in one.policies if policy not in POLICIES))


def _names(
    cells: Sequence[Cell], promises: Sequence[Promise], sides: Mapping[str, SuiteSides], ordered: Sequence[str]
) -> Names:
    measured = dict.fromkeys(side for cell in cells for one in sides.values() for side in one.of(cell))
    found = {policy for _, policy in measured} - set(ordered)
    return Names(
        cells=tuple(cell.id for cell in cells),
        promises=tuple(one.id for one in promises),
        policies=(*ordered, *(policy for policy in _known_policies(sides) if policy in found)),
        doors=tuple(dict.fromkeys(door for door, _ in measured)),
    )


def rides(promise: Promise, door: DoorTraits) -> bool:
    """Checks whether a promise is checked at a door. A promise that needs a call of its own (stdin, words, folder, end,
    copies) is not checked at each door, unless its call says that it may be."""
    if promise.call is not None and promise.call.shell_snapshot:
        return door.takes_shell_snapshots
    return promise.call is None or door.asks_own_calls or promise.call.at_every_door


def not_at(promise: Promise, door: DoorTraits) -> str:
    """Returns why a promise is not checked at a door; "" if it is."""
    if rides(promise, door):
        return ""
    return NO_SNAPSHOT if promise.call is not None and promise.call.shell_snapshot else OWN_CALL


def _not_by(doors: Sequence[DoorTraits], keys: Iterable[Key], promises: Sequence[Promise]) -> Iterator[NotPlanned]:
    """Yields the promises that are planned for some door and not checked at another one."""
    planned = {key.promise for key in keys}
    for door in doors:
        for promise in promises:
            if promise.id in planned and not rides(promise, door):
                yield NotPlanned(what=f"{promise.id} by {door.name}", why=not_at(promise, door))


def digest(plan: Plan) -> str:
    """Returns a digest of keys, acts and calls. Two runs with the same digest made the same checks."""
    return plan_digest(plan.keys, {promise.id: asks_digest(promise) for promise in plan.promises})


def as_line(
    plan: Plan, expectations: Iterable[Deviation] = (), asked: Mapping[str, str] = MappingProxyType({})
) -> PlanLine:
    """Returns the plan as a line of the journal, with those known deviations that may apply to it. `asked`: promise →
    digest of the code that makes its rows."""
    line = PlanLine(
        digest=digest(plan),
        cells=tuple(
            CellRow(
                id=cell.id,
                environment=cell.environment.id,
                subject=cell.subject.label,
                axes=cell.axes,
                provenance=cell.environment.provenance,
                synthetic=cell.environment.synthetic,
                arch=cell.environment.arch,
                as_version=cell.subject.as_version,
                release=cell.subject.release,
            )
            for cell in plan.cells
        ),
        promises=tuple(
            PromiseRow(
                id=promise.id,
                title=promise.title,
                kind=promise.kind,
                severity=promise.severity,
                needs=promise.needs,
                source=promise.source,
                summary=promise.summary,
                suite=promise.suite,
                policies=promise.policies,
                cases=promise.cases,
                requires=promise.requires,
                asks=asks_digest(promise),
                asked=asked.get(promise.id, ""),
            )
            for promise in plan.promises
        ),
        keys=plan.keys,
        not_applicable=plan.not_applicable,
        not_planned=plan.not_planned,
        coverage=plan.coverage,
        cases=plan.cases,
        generators=plan.generators,
        of_generators=plan.about_generators,
        suites=plan.suites,
        expectations=concerning(plan, expectations),
    )
    return msgspec.structs.replace(line, content=content_digest(line))


class _Steps:
    """The keys of each (cell, door, policy), in the promises' order, and the reasons of keys that are not wanted."""

    def __init__(self, sieve: Selector, promises: Sequence[Promise], sides: Mapping[str, SuiteSides]) -> None:
        self._sieve, self._sides = sieve, sides
        self._promises = {suite: [promise for promise in promises if promise.suite == suite] for suite in sides}
        self.reasons: dict[tuple[str, str, str, str], str] = {}  # (cell, door, policy, promise) → why not

    def of(self, suite: str, cell: Cell) -> Iterator[Key]:
        for door, policy in self._sides[suite].of(cell):
            yield from self._keys(suite, cell, door, policy)

    def _keys(self, suite: str, cell: Cell, door: str, policy: str) -> Iterator[Key]:
        there = [promise for promise in self._promises[suite] if self._is_asked(promise, cell, door, policy)]
        wanted = {promise.id for promise in there if self._wanted(cell.id, door, policy, promise.id)}
        for promise in there:
            if promise.id in wanted or (wanted and is_standing(promise.id)):
                for case in self._sides[suite].cases(promise, cell):
                    yield Key(cell=cell.id, door=door, policy=policy, promise=promise.id, case=case)

    def _is_asked(self, promise: Promise, cell: Cell, door: str, policy: str) -> bool:
        if policy not in promise.policies:
            return False
        why = self._sides[promise.suite].asked(promise, cell, door)
        if why:
            self.reasons[cell.id, door, policy, promise.id] = why
        return not why

    def _wanted(self, cell: str, door: str, policy: str, promise: str) -> bool:
        why = self._sieve.why_not(cell=cell, door=door, policy=policy, promise=promise)
        if why:
            self.reasons[cell, door, policy, promise] = why
        return not why


def _refuse_twins(cells: Sequence[Cell], promises: Sequence[Promise], sides: Mapping[str, SuiteSides]) -> None:
    known = _known_policies(sides)
    for what, ids in (("cell", [cell.id for cell in cells]), ("promise", [promise.id for promise in promises])):
        twins = sorted({one for one in ids if ids.count(one) > 1}) if len(set(ids)) < len(ids) else []
        if twins:
            raise InputError(f"two {what}s are called {twins[0]!r}: their results could not be distinguished")
    for promise in promises:
        requirements.check(promise)
        for policy in promise.policies:
            if promise.suite in sides and policy not in known:
                raise InputError(f"{promise.id} names the policy {policy!r}", why=f"known: {', '.join(known)}")


def _not_applicable(
    cells: Sequence[Cell],
    promises: Sequence[Promise],
    keys: Iterable[Key],
    sides: Mapping[str, SuiteSides],
    platform: str,
) -> dict[str, str]:
    by_cell, by_promise = {cell.id: cell for cell in cells}, {promise.id: promise for promise in promises}
    reasons = {
        (cell.id, promise.id): requirements.why_not_applicable(promise, cell.environment, platform=platform)
        for cell in cells
        for promise in promises
    }

    def why(key: Key) -> str:
        promise = by_promise[key.promise]
        return reasons[key.cell, key.promise] or sides[promise.suite].ruled_out(key, promise, by_cell[key.cell])

    found = {str(key): why(key) for key in keys}
    return {key: why for key, why in found.items() if why}


def _left_out(
    names: Names, keys: tuple[Key, ...], steps: _Steps, promises: Sequence[Promise], doors: Sequence[DoorTraits]
) -> tuple[NotPlanned, ...]:
    """Returns cells, doors, policies and promises without any key, each with its reason. Partly planned ones are not
    listed. One door's reason does not count where another door would have the name but for the selection."""
    by_name: dict[str, str] = {}
    for names_of_step, why in sorted(steps.reasons.items(), key=lambda step: step[1] in OF_DOORS):
        for name in names_of_step:
            by_name.setdefault(name, why)
    planned = {name for key in keys for name in (key.cell, key.door, key.policy, key.promise)}
    elsewhere = {promise.id: f"only for {', '.join(promise.policies) or 'no policy'}" for promise in promises}
    at = [(promise.id, [not_at(promise, door) for door in doors]) for promise in promises]
    elsewhere |= {name: reasons[0] for name, reasons in at if reasons and all(reasons)}
    unasked = tuple(policy for policy in POLICIES if policy not in names.policies)
    missing = [NotPlanned(what=policy, why="not among the matrix file's policies") for policy in unasked]
    for name in (*names.cells, *names.doors, *names.policies, *names.promises):
        if name not in planned:
            missing.append(NotPlanned(what=name, why=by_name.get(name) or elsewhere.get(name, "no promise uses it")))
    return tuple(missing)
