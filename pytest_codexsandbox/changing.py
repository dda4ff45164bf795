"""From one environment to the next: the next is started while this one works, and this one ends with its last test."""

import itertools
from collections.abc import Generator

import pytest

from pytest_codexsandbox.collection import KEY
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.running import Run, of


class Changing:
    """Registered in every process that runs items."""

    def __init__(self, config: pytest.Config) -> None:
        self._run: Run = of(config)
        self._next: dict[str, EnvironmentSpec] = {}
        self._specs: dict[str, EnvironmentSpec] = {}  # by cell

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        plan = self._run.plan
        self._specs = {cell.id: cell.environment for cell in plan.cells} if plan is not None else {}
        if not self._run.is_worker:  # a worker learns of its next group when it gets it
            order = list(dict.fromkeys(spec.id for item in session.items if (spec := self._spec(item)) is not None))
            specs = {spec.id: spec for spec in self._specs.values()}
            self._next = {one: specs[other] for one, other in itertools.pairwise(order)}
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        here = self._spec(item)
        coming = self._spec(nextitem)
        if here is None:
            return (yield)
        if coming is not None and coming.id != here.id:
            self._run.bench.ahead(coming)
        done = yield
        if here.id in self._next:
            self._run.bench.ahead(self._next.pop(here.id))
        if coming is None or coming.id != here.id:
            self._run.bench.done(here)
        return done

    def _spec(self, item: pytest.Item | None) -> EnvironmentSpec | None:
        key = item.stash.get(KEY, None) if item is not None else None
        if key is None:
            return None
        return self._specs.get(key.cell)
