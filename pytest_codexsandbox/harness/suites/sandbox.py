"""Sandbox suite: measures which limits Codex's sandbox keeps, by batteries of acts with a control for each."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from pytest_codexsandbox.doors.repro.script import repro_script
from pytest_codexsandbox.errors import CodexSandboxError, LostCapability, NotApplicable
from pytest_codexsandbox.harness.canaries import Canaries
from pytest_codexsandbox.harness.suites.plan_scope import PlanScope
from pytest_codexsandbox.harness.suites.run_resources import RunResources
from pytest_codexsandbox.harness.trial import RealTrial
from pytest_codexsandbox.harness.trial_runner import (
    lost_capability,
    make_trial,
    missing_capability,
    not_applicable_in_environment,
    not_applicable_reason,
    prefetch,
)
from pytest_codexsandbox.matrix.generator_cells import led_to
from pytest_codexsandbox.matrix.plan import not_at
from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.suite_index import SANDBOX_TRAITS
from pytest_codexsandbox.model.suite_traits import SANDBOX
from pytest_codexsandbox.registry import data_folder, default_door, doors
from pytest_codexsandbox.suite_protocols import Side, Suite, SuiteRun, SuiteRunner, SuiteScope


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
        return not_at(promise, doors()[door])

    def open(self, run: SuiteRun) -> "SandboxRunner":
        return SandboxRunner(cast(RunResources, run))


class SandboxRunner(SuiteRunner[RealTrial]):
    def __init__(self, run: RunResources) -> None:
        self._cache = run.cache
        own = (pair for pair in run.pairs if pair[0].suite == SANDBOX and pair[0].id in run.cache.promises)
        self._canaries = Canaries(run.cache, tuple(own))

    def open_trial(self, key: Key) -> RealTrial:
        """Returns the trial of the key, with all its calls performed."""
        promise = self._cache.promises[key.promise]
        if reason := not_applicable_reason(promise, self._cache, key):
            missing = missing_capability(promise, self._cache, key)
            lost = lost_capability(self._cache.cells[key.cell].subject, missing)
            raise LostCapability(lost) if lost else NotApplicable(reason)
        trial = make_trial(self._cache, key, canaries=self._canaries)
        if missing := not_applicable_in_environment(promise, self._cache, key):
            raise NotApplicable(missing)
        return trial

    def prefetch(self, key: Key) -> bool:
        return prefetch(self._cache, key)

    def repro(self, trial: RealTrial, record: Record) -> str:
        """Returns a script for the first row that did not hold."""
        bad = next((row for row in record.evidence if not row.held), None)
        seen = next((seen for seen in trial.seen if bad is None or seen.id == bad.call), trial.seen[0])
        promise = trial.promise
        acts = {promise.act_id(name): act for name, act in promise.acts.items()}
        chosen = {bad.act: acts[bad.act]} if bad and bad.act in acts else acts
        stdin = trial.stdin.get(seen.id, promise.call.stdin if promise.call else b"")
        try:
            entrance = self._cache.pool.get(self._cache.cells[record.key.cell].environment).entrance
            return repro_script(seen, acts=chosen, stdin=stdin, entrance=entrance, about=str(record.key))
        except CodexSandboxError:
            return ""
