"""Run resources: what the suites of one process share while their tests run."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_codexsandbox.errors import EnvironmentLost
from pytest_codexsandbox.harness.observation_cache import ObservationCache
from pytest_codexsandbox.harness.run_request import RunRequest
from pytest_codexsandbox.harness.suites.plan_scope import PlanScope
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec
from pytest_codexsandbox.model.journal_lines import Line
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.protocols import Door, Environment, Subject

Pairs = Sequence[tuple[Promise, Callable[..., object]]]


class RunResources:
    """Implements `suite_protocols.SuiteRun`. The attributes are for the shipped suites alone."""

    def __init__(
        self,
        bench: ObservationCache,
        *,
        request: RunRequest,
        scope: PlanScope,
        pairs: Pairs,
        folder: Path,
        emit: Callable[[Line], None],
        invocation: Sequence[str] = (),
        generator_unconfined: bool = False,
        generators_in: EnvironmentSpec | None = None,
    ) -> None:
        self.bench, self.request, self.scope, self.pairs = bench, request, scope, pairs
        self.folder, self.emit, self.invocation = folder, emit, tuple(invocation)
        self.generator_unconfined, self.generators_in = generator_unconfined, generators_in

    @property
    def plan(self) -> Plan:
        return self.bench.plan

    @property
    def timeout_scale(self) -> float:
        return self.bench.options.timeout_scale

    def cell(self, key: Key) -> Cell:
        return self.bench.cells[key.cell]

    def promise(self, key: Key) -> Promise:
        return self.bench.promises[key.promise]

    def environment(self, cell: Cell) -> Environment:
        return self.bench.environment(cell.environment)

    def facts(self, cell: Cell) -> Mapping[str, Any]:
        return self.bench.facts(cell.environment)

    def subject(self, cell: Cell) -> Subject:
        return self.bench.subject(cell.subject).inside(self.environment(cell))

    def door(self, name: str) -> Door:
        return self.bench.door(name)

    def environment_id(self, cell: Cell) -> str:
        return self.bench.environment_id(cell.environment)

    def subject_id(self, cell: Cell) -> str:
        return self.bench.subject_id(cell.subject)

    def spend(self, seconds: float) -> None:
        self.bench.seconds_in_codex += seconds

    def mark_lost(self, cell: Cell, why: str) -> EnvironmentLost:
        return self.bench.mark_lost(cell.environment, why)
