"""Measurement: everything that one worker measures with. Each part gets the parts below it."""

from collections.abc import Sequence
from typing import Any

from pytest_codexsandbox.harness.codex_resolver import Resolver
from pytest_codexsandbox.harness.event_sink import EventSink
from pytest_codexsandbox.harness.observation_cache import ObservationCache
from pytest_codexsandbox.harness.run_request import RunRequest
from pytest_codexsandbox.harness.suites.plan_scope import PlanScope
from pytest_codexsandbox.harness.suites.run_resources import Pairs, RunResources
from pytest_codexsandbox.harness.suites.runners import SuiteRunners
from pytest_codexsandbox.harness.worker_resources import WorkerOptions, WorkerResources
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.suite_protocols import SuiteRunner


class Measurement:
    """Opens everything that one worker measures with. Not thread-safe. `close()` ends all that was started. `pairs`:
    promises with their functions."""

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
        self._runners = SuiteRunners(suites)
        self.cache = ObservationCache(plan, self.resources, configs=self._runners)
        run = RunResources(
            self.cache,
            request=request,
            scope=scope,
            pairs=pairs,
            invocation=invocation,
            generator_unconfined=generator_unconfined,
            generators_in=generators_in,
        )
        self._runners.serve(run)

    def runner_of(self, key: Key) -> SuiteRunner[Any]:
        """Returns the runner of the key's suite."""
        return self._runners.of(self.cache.promises[key.promise].suite)

    def end_environment(self, spec: EnvironmentSpec) -> None:
        """Ends an environment, after everything that runs in it."""
        self._runners.leave(spec)
        self.cache.end_environment(spec)

    def close(self) -> None:
        self._runners.close()
        self.cache.close()

    def leaks(self) -> tuple[str, ...]:
        """Returns what the environments left behind. Call it after `close`."""
        return self.resources.pool.leaks()
