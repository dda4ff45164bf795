"""Run pruning: `--codex-keep-runs N` removes the folders of older runs after a run."""

from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

from pytest_codexsandbox.journal.run_folders import PrunedRun, prune
from pytest_codexsandbox.pytest_plugin.run import PytestRun
from pytest_codexsandbox.system.disk_use import in_words

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

    from pytest_codexsandbox.pytest_plugin.controller import Controller


class RunPruner:
    """Prunes once, in the user's own process, where this run has a journal. A fault here changes no exit status."""

    def __init__(self, run: PytestRun, controller: "Controller") -> None:
        self._run, self._controller = run, controller
        self._pruned: tuple[PrunedRun, ...] = ()

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        done = yield
        keep = self._run.settings.keep_runs
        if keep is not None and self._controller.journal is not None:  # its lock is held: this run is never removed
            self._pruned = prune(self._run.folder.parent, keep=keep)
        return done

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: "TerminalReporter") -> None:
        gone = [one.run for one in self._pruned if not one.left]
        if gone:
            size = in_words(sum(run.size for run in gone))
            runs = f"{len(gone)} older run{'' if len(gone) == 1 else 's'}"
            terminalreporter.write_line(f"removed {runs} ({size}): --codex-keep-runs {self._run.settings.keep_runs}")
        for one in self._pruned:
            if one.left:
                terminalreporter.write_line(f"{one.run.path} stays: {one.left[0]}", yellow=True)
