"""Planner: composes the plan of a run request. `pytest --codex-matrix`, its dry run and `codexsandbox plan` use it.

One request with the same facts gives the same keys in the same order (`harness.key_order`), and so the same digest.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

import msgspec

from pytest_codexsandbox.harness import option_conflicts
from pytest_codexsandbox.harness.durations import work_of
from pytest_codexsandbox.harness.key_order import KeyPlace, key_order
from pytest_codexsandbox.harness.planned_cells import environment_named, expand_cells, for_listing
from pytest_codexsandbox.harness.planning_facts import PlanningFacts, gather_facts, local_environments
from pytest_codexsandbox.harness.request_parts import RequestParts
from pytest_codexsandbox.harness.run_request import RunRequest
from pytest_codexsandbox.matrix.budget import Budget, within
from pytest_codexsandbox.matrix.container_cells import environments
from pytest_codexsandbox.matrix.expand import Expanded, arch_of
from pytest_codexsandbox.matrix.load import MatrixFile
from pytest_codexsandbox.matrix.plan import make
from pytest_codexsandbox.matrix.select import Names, calls_left_out, selected_cells, shipped_part
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec
from pytest_codexsandbox.model.ids import cell_id
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key, NotPlanned
from pytest_codexsandbox.model.promise import Promise


class Planner:
    """Composes each part of the plan when it is first needed, and once.

    A subclass may take the facts from another process (`look_up`) and let hooks change the cells (`change_cells`).
    """

    def __init__(self, request: RunRequest) -> None:
        self.request = request
        self.parts = RequestParts(request)

    def look_up(self) -> PlanningFacts:
        """Queries this machine, and within a few seconds engines and registries."""
        asked, parts = self.request, self.parts
        return gather_facts(
            parts.matrix,
            asked.report_dir,
            subjects=parts.subjects,
            workers=asked.workers,
            hosts=asked.docker_hosts,
            scale=asked.timeout_scale,
            wanted=self._is_selected,
        )

    def _is_selected(self, environment: str) -> bool:
        """Checks whether the selection leaves a cell of a container environment over. Nothing is asked about others.

        Of cells picked by pairs, those that are not available decide which others stand in for them. Generators give
        cells other names. There every environment is asked about.
        """
        return not self._are_cells_certain or any(
            cell_id(environment, f"codex-{one.label}") in self._selected for one in self.parts.subjects
        )

    @cached_property
    def _are_cells_certain(self) -> bool:
        containers, pairs = self.parts.matrix.containers, self.request.pairs
        strength = pairs if pairs is not None else containers.pairs if containers else 0
        return not (strength or self.parts.generator_axis)

    @cached_property
    def _selected(self) -> frozenset[str]:
        parts = self.parts
        there = environments(parts.matrix, arch=arch_of(local_environments())).values()
        names = Names(
            cells=tuple(cell_id(spec.id, f"codex-{one.label}") for spec in there for one in parts.subjects),
            promises=tuple(parts.promises),
            policies=parts.policies,
            doors=parts.doors,
        )
        return selected_cells(parts.selection, names)

    def change_cells(self, found: Expanded) -> Expanded:
        """Returns the cells as hooks of third parties change them."""
        return found

    @cached_property
    def facts(self) -> PlanningFacts:
        known = self.look_up()
        return for_listing(known, self.parts.matrix, self.parts.subjects) if self.request.listing else known

    @cached_property
    def expanded(self) -> Expanded:
        """Returns every cell that can be measured, before the selection."""
        asked, parts = self.request, self.parts
        refuse_conflicts(asked, parts.matrix)
        found = expand_cells(
            parts.matrix,
            parts.subjects,
            self.facts,
            pairs=asked.pairs,
            hosts=asked.docker_hosts,
            generators=parts.generator_axis,
        )
        return self.change_cells(found)

    @cached_property
    def plan(self) -> Plan:
        """Returns every key that the options ask for, in canonical order."""
        self._place_of_generators(self.expanded.cells)
        whole = make_plan(self.parts, self.expanded)
        plan = apply_budget(whole, self.budget, self.facts)
        if plan is not whole:  # the budget may have left out the cell that generators should run in
            self._place_of_generators(plan.cells)
        return plan

    @property
    def budget(self) -> Budget | None:
        """Returns the time for the shipped promises. It is unknown how long the user's own tests take."""
        return None if self.request.own_tests else self.request.budget

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Returns the cells that may have keys; with a budget only those that fit."""
        return self.expanded.cells if self.budget is None else self.plan.cells

    @property
    def generators_in(self) -> EnvironmentSpec | None:
        """Returns the environment that generators run in; None: this machine."""
        return self._place_of_generators(self.cells)

    def _place_of_generators(self, cells: Sequence[Cell]) -> EnvironmentSpec | None:
        return environment_named(self.request.generator_in, cells) if self.parts.generators else None

    def order(self, more: Iterable[str] = ()) -> Callable[[Key], KeyPlace]:
        """Returns the sort key of this plan's keys. `more`: ids of the user's own promises."""
        return key_order(self.cells, self.parts.doors, self.parts.policies, (*self.parts.promises, *more))


def make_plan(parts: RequestParts, found: Expanded) -> Plan:
    """Returns the plan of these cells in canonical order, before any budget."""
    matrix = parts.matrix
    asked = shipped_part(parts.selection) if parts.request.own_tests else parts.selection
    plan = make(
        matrix.name,
        found.cells,
        tuple(parts.promises.values()),
        doors=parts.measured,
        selection=msgspec.structs.replace(
            asked, without=matrix.skip, without_calls=calls_left_out(matrix.own_calls, parts.promises.values())
        ),
        policies=matrix.policies,
        not_planned=found.not_planned,
        coverage=found.coverage,
        sides=parts.sides,
    )
    for name, suite in parts.suites.items():
        plan = suite.complete(parts.scope, plan, parts.promises_of(name))
    order = key_order(found.cells, parts.doors, parts.policies, parts.promises)
    traits = tuple(suite.traits for suite in parts.suites.values())
    return msgspec.structs.replace(plan, keys=tuple(sorted(plan.keys, key=order)), suites=traits)


def narrow(
    plan: Plan,
    keys: Sequence[Key],
    *,
    cells: Sequence[Cell],
    own: Mapping[str, Promise],
    not_applicable: Mapping[str, str],
    deselected: Iterable[NotPlanned],
) -> Plan:
    """Returns the plan with these keys alone: what pytest's own selection leaves, and the user's own tests (`own`)."""
    used, there = {key.promise for key in keys}, {key.cell for key in keys}
    ruled_out = {**plan.not_applicable, **not_applicable}
    return msgspec.structs.replace(
        plan,
        keys=tuple(keys),
        cells=tuple(cell for cell in cells if cell.id in there),
        promises=tuple(promise for promise in (*plan.promises, *own.values()) if promise.id in used),
        not_applicable={str(key): why for key in keys if (why := ruled_out.get(str(key), ""))},
        not_planned=(*plan.not_planned, *deselected),
    )


def refuse_conflicts(asked: RunRequest, matrix: MatrixFile) -> None:
    """Refuses options that have no effect beside the others."""
    has_containers = matrix.containers is not None
    option_conflicts.refuse_without_containers(asked.typed, matrix=matrix.name, containers=has_containers)
    option_conflicts.refuse_beside_paths(asked.typed, paths=asked.own_tests)
    option_conflicts.refuse_twice_free(asked.typed)
    generators = bool(asked.generators or matrix.generators)
    option_conflicts.refuse_without_generators(asked.generator_options, generators=generators)


def seconds_of(plan: Plan, known: PlanningFacts) -> dict[str, float]:
    """Returns how many seconds each cell is expected to take."""
    work = work_of(plan)
    return {cell.id: known.learned.expected(cell, work[cell.id]) for cell in plan.cells}


def apply_budget(plan: Plan, budget: Budget | None, known: PlanningFacts) -> Plan:
    return plan if budget is None else within(plan, budget, seconds=seconds_of(plan, known), workers=known.workers)
