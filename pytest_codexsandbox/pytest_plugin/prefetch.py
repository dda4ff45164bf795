"""Prefetch: starts the next Codex call and the next environment while tests of the current one run."""

import itertools
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

import pytest

from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.pytest_plugin.collection import KEY
from pytest_codexsandbox.pytest_plugin.run import PytestRun, get_run
from pytest_codexsandbox.pytest_plugin.work_units import WorkUnit, share_of

_TURN: Final = 0.0005  # seconds


class Step(NamedTuple):
    """An item of the matrix: its place in the order, its environment and its work unit."""

    at: int
    environment: EnvironmentSpec
    unit: WorkUnit


class Prefetcher:
    """Starts calls and environments ahead. Registered in every process that runs items."""

    def __init__(self, config: pytest.Config) -> None:
        self._run: PytestRun = get_run(config)
        self._next: dict[str, EnvironmentSpec] = {}
        self._items: list[pytest.Item] = []
        self._steps: dict[pytest.Item, Step] = {}
        self._here: WorkUnit | None = None
        self._ready = 0  # items of this unit before this one need no call

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        plan = self._run.plan
        if plan is not None and not session.config.getoption("collectonly"):
            self._items, self._steps = session.items, _steps(session.items, plan)
        if not self._run.is_worker:  # a worker learns of its next unit when it gets it
            specs = {step.environment.id: step.environment for step in self._steps.values()}  # in the items' order
            self._next = {one: specs[other] for one, other in itertools.pairwise(specs)}
        with _patient():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """Starts the next call after an item's setup. The setup performs the item's own call; afterwards Codex has
        nothing to do until the next one starts."""
        done = yield
        here = self._steps.get(item)
        if here is not None:
            self._start_next_call(here)
        return done

    def _start_next_call(self, here: Step) -> None:
        if here.unit != self._here:
            self._here, self._ready = here.unit, 0
        at = max(self._ready, here.at + 1)
        while at < len(self._items) and self._needs_no_call(self._items[at], here):
            at += 1
        self._ready = at

    def _needs_no_call(self, item: pytest.Item, here: Step) -> bool:
        """Starts the item's call. Returns whether it needs none, so that the next item may be looked at."""
        coming = self._steps.get(item)
        if coming is None or coming.environment.id != here.environment.id:
            return False
        if self._run.is_worker and coming.unit != here.unit:  # another worker may run it
            return False
        key = item.stash[KEY]
        return self._run.measurement.runner_of(key).prefetch(key)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        here = self._steps.get(item)
        if here is None:
            return (yield)
        coming = self._steps.get(nextitem) if nextitem is not None else None
        last = coming is None or coming.environment.id != here.environment.id
        if coming is not None and last:
            self._run.measurement.resources.pool.prefetch(coming.environment)
        done = yield
        if here.environment.id in self._next:
            self._run.measurement.resources.pool.prefetch(self._next.pop(here.environment.id))
        if last:
            self._run.measurement.end_environment(here.environment)
        return done


def _steps(items: Sequence[pytest.Item], plan: Plan) -> dict[pytest.Item, Step]:
    by_id, suites = {cell.id: cell for cell in plan.cells}, plan.suite_index()
    units, found = dict[WorkUnit, WorkUnit](), dict[pytest.Item, Step]()
    for at, item in enumerate(items):
        key = item.stash.get(KEY, None)
        if key is not None and key.cell in by_id:
            unit = share_of(key, by_id[key.cell], suites)
            found[item] = Step(at, by_id[key.cell].environment, units.setdefault(unit, unit))
    return found


@contextmanager
def _patient() -> Iterator[None]:
    """Gives the thread of the next call its turn at once. By default a thread of Python waits 5 ms for a thread that
    computes: at each answer of the agent, and a call has several."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, _TURN))
    try:
        yield
    finally:
        sys.setswitchinterval(before)
