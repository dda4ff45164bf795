"""Generator suite: checks, case by case, what a program writes that configures Codex."""

import shlex
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pytest_codexsandbox.errors import LostCapability
from pytest_codexsandbox.harness.sandbox_runner import lost_capability
from pytest_codexsandbox.harness.suites.plan_scope import PlanScope
from pytest_codexsandbox.harness.suites.run_resources import RunResources
from pytest_codexsandbox.matrix import generator_cells
from pytest_codexsandbox.matrix.requirements import has
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec
from pytest_codexsandbox.model.generator_suite import AS_ASKED, DOOR, TRAITS
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.protocols import WriteConfig
from pytest_codexsandbox.registry import data_folder
from pytest_codexsandbox.reports.terminal_causes import again
from pytest_codexsandbox.suite_protocols import Side, Suite, SuiteRun, SuiteRunner, SuiteScope

if TYPE_CHECKING:
    from pytest_codexsandbox.harness.generators.case_cache import CaseCache
    from pytest_codexsandbox.harness.generators.trial import RealGeneratorTrial


class GeneratorSuite(Suite["RealGeneratorTrial"]):
    traits = TRAITS
    fixture = "codex_writing"
    doors = (DOOR,)

    def folder(self) -> Path:
        return data_folder("scenarios")

    def is_asked(self, scope: SuiteScope) -> bool:
        return bool(scope.generators)

    def sides(self, scope: SuiteScope, cell: Cell) -> Sequence[Side]:
        return ((DOOR, AS_ASKED),) if cell.subject.generator else ()

    def cases(self, scope: SuiteScope, promise: Promise, cell: Cell) -> Sequence[str]:
        return generator_cells.cases_of(cast(PlanScope, scope).writers, promise, cell)

    def ruled_out(self, scope: SuiteScope, key: Key, promise: Promise, cell: Cell) -> str:
        return generator_cells.ruled_out(cast(PlanScope, scope).writers, key, promise, cell)

    def complete(self, scope: SuiteScope, plan: Plan, promises: Sequence[Promise]) -> Plan:
        return generator_cells.add_cases(plan, cast(PlanScope, scope).writers, promises)

    def open(self, run: SuiteRun) -> "GeneratorRunner":
        return GeneratorRunner(cast(RunResources, run))


class GeneratorRunner(SuiteRunner["RealGeneratorTrial"]):
    def __init__(self, run: RunResources) -> None:
        self._run = run

    @cached_property
    def _cases(self) -> "CaseCache":
        """Opens the case cache. No generator runs before its confinement is proved, or the user allowed unconfined
        runs."""
        from pytest_codexsandbox.harness.generators.factory import open_case_cache  # expensive to import

        run = self._run
        return open_case_cache(
            run.resources,
            run.scope.writers,
            folder=run.folder / "generators",
            unconfined=run.generator_unconfined,
            inside=run.generators_in,
        )

    def open_trial(self, key: Key) -> "RealGeneratorTrial":
        """Returns a trial that has run nothing yet: each of its methods runs what it needs."""
        from pytest_codexsandbox.harness.generators.trial import RealGeneratorTrial

        cell, promise = self._run.cell(key), self._run.promise(key)
        asked = [word.removeprefix("capability:") for word in promise.requires if word.startswith("capability:")]
        able = self._run.resources.programs.able(cell) if asked else None
        missing = next((word for word in asked if able is not None and not has(able, word)), "")
        if lost := lost_capability(cell.subject, missing):
            raise LostCapability(lost)
        return RealGeneratorTrial(key, promise, cell=cell, cases=self._cases)

    def config_writer(self, cell: Cell, policy: str) -> WriteConfig:
        return self._cases.writer(cell, policy)

    def repro(self, trial: "RealGeneratorTrial", record: Record) -> str:
        """Returns a script that shows a case again, in private folders and confined as here. A promise that needs other
        writers, strace or an older shape is shown by the whole run, narrowed to this promise."""
        from pytest_codexsandbox.harness.generators.single_case import OVER

        run, subject = self._run, trial.cell.subject
        generator = run.scope.writers.generator(trial.cell)
        spec = generator.as_asked if generator.declaration.run else f"{generator.name}={generator.spec}"
        words = ["codexsandbox", "generator", "try", "--case", trial.case]
        if trial.promise.over not in OVER or run.request.generator_in:
            words = [*again(("pytest", *run.invocation), (trial.key.promise,))]
        else:
            place = f"@{subject.as_version}" if subject.as_version else ""
            words += ["--codex-bin", f"{subject.label}={subject.path}{place}"] if subject.source == "path" else []
            words += ["--codex-release", subject.release] if subject.source != "path" and subject.release else []
            words += ["--codex-generator-unconfined"] if run.generator_unconfined else []
            words += ["--", spec]
        return f"#!/bin/sh\n# {trial.key}\ncd {shlex.quote(str(Path.cwd()))} && exec {shlex.join(words)}\n"

    def leave(self, spec: EnvironmentSpec) -> None:
        if "_cases" in self.__dict__:
            self._cases.leave(spec)

    def close(self) -> None:
        if "_cases" in self.__dict__:
            self.__dict__.pop("_cases").close()
