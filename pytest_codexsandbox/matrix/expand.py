"""Matrix file → cells: the cross product of what was asked for, less what the file excludes. Pure."""

from collections.abc import Mapping

import msgspec

from pytest_codexsandbox.errors import WrongInput
from pytest_codexsandbox.matrix import containers
from pytest_codexsandbox.matrix.load import MatrixFile
from pytest_codexsandbox.matrix.nearest import known
from pytest_codexsandbox.matrix.where import fits
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.ids import as_value, is_value
from pytest_codexsandbox.model.step import PlannedNothing


class Expanded(msgspec.Struct, frozen=True, kw_only=True):
    cells: tuple[Cell, ...]
    not_planned: tuple[PlannedNothing, ...] = ()


def cells(
    matrix: MatrixFile, *, environments: Mapping[str, EnvironmentSpec], subjects: tuple[SubjectSpec, ...]
) -> tuple[Cell, ...]:
    """`environments`: the matrix file's names → what they are on this machine."""
    return expand(matrix, environments=environments, subjects=subjects).cells


def expand(
    matrix: MatrixFile, *, environments: Mapping[str, EnvironmentSpec], subjects: tuple[SubjectSpec, ...]
) -> Expanded:
    """`cells`, and the ones that the file's [[exclude]] took out, with its reason."""
    _labels(subjects)
    found = [Cell(environment=spec, subject=subject) for spec in _specs(matrix, environments) for subject in subjects]
    reasons = {cell.id: _excluded(matrix, cell) for cell in found}
    kept = tuple(cell for cell in found if not reasons[cell.id])
    if not kept:
        raise WrongInput(f"{matrix.preset}: no cell is left", why=next(iter(reasons.values()), "no Codex to measure"))
    away = tuple(PlannedNothing(what=cell, why=why) for cell, why in reasons.items() if why)
    return Expanded(cells=kept, not_planned=away)


def _specs(matrix: MatrixFile, environments: Mapping[str, EnvironmentSpec]) -> list[EnvironmentSpec]:
    specs = []
    for name in matrix.environments:
        if name not in environments:
            raise WrongInput(f"there is no environment {name!r} here", why=known(name, list(environments)))
        specs.append(environments[name])
    if matrix.containers is not None:
        specs += containers.specs(matrix.containers, arch=next((one.arch for one in environments.values()), ""))
    return specs


def _labels(subjects: tuple[SubjectSpec, ...]) -> None:
    seen: set[str] = set()
    for subject in subjects:
        if not is_value(subject.label):
            raise WrongInput(
                f"{subject.label!r} cannot be the name of a column", why="lower-case letters, digits and . + _ -",
                next_step=f"--codex-bin {as_value(subject.label)}=…",
            )  # fmt: skip
        if subject.label in seen:
            raise WrongInput(
                f"two Codex binaries are called {subject.label!r}: their results could not be told apart",
                next_step="name each: --codex-bin before=PATH --codex-bin after=PATH",
            )
        seen.add(subject.label)


def _excluded(matrix: MatrixFile, cell: Cell) -> str:
    subject = cell.subject
    version = subject.as_version or subject.release or subject.label
    for exclude in matrix.exclude:
        if fits(exclude.where, cell.axes, version=version):
            return exclude.why
    return ""
