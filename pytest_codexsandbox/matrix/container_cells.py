"""Container cells: the container axes of a matrix file as cells: every combination, or few that hold every pair.
Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from math import prod
from typing import Any, Final

import msgspec

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix import pairwise
from pytest_codexsandbox.matrix.axis_files import Catalogue
from pytest_codexsandbox.matrix.combinations import UNAVAILABLE, CombinationSpace, LeftOut, Row, narrowed
from pytest_codexsandbox.matrix.exclusions import ENGINE, rules
from pytest_codexsandbox.matrix.load import Containers, MatrixFile
from pytest_codexsandbox.matrix.stand_ins import stand_ins
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.container import ContainerSpec
from pytest_codexsandbox.model.coverage import AXES, Coverage
from pytest_codexsandbox.model.ids import cell_id
from pytest_codexsandbox.model.plan_key import NotPlanned

BACKEND: Final = "docker"  # the backend of the cells of [containers]
INSTALLED: Final = "installed"
_MOST: Final = 20_000  # most combinations without picking: more take over a minute to plan
_NAMED: Final = 20  # most cells named for one reason; more are only counted
WhyNot = Callable[[EnvironmentSpec], str]


class PickedCells(msgspec.Struct, frozen=True, kw_only=True):
    """The picked rows, passed to other processes of the same run."""

    rows: tuple[Row, ...]
    coverage: Coverage


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    cells: tuple[Cell, ...] = ()
    not_planned: tuple[NotPlanned, ...] = ()
    picked: PickedCells | None = None


class CellChooser:
    """Chooses the cells of a matrix file. `left`: values that are unavailable here; `arch`: of the engine's machine."""

    def __init__(
        self, matrix: MatrixFile, subjects: Sequence[SubjectSpec], *, arch: str, left: Sequence[LeftOut] = ()
    ) -> None:
        assert matrix.containers is not None
        self._matrix, self._arch, self._left = matrix, arch, tuple(left)
        self._subjects = {subject.label: subject for subject in subjects}
        self._specs: dict[Row, EnvironmentSpec] = {}
        values = {**of_environments(matrix.containers), AXES[-1]: tuple(self._subjects)}
        made = rules(matrix, subjects, left=left, arch=arch, identify=_identified)
        self.space = CombinationSpace(values=values, rules=made)

    def chosen(self, strength: int, picked: PickedCells | None = None) -> Chosen:
        """Returns the cells and what is not planned. `strength` 0: every combination."""
        if strength:
            picked = picked or self.picked(strength)
            return Chosen(cells=self._cells(picked.rows), not_planned=self._unavailable(), picked=picked)
        if self.combinations > _MOST:
            raise InputError(
                f"{self._matrix.preset}: {self.combinations:,} cells are too many to plan",
                next_step="pick some that hold every pair of values: --codex-pairs 2",
            )
        whys = {row: self.space.why_not(row) for row in self.space.rows()}
        away: dict[tuple[str, str], list[Row]] = {}
        for row, (kind, why) in whys.items():
            if why and kind != UNAVAILABLE:
                away.setdefault((kind, why), []).append(row)
        cells = self._cells([row for row, (_, why) in whys.items() if not why])
        return Chosen(cells=cells, not_planned=(*self._told(away), *self._unavailable()))

    def picked(self, strength: int) -> PickedCells:
        locked = self.locked(strength)
        rows, coverage = pairwise.cover(self.space, strength, kept=(*locked, *stand_ins(self.space, locked)))
        return PickedCells(rows=rows, coverage=coverage)

    @property
    def combinations(self) -> int:
        return prod(map(len, self.space.values.values()))

    # ---- cells that were chosen earlier
    def locked(self, strength: int) -> tuple[Row, ...]:
        """Returns the rows of the lock file. A lock of larger strength than requested is ignored."""
        lock = self._matrix.lock
        if lock is None or lock.pairs > strength:
            return ()
        label = next((one.label for one in self._subjects.values() if one.source == INSTALLED), INSTALLED)
        return tuple((*row[:-1], label if row[-1] == INSTALLED else row[-1]) for row in lock.cells)

    def to_lock(self, strength: int) -> tuple[Row, ...]:
        """Returns the rows to lock, as if every value were available, and whatever release is installed today."""
        rows, _ = pairwise.cover(self.space, strength, kept=self.locked(strength))
        named = {label: INSTALLED for label, one in self._subjects.items() if one.source == INSTALLED}
        return tuple((*row[:-1], named.get(row[-1], row[-1])) for row in rows)

    def id_of(self, row: Row) -> str:
        return _cell_id(row)

    # ---- from names to specifications
    def _cells(self, rows: Iterable[Row]) -> tuple[Cell, ...]:
        return tuple(Cell(environment=self.spec(row[:-1]), subject=self._subjects[row[-1]]) for row in rows)

    def spec(self, names: Row) -> EnvironmentSpec:
        if names not in self._specs:
            self._specs[names] = environment(self._matrix, names, arch=self._arch)
        return self._specs[names]

    def _told(self, away: Mapping[tuple[str, str], Sequence[Row]]) -> Iterator[NotPlanned]:
        for (kind, why), rows in away.items():
            ids = [_cell_id(row) for row in rows]
            for name in ids if len(ids) <= _NAMED else [f"{len(ids):,} cells, the first {ids[0]}"]:
                yield NotPlanned(what=name, why=why, kind=kind)

    def _unavailable(self) -> tuple[NotPlanned, ...]:
        return tuple(
            NotPlanned(what=" + ".join(one.values.values()), why=one.why, kind=UNAVAILABLE) for one in self._left
        )


def of_environments(asked: Containers) -> dict[str, tuple[str, ...]]:
    return dict(zip(AXES[:-1], (asked.distros, asked.bwraps, asked.profiles, asked.users), strict=True))


def environment(matrix: MatrixFile, names: Row, *, arch: str) -> EnvironmentSpec:
    return of_values(matrix.catalogue, names, arch=arch)


def of_values(catalogue: Catalogue, names: Row, *, arch: str) -> EnvironmentSpec:
    distro, bwrap, profile, user = names
    found = [_value(catalogue, axis, name) for axis, name in zip(AXES, names, strict=False)]
    made = ContainerSpec(image=found[0], bwrap=found[1], profile=found[2], user=found[3])
    return EnvironmentSpec(
        id=environment_id(names),
        backend=BACKEND,
        distro=distro,
        profile=profile,
        user=user,
        engine=ENGINE,
        arch=arch,
        synthetic=made.profile.synthetic,
        resolver="ours",
        bwrap=bwrap,
        container=made,
    )


@cache
def _value(catalogue: Catalogue, axis: str, name: str) -> Any:
    """Returns a value by name, cached: a plan has thousands of environments of the same few values."""
    readers = {
        "distro": catalogue.image,
        "bwrap": catalogue.bwrap,
        "profile": catalogue.profile,
        "user": catalogue.user,
    }
    return readers[axis](name)


def environments(matrix: MatrixFile, *, arch: str) -> dict[tuple[str, ...], EnvironmentSpec]:
    """Returns every possible environment by its values."""
    if matrix.containers is None:
        return {}
    values = of_environments(matrix.containers)
    known = [one for one in rules(matrix, (), left=(), arch=arch, identify=_identified) if "codex" not in one.axes]
    space = CombinationSpace(values=values, rules=tuple(known))
    asked = [names for names in product(*values.values()) if not space.why_not(names)[1]]
    return {names: environment(matrix, names, arch=arch) for names in asked}


def unavailable_values(asked: Mapping[tuple[str, ...], EnvironmentSpec], why_not: WhyNot) -> tuple[LeftOut, ...]:
    """Returns the values that make environments unavailable."""
    return narrowed({names: why_not(spec) for names, spec in asked.items()}, AXES[:-1])


def spread(cells: Iterable[Cell], hosts: Sequence[str]) -> tuple[Cell, ...]:
    """Distributes environments over several engines in turn. The id of a cell does not contain its engine."""
    cells = tuple(cells)
    if not hosts:
        return cells
    theirs = {cell.environment.id: cell.environment for cell in cells if cell.environment.container is not None}
    placed = {
        id: msgspec.structs.replace(spec, engine_host=hosts[turn % len(hosts)])
        for turn, (id, spec) in enumerate(theirs.items())
    }
    return tuple(
        msgspec.structs.replace(cell, environment=placed.get(cell.environment.id, cell.environment)) for cell in cells
    )


def _identified(row: Mapping[str, str]) -> str:
    return environment_id([row[axis] for axis in AXES[:-1]])


def environment_id(names: Sequence[str]) -> str:
    distro, bwrap, profile, user = names
    return cell_id(distro, f"bwrap-{bwrap}", profile, user)


def _cell_id(row: Row) -> str:
    return cell_id(environment_id(row[:-1]), f"codex-{row[-1]}")
