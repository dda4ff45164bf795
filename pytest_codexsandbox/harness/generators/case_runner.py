"""Case runner: runs generators in private folders, confined, with a cell's Codex beside them."""

from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.generators import own_policy
from pytest_codexsandbox.generators.bad.catalogue import USER
from pytest_codexsandbox.generators.case_run import CaseRunner, open_case_runner
from pytest_codexsandbox.generators.confinement import Confinement
from pytest_codexsandbox.generators.runner import GeneratorCall
from pytest_codexsandbox.generators.third_party.install import install, ready
from pytest_codexsandbox.harness.worker_resources import WorkerResources
from pytest_codexsandbox.matrix import generator_specs
from pytest_codexsandbox.matrix.generator_cells import GeneratorSet
from pytest_codexsandbox.matrix.request_channels import UNTOLD
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec
from pytest_codexsandbox.model.generator import Case, CaseRun, DecisionRow, Finding, Intent
from pytest_codexsandbox.model.generator_spec import Generator
from pytest_codexsandbox.system.progress import Progress

ORDINARY: Final = Case(id="ordinary", why="an ordinary file", config=USER)


class CellCaseRunner:
    """Runs the cases of one worker's cells. `confinement`: proved before. `folder`: this worker's, below the run's
    worlds. `inside`: the environment in which generators run instead of this machine."""

    def __init__(
        self,
        resources: WorkerResources,
        writers: GeneratorSet,
        *,
        folder: Path,
        confinement: Confinement,
        inside: EnvironmentSpec | None = None,
    ) -> None:
        self._resources, self._writers, self._inside = resources, writers, inside
        self._there: dict[str, Generator] = {}
        self._folder, self._confinement = folder, confinement
        self._runner: CaseRunner | None = None

    def case_run(self, cell: Cell, case: Case, intent: Intent) -> CaseRun:
        intent = case.intent or intent
        return self._open().run_case(
            self._had(cell.subject.generator),
            case,
            intent,
            version=self._version(cell),
            codex=self._codex(cell),
            row=self._row(cell, intent),
        )

    def run_case(self, generator: Generator, case: Case, intent: Intent) -> CaseRun:
        """Runs a control generator, which belongs to no cell: no Codex is beside it, and it runs on this machine."""
        if self._inside is None:
            return self._open().run_case(generator, case, intent, version="")
        with open_case_runner(self._folder, self._confinement) as runner:
            return runner.run_case(generator, case, intent, version="")

    def strained(self, kind: str, cell: Cell, case: str, intent: Intent) -> tuple[Finding, ...]:
        from pytest_codexsandbox.generators.stress import STRESS_CHECKS, StressContext

        environment = self._resources.pool.acquire(self._inside) if self._inside is not None else None
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return STRESS_CHECKS[kind](
            StressContext(
                generator=self._had(cell.subject.generator),
                intent=intent,
                other=_other(intent),
                case=ORDINARY,
                beside=case,
                named=self._had,
                version=self._version(cell),
                codex=self._codex(cell),
                folder=self._folder,
                confinement=self._confinement,
                row=self._row(cell, intent),
                environment=environment,
            )
        )

    def close(self) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            runner.close()

    # ---- inside
    def _open(self) -> CaseRunner:
        if self._runner is None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            environment = self._resources.pool.acquire(self._inside) if self._inside is not None else None
            self._runner = CaseRunner(self._folder, self._confinement, environment=environment)
        return self._runner

    def _row(self, cell: Cell, intent: Intent) -> DecisionRow | None:
        """Returns the row of the decision matrix; without a request, the generator's own policy."""
        found = self._writers.row(cell, intent, self._version(cell))
        if found is not UNTOLD:
            return found
        runner, one = self._open(), self._had(cell.subject.generator)
        asked = GeneratorCall(generator=one, intent=intent, version=self._version(cell), codex=self._codex(cell))
        return own_policy.row(runner.alone(asked), runner.world())

    def leave(self, spec: EnvironmentSpec) -> None:
        """Closes the case runner before its environment ends. The next case opens a new one."""
        if self._inside is not None and spec.id == self._inside.id:
            self.close()

    def _codex(self, cell: Cell) -> str:
        """Returns the path of Codex in the place where generators run."""
        subject = self._resources.programs.subject(cell.subject)
        if self._inside is None:
            return subject.binary
        return subject.inside(self._resources.pool.acquire(self._inside)).binary

    def _version(self, cell: Cell) -> str:
        return self._resources.programs.version(cell)

    def _had(self, name: str) -> Generator:
        """Returns the generator, with its program installed if it comes from a registry. Unavailable names the reason
        if it cannot be installed."""
        from pytest_codexsandbox.generators.other_writers import WRITERS

        if name not in self._there:
            known = WRITERS.get(name) or self._writers.generators[name]
            self._there[name] = installed(known, self._resources.options.cache)
        return self._there[name]


def _other(intent: Intent) -> Intent:
    """Returns an intent that leads to another file."""
    return Intent(network=not intent.network) if intent.roots else msgspec.structs.replace(intent, roots=("@ROOT0@",))


def installed(generator: Generator, cache: Path, *, progress: Progress | None = None) -> Generator:
    """Returns the generator with its programs installed. Raises Unavailable where one cannot be installed."""
    parts = tuple(installed(part, cache, progress=progress) for part in generator.spec.parts)
    if parts:
        return msgspec.structs.replace(generator, spec=msgspec.structs.replace(generator.spec, parts=parts))
    if not generator.declaration.install:
        return generator
    declaration = ready(generator.declaration, install(generator.declaration, cache, progress=progress))
    spec = generator_specs.parse(declaration.run)
    return msgspec.structs.replace(generator, declaration=declaration, spec=spec)
