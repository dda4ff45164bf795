"""Suite runners: run the tests of each suite in this process. Each is opened when it is first needed."""

from collections.abc import Sequence
from typing import Any

from pytest_codexsandbox.harness.suites.installed import installed_suites
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec
from pytest_codexsandbox.protocols import WriteConfig
from pytest_codexsandbox.suite_protocols import SuiteRun, SuiteRunner


class SuiteRunners:
    """Opens and closes suite runners. `asked`: the suites that have a part in this run, in order. Call `serve` before
    the first of them."""

    def __init__(self, asked: Sequence[str]) -> None:
        self._asked = tuple(asked)
        self._run: SuiteRun | None = None
        self._opened: dict[str, SuiteRunner[Any]] = {}

    def serve(self, run: SuiteRun) -> None:
        self._run = run

    def of(self, suite: str) -> SuiteRunner[Any]:
        if suite not in self._opened:
            assert self._run is not None
            self._opened[suite] = installed_suites()[suite].open(self._run)
        return self._opened[suite]

    def writer(self, cell: Cell, policy: str) -> WriteConfig:
        """Returns the function that writes Codex's configuration in a cell with a generator, of the first suite that
        brings one."""
        found = (self.of(suite).config_writer(cell, policy) for suite in self._asked)
        return next(writer for writer in found if writer is not None)

    def leave(self, spec: EnvironmentSpec) -> None:
        """Ends what runs in an environment, before the environment ends."""
        for runner in reversed(self._opened.values()):
            runner.leave(spec)

    def close(self) -> None:
        opened, self._opened = self._opened, {}
        for runner in reversed(opened.values()):
            runner.close()
