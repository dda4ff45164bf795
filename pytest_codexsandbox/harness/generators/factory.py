"""Case cache factory: opens the cache. No generator runs before its confinement is proved."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pytest_codexsandbox.generators.confinement_proof import ConfinementProof, confined
from pytest_codexsandbox.generators.file_store import FileStore
from pytest_codexsandbox.guest import escape_attempts
from pytest_codexsandbox.harness.generators import control_generators
from pytest_codexsandbox.harness.generators.case_cache import CaseCache, CheckOutcome
from pytest_codexsandbox.harness.generators.case_runner import CellCaseRunner
from pytest_codexsandbox.harness.generators.codex_claims import CodexClaimSource
from pytest_codexsandbox.harness.worker_resources import WorkerResources
from pytest_codexsandbox.matrix.generator_cells import GeneratorSet
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.generator import Finding
from pytest_codexsandbox.protocols import Environment

_OWN: Final = {"mnt": "mounts", "pid": "processes", "net": "network interfaces"}
_ASK: Final = f"import os; print(*(os.readlink('/proc/self/ns/' + name) for name in {tuple(_OWN)}))"


def open_case_cache(
    resources: WorkerResources,
    writers: GeneratorSet,
    *,
    folder: Path,
    unconfined: bool,
    inside: EnvironmentSpec | None = None,
) -> CaseCache:
    """Returns a case cache. Raises CannotConfine where nothing confines, unless the user allowed that. `inside`: the
    environment where generators run."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    confinement, proof = confined(folder, unconfined=unconfined or inside is not None)
    runner = CellCaseRunner(resources, writers, folder=folder, confinement=confinement, inside=inside)
    return CaseCache(
        resources,
        writers,
        runner=runner,
        claims=CodexClaimSource(resources),
        controls=KnownGenerators(
            resources, runner, proof, inside=inside, unconfined=inside is None and not confinement.by
        ),
        store=FileStore(folder / "contents"),
    )


class KnownGenerators:
    """Runs the control generators once for each worker. Neither the confinement nor these generators depend on a
    cell."""

    def __init__(
        self,
        resources: WorkerResources,
        runner: CellCaseRunner,
        proof: ConfinementProof,
        *,
        inside: EnvironmentSpec | None,
        unconfined: bool,
    ) -> None:
        self._resources, self._runner, self._proof = resources, runner, proof
        self._inside, self._unconfined = inside, unconfined
        self._findings: tuple[Finding, ...] = ()

    def outcome(self, cell: Cell) -> CheckOutcome:
        self._findings = self._findings or self._found()
        by = f"known-generators-{cell.subject.label}"
        return CheckOutcome(findings=self._findings, by=by, unconfined=self._unconfined)

    def _found(self) -> tuple[Finding, ...]:
        apart = () if self._inside is None else _apart(self._resources.pool.acquire(self._inside))
        return (*_walls(self._proof), *apart, *control_generators.findings(self._runner.run_case))


def _walls(proof: ConfinementProof) -> Iterator[Finding]:
    """Yields a finding for each act that the confinement must stop. Yields none where the user allowed unconfined
    generators: that is a verdict of its own, and no evidence."""
    for row in proof.rows:
        yield Finding(
            claim=f"a generator cannot {row.act}",
            saw=row.inside or "it was done",
            held=row.inside != "",
            control=row.excuse or row.outside or "outside it was done",
            control_held=row.held or row.inside == "",
            direction="" if row.inside else "leak",
        )


def _apart(environment: Environment) -> Iterator[Finding]:
    """Yields a finding for each namespace that the container of generators must have of its own, as confinement on this
    machine gives it."""
    python, _ = environment.guest
    done = environment.run(
        Command(argv=(python, "-I", "-S", "-c", _ASK), cwd="/", env={}, aside=True, why="namespaces of the container")
    )
    said = done.stdout.decode("ascii", "replace").split()
    ours = escape_attempts.spaces()
    for place, (name, word) in enumerate(_OWN.items()):
        theirs = said[place] if done.ended == "exit" and len(said) == len(_OWN) else ""
        yield Finding(
            claim=f"generators have {word} of their own",
            saw=theirs or "could not be read",
            held=theirs not in ("", ours[name]),
            control=f"the machine's are {ours[name]}",
            control_held=bool(theirs),
            direction="" if theirs not in ("", ours[name]) else "leak",
        )
