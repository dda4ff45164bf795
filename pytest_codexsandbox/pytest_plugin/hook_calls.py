"""Hook calls: calls the hooks of hookspecs.py in plugins and conftest files, and reports their errors as theirs."""

import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.combinations import EXCLUDED
from pytest_codexsandbox.matrix.expand import Expanded
from pytest_codexsandbox.model.cell import Cell, SubjectSpec
from pytest_codexsandbox.model.plan_key import NotPlanned
from pytest_codexsandbox.model.record import Record

CELLS: Final = "pytest_codexsandbox_cells"
RECORD: Final = "pytest_codexsandbox_record"
FINGERPRINTS: Final = "pytest_codexsandbox_fingerprints"
_WHY: Final = f"left out by a hook ({CELLS})"


def call_cells_hook(config: pytest.Config, found: Expanded) -> Expanded:
    """Returns the cells as the hooks change them. A removed cell is reported as not planned."""
    cells = list(found.cells)
    with _theirs(config, CELLS):
        config.hook.pytest_codexsandbox_cells(config=config, cells=cells)
    _check(cells, found.cells)
    kept = {cell.id for cell in cells}
    gone = (NotPlanned(what=cell.id, why=_WHY, kind=EXCLUDED) for cell in found.cells if cell.id not in kept)
    return msgspec.structs.replace(found, cells=tuple(cells), not_planned=(*found.not_planned, *gone))


def fingerprint_folders(config: pytest.Config) -> tuple[Path, ...]:
    with _theirs(config, FINGERPRINTS):
        answers: list[Any] = config.hook.pytest_codexsandbox_fingerprints(config=config)
        listed = [[one] if isinstance(one, str | Path) else list(one) for one in answers]
        return tuple(dict.fromkeys(config.rootpath / folder for folders in listed for folder in folders))


class RecordHook:
    """Shows each record to the hooks. A hook that fails is an error of the run and does not end it."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.faults: list[str] = []

    def show(self, record: Record) -> None:
        try:
            with _theirs(self._config, RECORD):
                self._config.hook.pytest_codexsandbox_record(config=self._config, record=record)
        except InputError as fault:
            if not self.faults:
                self.faults.append(f"{fault.where}: {fault.why}")


@contextmanager
def _theirs(config: pytest.Config, hook: str) -> Iterator[None]:
    try:
        yield
    except Exception as fault:
        last = traceback.extract_tb(fault.__traceback__)[-1]
        file = Path(last.filename)
        near = file.relative_to(config.rootpath) if file.is_relative_to(config.rootpath) else file
        why = f"{type(fault).__name__}: {fault} ({near}:{last.lineno})"
        raise InputError("a hook of another plugin failed", where=hook, why=why) from fault


def _program(cell: Cell) -> SubjectSpec:
    """Returns the Codex of a cell without its generator: the program is the same with any generator."""
    return msgspec.structs.replace(cell.subject, generator="")


def _check(cells: Iterable[object], before: Iterable[Cell]) -> None:
    """Refuses ambiguous cells. Ids are public: two things with one id could not be told apart, in this run or between
    two."""
    known: dict[str, object] = {cell.id: cell for cell in before}
    known |= {cell.environment.id: cell.environment for cell in before}
    known |= {f"codex-{cell.subject.label}": _program(cell) for cell in before}
    seen: set[str] = set()
    for cell in cells:
        if not isinstance(cell, Cell):
            raise _wrong(f"{type(cell).__name__} is not a Cell")
        if known.get(cell.id) is not cell:
            _check_types(cell)
        if cell.id in seen:
            raise _wrong(f"the cell {cell.id} is listed twice")
        seen.add(cell.id)
        label = f"codex-{cell.subject.label}"
        for name, what in ((cell.id, cell), (cell.environment.id, cell.environment), (label, _program(cell))):
            if known.setdefault(name, what) != what:
                raise _wrong(f"{name} means something else than before: give it another name")
    if not seen:
        raise _wrong("no cell is left")


def _check_types(cell: Cell) -> None:
    """Refuses a value of another type. A cell goes to other processes as JSON: a Path in place of a text would exist in
    this process alone."""
    try:
        msgspec.convert(msgspec.to_builtins(cell), Cell)
    except (TypeError, msgspec.ValidationError) as fault:
        raise _wrong(f"a value of the cell {cell.id} has another type than `Cell` says: {fault}") from fault


def _wrong(why: str) -> InputError:
    return InputError("a hook made the list of cells invalid", where=CELLS, why=why)
