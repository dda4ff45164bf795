"""Sandbox suite: measures which limits Codex's sandbox keeps, by batteries of acts with a control for each."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from pytest_codexsandbox.harness.canaries import Canaries
from pytest_codexsandbox.harness.sandbox_runner import SandboxRunner
from pytest_codexsandbox.harness.suites.plan_scope import PlanScope
from pytest_codexsandbox.harness.suites.run_resources import RunResources
from pytest_codexsandbox.harness.trial import RealTrial
from pytest_codexsandbox.matrix.generator_cells import led_to
from pytest_codexsandbox.matrix.plan import OWN_CALL, not_at
from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.suite_index import SANDBOX_TRAITS
from pytest_codexsandbox.model.suite_traits import SANDBOX
from pytest_codexsandbox.registry import data_folder, default_door, doors
from pytest_codexsandbox.suite_protocols import Side, Suite, SuiteRun, SuiteScope


class SandboxSuite(Suite[RealTrial]):
    traits = SANDBOX_TRAITS
    fixture = "trial"

    def folder(self) -> Path:
        return data_folder("scenarios")

    def sides(self, scope: SuiteScope, cell: Cell) -> Sequence[Side]:
        """Returns the doors and policies to measure. In a cell with a generator: where a file counts, under the
        policies that the generator leads to."""
        policies = [policy for policy in POLICIES if policy in scope.policies]
        if cell.subject.generator:
            measured = [doors()[name] for name in scope.doors]
            for_files = doors()[default_door("files")]
            return led_to(cast(PlanScope, scope).writers, cell, doors=measured, policies=policies, for_files=for_files)
        return tuple((door, policy) for door in scope.doors for policy in policies)

    def why_not(self, scope: SuiteScope, promise: Promise, cell: Cell, door: str) -> str:
        known = doors()[door]
        if cell.subject.generator and promise.call is not None and not known.asks_own_calls:
            return OWN_CALL  # the generator's settings apply there, and not those that the call needs
        return not_at(promise, known)

    def open(self, run: SuiteRun) -> SandboxRunner:
        resources = cast(RunResources, run)
        cache = resources.cache
        own = (pair for pair in resources.pairs if pair[0].suite == SANDBOX and pair[0].id in cache.promises)
        return SandboxRunner(cache, Canaries(cache, tuple(own)))
