"""Run resources: what the suites of one process share while their tests run."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pytest_codexsandbox.errors import EnvironmentLost
from pytest_codexsandbox.harness.observation_cache import ObservationCache
from pytest_codexsandbox.harness.run_request import RunRequest
from pytest_codexsandbox.harness.suites.plan_scope import PlanScope
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.journal_lines import CallLine, Line
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.protocols import Door, Environment, Subject

_SHOWN: Final = 64 * 1024  # characters of output that a line of the journal keeps
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
        self._calls = 0

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

    def call(self, key: Key, command: Command, *, control: bool = False) -> Observation:
        cell = self.cell(key)
        done = self.environment(cell).run(command)
        if done.ended == "lost":
            raise self.mark_lost(cell, done.error)
        self._calls += 1
        name = f"{self.bench.options.worker or 'main'}-{key.promise}-{self._calls}"
        seen = observation_of(name, key, command, done)
        line = CallLine(
            id=seen.id,
            environment=self.environment_id(cell),
            subject=self.subject_id(cell),
            cell=cell.id,
            observation=seen,
            timeout=command.timeout,
            control=control,
            full_access=True,  # the command itself is no call of a sandbox
        )
        self.emit(line)
        if not control:
            self.spend(done.seconds)
        return seen

    def spend(self, seconds: float) -> None:
        self.bench.seconds_in_codex += seconds

    def mark_lost(self, cell: Cell, why: str) -> EnvironmentLost:
        return self.bench.mark_lost(cell.environment, why)


def observation_of(name: str, key: Key, command: Command, done: CommandResult) -> Observation:
    return Observation(
        id=name,
        door=key.door,
        policy=key.policy,
        nonce="",
        argv=tuple(command.argv),
        cwd=command.cwd,
        env=dict(command.env),
        ended=done.ended,
        code=done.code,
        seconds=done.seconds,
        stdout_sha256=hashlib.sha256(done.stdout).hexdigest(),
        stdout_total=done.stdout_total,
        stdout=done.stdout.decode(errors="replace")[:_SHOWN],
        stderr=done.stderr.decode(errors="replace")[:_SHOWN],
        error=done.error,
    )
