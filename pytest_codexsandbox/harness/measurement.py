"""Measurement: everything that one worker measures with, and the runners of its suites. Each part gets the parts below
it."""

from collections.abc import Sequence
from typing import Any

from pytest_codexsandbox.harness.codex_resolver import Resolver
from pytest_codexsandbox.harness.event_sink import EventSink
from pytest_codexsandbox.harness.observation_cache import ObservationCache
from pytest_codexsandbox.harness.run_request import RunRequest
from pytest_codexsandbox.harness.suites.installed import installed_suites
from pytest_codexsandbox.harness.suites.plan_scope import PlanScope
from pytest_codexsandbox.harness.suites.run_resources import Pairs, RunResources
from pytest_codexsandbox.harness.worker_resources import WorkerOptions, WorkerResources
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.protocols import WriteConfig
from pytest_codexsandbox.suite_protocols import SuiteRunner


class Measurement:
    """Opens everything that one worker measures with. Not thread-safe. `close()` ends all that was started. `suites`:
    those that have a part in this run, in order. `pairs`: promises with their functions."""

    def __init__(
        self,
        plan: Plan,
        options: WorkerOptions,
        *,
        resolver: Resolver,
        events: EventSink,
        request: RunRequest,
        scope: PlanScope,
        suites: Sequence[str],
        pairs: Pairs,
        invocation: Sequence[str],
        generator_unconfined: bool,
        generators_in: EnvironmentSpec | None,
    ) -> None:
        self.resources = WorkerResources(plan.cells, options, resolver=resolver, events=events)
        self.cache = ObservationCache(plan, self.resources, configs=self)
        self._suites, self._runners = tuple(suites), dict[str, SuiteRunner[Any]]()
        self._run = RunResources(
            self.cache,
            request=request,
            scope=scope,
            pairs=pairs,
            invocation=invocation,
            generator_unconfined=generator_unconfined,
            generators_in=generators_in,
        )

    def runner_of(self, key: Key) -> SuiteRunner[Any]:
        """Returns the runner of the key's suite."""
        return self._runner(self.cache.promises[key.promise].suite)

    def writer(self, cell: Cell, policy: str) -> WriteConfig:
        """Returns the function that writes Codex's configuration in a cell with a generator, of the first suite that
        brings one."""
        found = (self._runner(suite).config_writer(cell, policy) for suite in self._suites)
        return next(writer for writer in found if writer is not None)

    def end_environment(self, spec: EnvironmentSpec) -> None:
        """Ends an environment, after everything that runs in it."""
        for runner in reversed(self._runners.values()):
            runner.leave(spec)
        self.cache.end_environment(spec)

    def close(self) -> None:
        opened, self._runners = self._runners, {}
        for runner in reversed(opened.values()):
            runner.close()
        self.cache.close()

    def leaks(self) -> tuple[str, ...]:
        """Returns what the environments left behind. Call it after `close`."""
        return self.resources.pool.leaks()

    def _runner(self, suite: str) -> SuiteRunner[Any]:
        """Opens the runner of a suite when it is first needed."""
        if suite not in self._runners:
            self._runners[suite] = installed_suites()[suite].open(self._run)
        return self._runners[suite]
