"""Run resources: what the suites of one process share while their tests run."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.doors.support.call_settings import surroundings
from pytest_codexsandbox.errors import EnvironmentLost
from pytest_codexsandbox.harness.observation_cache import ObservationCache
from pytest_codexsandbox.harness.run_request import RunRequest
from pytest_codexsandbox.harness.suites.plan_scope import PlanScope
from pytest_codexsandbox.model.act import Call
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
        cache: ObservationCache,
        *,
        request: RunRequest,
        scope: PlanScope,
        pairs: Pairs,
        invocation: Sequence[str] = (),
        generator_unconfined: bool = False,
        generators_in: EnvironmentSpec | None = None,
    ) -> None:
        self.cache, self.resources = cache, cache.resources
        self.request, self.scope, self.pairs, self.invocation = request, scope, pairs, tuple(invocation)
        self.generator_unconfined, self.generators_in = generator_unconfined, generators_in
        self._calls = 0

    @property
    def plan(self) -> Plan:
        return self.cache.plan

    @property
    def folder(self) -> Path:
        return self.resources.options.folder

    @property
    def timeout_scale(self) -> float:
        return self.resources.options.timeout_scale

    def cell(self, key: Key) -> Cell:
        return self.cache.cells[key.cell]

    def promise(self, key: Key) -> Promise:
        return self.cache.promises[key.promise]

    def environment(self, cell: Cell) -> Environment:
        return self.resources.pool.acquire(cell.environment)

    def facts(self, cell: Cell) -> Mapping[str, Any]:
        return self.resources.pool.facts(cell.environment)

    def subject(self, cell: Cell) -> Subject:
        return self.resources.enter(cell)[1]

    def door(self, name: str) -> Door:
        return self.resources.door(name)

    def environment_id(self, cell: Cell) -> str:
        return self.resources.events.id_of(cell.environment.id)

    def subject_id(self, cell: Cell) -> str:
        return cell.subject.label

    def emit(self, line: Line) -> None:
        self.resources.events.emit(line)

    def call(self, key: Key, command: Command, *, control: bool = False) -> Observation:
        cell = self.cell(key)
        environment = self.environment(cell)
        world = environment.world()
        # Without HOME and CODEX_HOME, Codex would use the real home that /etc/passwd names.
        command = msgspec.structs.replace(command, env={**surroundings(world, Call()), **command.env})
        try:
            done = environment.run(command)
        finally:
            environment.clear(world)
        if done.ended == "lost":
            raise self.mark_lost(cell, done.error)
        self._calls += 1
        name = f"{self.resources.events.worker or 'main'}-{key.promise}-{self._calls}"
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
        self.resources.events.pending.seconds_in_codex += seconds

    def mark_lost(self, cell: Cell, why: str) -> EnvironmentLost:
        return self.resources.pool.lose(cell.environment, why)


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
