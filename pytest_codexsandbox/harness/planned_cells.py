"""Planned cells: the cells of a matrix file, except those that this machine cannot measure."""

from collections.abc import Sequence

import msgspec

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.harness import feasibility
from pytest_codexsandbox.harness.feasibility import CONTAINERS
from pytest_codexsandbox.harness.planning_facts import PlanningFacts, named_environments
from pytest_codexsandbox.matrix.expand import Expanded, expand
from pytest_codexsandbox.matrix.load import MatrixFile
from pytest_codexsandbox.matrix.suggestions import did_you_mean
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec


def expand_cells(
    matrix: MatrixFile,
    subjects: Sequence[SubjectSpec],
    known: PlanningFacts,
    *,
    pairs: int | None,
    hosts: Sequence[str],
    generators: Sequence[str] = (),
) -> Expanded:
    measured, there = _measurable(matrix, subjects, known)
    if known.lacks and not (there and (measured.environments or measured.containers)):
        raise feasibility.nothing(matrix.preset, known.lacks)
    found = expand(
        measured,
        environments=named_environments(measured),
        subjects=there,
        pairs=pairs,
        left=known.left,
        hosts=[host for host in hosts if host not in known.silent],
        picked=known.picked,
        generators=generators,
    )
    lacking = tuple(one.not_planned for one in known.lacks)
    return msgspec.structs.replace(found, not_planned=(*lacking, *found.not_planned))


def for_listing(known: PlanningFacts, matrix: MatrixFile, subjects: Sequence[SubjectSpec]) -> PlanningFacts:
    """Returns facts for a list of tests. Where nothing can be measured here, the list shows what could be measured
    elsewhere: a list needs no engine. Otherwise the list is that of the run."""
    measured, there = _measurable(matrix, subjects, known)
    if there and (measured.environments or measured.containers):
        return known
    return msgspec.structs.replace(known, lacks=(), silent=())


def _measurable(
    matrix: MatrixFile, subjects: Sequence[SubjectSpec], known: PlanningFacts
) -> tuple[MatrixFile, tuple[SubjectSpec, ...]]:
    """Returns the matrix file and the Codex binaries without the parts that this machine cannot measure."""
    lacking = {one.part for one in known.lacks}
    kept = tuple(name for name in matrix.environments if feasibility.environment_part(name) not in lacking)
    containers = None if CONTAINERS in lacking else matrix.containers
    measured = msgspec.structs.replace(matrix, environments=kept, containers=containers)
    return measured, tuple(one for one in subjects if feasibility.release(one.label) not in lacking)


def environment_named(name: str, cells: Sequence[Cell]) -> EnvironmentSpec | None:
    """Returns the container of the cell (or environment) that --codex-generator-in names."""
    by_environment = {cell.environment.id: cell.environment for cell in cells}
    named = by_environment | {cell.id: cell.environment for cell in cells}
    if name and (name not in named or named[name].backend == "local"):
        there = [one for one, spec in by_environment.items() if spec.backend != "local"]
        why = did_you_mean(name, there) if there else "no cell of this run is in a container"
        raise InputError(f"generators cannot run in {name!r}", where="--codex-generator-in", why=why)
    return named[name] if name else None
