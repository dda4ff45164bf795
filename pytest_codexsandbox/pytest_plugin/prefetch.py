"""From one call to the next, and from one environment to the next: the next call is performed while the tests of this
one run, the next environment is started while this one works, and this one ends with its last test."""

import itertools
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec
from pytest_codexsandbox.model.suite_index import SuiteIndex
from pytest_codexsandbox.pytest_plugin.collection import KEY
from pytest_codexsandbox.pytest_plugin.run import PytestRun, get_run
from pytest_codexsandbox.pytest_plugin.work_units import WorkUnit, share_of

_TURN: Final = 0.0005  # seconds


class Prefetcher:
    """Registered in every process that runs items."""

    def __init__(self, config: pytest.Config) -> None:
        self._run: PytestRun = get_run(config)
        self._next: dict[str, EnvironmentSpec] = {}
        self._cells: dict[str, Cell] = {}
        self._suites = SuiteIndex()
        self._items: list[pytest.Item] = []
        self._places: dict[pytest.Item, int] = {}
        self._here: WorkUnit | None = None
        self._foreseen = 0  # items before this one need no call, of the share that runs

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        plan = self._run.plan
        if plan is not None:
            self._cells, self._suites = {cell.id: cell for cell in plan.cells}, plan.suite_index()
        if not self._run.is_worker:  # a worker learns of its next share when it gets it
            order = list(dict.fromkeys(spec.id for item in session.items if (spec := self._spec(item)) is not None))
            specs = {cell.environment.id: cell.environment for cell in self._cells.values()}
            self._next = {one: specs[other] for one, other in itertools.pairwise(order)}
        self._items, self._places = session.items, {item: at for at, item in enumerate(session.items)}
        with _patient():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """An item's call is performed in its setup: afterwards Codex has nothing to do until the next is begun."""
        done = yield
        here = self._share(item)
        if here != self._here:
            self._here, self._foreseen = here, 0
        at = max(self._foreseen, self._places.get(item, len(self._items)) + 1)
        while at < len(self._items) and here is not None and self._next_call(self._items[at], here):
            at += 1
        self._foreseen = at
        return done

    def _next_call(self, item: pytest.Item, here: WorkUnit) -> bool:
        """Begin it; or whether the item needs none, so that the one behind it is the next."""
        coming = self._share(item)
        if coming is None or coming.environment != here.environment:
            return False
        if self._run.is_worker and coming != here:  # perhaps another worker's
            return False
        key = item.stash[KEY]
        return self._run.runner_of(key).prefetch(key)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        here = self._spec(item)
        coming = self._spec(nextitem)
        if here is None:
            return (yield)
        if coming is not None and coming.id != here.id:
            self._run.bench.prefetch_environment(coming)
        done = yield
        if here.id in self._next:
            self._run.bench.prefetch_environment(self._next.pop(here.id))
        if coming is None or coming.id != here.id:
            self._run.bench.end_environment(here)
        return done

    def _cell(self, item: pytest.Item | None) -> Cell | None:
        key = item.stash.get(KEY, None) if item is not None else None
        return self._cells.get(key.cell) if key is not None else None

    def _spec(self, item: pytest.Item | None) -> EnvironmentSpec | None:
        cell = self._cell(item)
        return cell.environment if cell is not None else None

    def _share(self, item: pytest.Item) -> WorkUnit | None:
        cell = self._cell(item)
        return share_of(item.stash[KEY], cell, self._suites) if cell is not None else None


@contextmanager
def _patient() -> Iterator[None]:
    """Gives the thread that performs the next call its turn at once. By default a thread of Python waits 5 ms for
    another one that computes: at each answer of the agent, and a call has several."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, _TURN))
    try:
        yield
    finally:
        sys.setswitchinterval(before)
