"""Expansion: turns a matrix file into cells, without excluded, impossible or unavailable ones. Pure."""

from collections.abc import Mapping, Sequence

import msgspec

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.combinations import EXCLUDED, LeftOut
from pytest_codexsandbox.matrix.container_cells import CellChooser, Chosen, PickedCells, spread
from pytest_codexsandbox.matrix.exclusions import placed
from pytest_codexsandbox.matrix.load import MatrixFile
from pytest_codexsandbox.matrix.suggestions import did_you_mean
from pytest_codexsandbox.matrix.where_clause import fits
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.coverage import Coverage
from pytest_codexsandbox.model.ids import as_value, is_value
from pytest_codexsandbox.model.plan_key import NotPlanned


class Expanded(msgspec.Struct, frozen=True, kw_only=True):
    cells: tuple[Cell, ...]
    not_planned: tuple[NotPlanned, ...] = ()
    picked: PickedCells | None = None

    @property
    def coverage(self) -> Coverage | None:
        return self.picked.coverage if self.picked else None


def cells(
    matrix: MatrixFile, *, environments: Mapping[str, EnvironmentSpec], subjects: tuple[SubjectSpec, ...]
) -> tuple[Cell, ...]:
    """Returns the cells. `environments`: name in the matrix file → environment on this machine."""
    return expand(matrix, environments=environments, subjects=subjects).cells


def expand(
    matrix: MatrixFile,
    *,
    environments: Mapping[str, EnvironmentSpec],
    subjects: tuple[SubjectSpec, ...],
    pairs: int | None = None,
    left: Sequence[LeftOut] = (),
    hosts: Sequence[str] = (),
    picked: PickedCells | None = None,
    generators: Sequence[str] = (),
) -> Expanded:
    """Returns the cells and what is not planned.

    `pairs`: replaces the matrix file's; `left`: axis values that are unavailable here; `hosts`: of engines; `picked`:
    found by another process of this run; `generators`: names, each combined with every cell ("" means none).
    """
    _labels(subjects)
    started = [Cell(environment=spec, subject=one) for spec in _specs(matrix, environments) for one in subjects]
    reasons = {cell.id: _excluded(matrix, cell) for cell in started}
    away = [NotPlanned(what=cell, why=why, kind=EXCLUDED) for cell, why in reasons.items() if why]
    contained = _contained(matrix, environments, subjects, pairs=pairs, left=left, picked=picked)
    kept = [*(cell for cell in started if not reasons[cell.id]), *contained.cells]
    away += contained.not_planned
    if not kept:
        why = "; ".join(dict.fromkeys(f"{one.what}: {one.why}" for one in away[:3])) or "no Codex to measure"
        raise InputError(f"{matrix.preset}: no cell is left", why=why)
    spread_out = spread(_with_generators(kept, generators), hosts)
    return Expanded(cells=spread_out, not_planned=tuple(away), picked=contained.picked)


def _with_generators(cells: Sequence[Cell], names: Sequence[str]) -> list[Cell]:
    """Combines every cell with every generator. Generators are no axis of the pairs: each is measured in all cells."""
    return [
        msgspec.structs.replace(cell, subject=msgspec.structs.replace(cell.subject, generator=name))
        for cell in cells
        for name in names or ("",)
    ]


def _specs(matrix: MatrixFile, environments: Mapping[str, EnvironmentSpec]) -> list[EnvironmentSpec]:
    specs = []
    for name in matrix.environments:
        if name not in environments:
            raise InputError(f"there is no environment {name!r} here", why=did_you_mean(name, list(environments)))
        specs.append(environments[name])
    return specs


def _contained(
    matrix: MatrixFile,
    environments: Mapping[str, EnvironmentSpec],
    subjects: Sequence[SubjectSpec],
    *,
    pairs: int | None,
    left: Sequence[LeftOut],
    picked: PickedCells | None,
) -> Chosen:
    if matrix.containers is None or not subjects:
        return Chosen()
    choice = CellChooser(matrix, subjects, arch=arch_of(environments), left=left)
    return choice.chosen(matrix.containers.pairs if pairs is None else pairs, picked)


def arch_of(environments: Mapping[str, EnvironmentSpec]) -> str:
    """Returns the architecture of this machine: engines run on machines like it."""
    return next((one.arch for one in environments.values()), "")


def _labels(subjects: tuple[SubjectSpec, ...]) -> None:
    seen: set[str] = set()
    for subject in subjects:
        if not is_value(subject.label):
            raise InputError(
                f"{subject.label!r} cannot be the name of a column",
                why="lower-case letters, digits and . + _ -",
                next_step=f"--codex-bin {as_value(subject.label)}=…",
            )
        if subject.label in seen:
            raise InputError(
                f"two Codex binaries are called {subject.label!r}: their results could not be distinguished",
                next_step="name each: --codex-bin before=PATH --codex-bin after=PATH",
            )
        seen.add(subject.label)


def _excluded(matrix: MatrixFile, cell: Cell) -> str:
    for exclude in matrix.exclude:
        if fits(exclude.where, cell.axes, version=placed(cell.subject)):
            return exclude.why
    return ""
