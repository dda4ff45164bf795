"""How long a cell takes: learned from the ends of earlier journals, guessed where nothing was learned."""

import os
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

from pytest_codexsandbox.journal import FILE
from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.journal import CallLine, EndLine, Line, Spent
from pytest_codexsandbox.model.record import Record

GUESSED: Final = 0.5  # seconds for a call of Codex, its control and all around it
_RUNS: Final = 20  # the newest ones: machines and releases change
_END: Final = 16 << 20  # bytes of a journal that are searched for its last line


class Learned(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds for one call of Codex."""

    runs: int = 0
    cells: dict[str, float] = {}
    environments: dict[str, float] = {}
    subjects: dict[str, float] = {}
    any: float = 0.0

    def expected(self, cell: Cell, calls: int) -> float:
        """By what is most like it: the cell itself, its environment, its Codex, whatever ran."""
        environment, subject = cell.environment.id, cell.subject.label
        known = (self.cells.get(cell.id), self.environments.get(environment), self.subjects.get(subject), self.any)
        return calls * next((seconds for seconds in known if seconds), GUESSED)


class Times:
    """Of one run, while its reports come in."""

    def __init__(self) -> None:
        self._open: dict[str, float] = {}  # items whose result is still to come
        self._seconds: dict[str, float] = {}
        self._calls: dict[str, int] = {}

    def take(self, item: str, seconds: float, lines: Iterable[Line], record: Record | None) -> None:
        """One phase of an item. The environment's start is in the first that needed it."""
        self._open[item] = self._open.get(item, 0.0) + seconds
        for line in lines:
            if isinstance(line, CallLine) and not line.control:
                self._calls[line.cell] = self._calls.get(line.cell, 0) + 1
        if record is not None:
            cell = record.key.cell
            self._seconds[cell] = self._seconds.get(cell, 0.0) + self._open.pop(item)

    def spent(self, cells: Iterable[Cell]) -> tuple[Spent, ...]:
        """Of those in which Codex was called."""
        return tuple(
            Spent(
                cell=cell.id, environment=cell.environment.id, subject=cell.subject.label,
                seconds=round(self._seconds.get(cell.id, 0.0), 3), calls=self._calls[cell.id],
            )
            for cell in cells
            if self._calls.get(cell.id)
        )  # fmt: skip


def learn(report_dir: Path) -> Learned:
    """Folders are named by the time of their run: the order is the same for everybody."""
    journals = sorted(report_dir.glob(f"*/{FILE}"))[-_RUNS:]
    ends = [end for end in map(_end, journals) if end is not None and end.cells]
    spent = [one for end in ends for one in end.cells if one.calls]
    by_cell, by_environment = _medians(spent, "cell"), _medians(spent, "environment")
    rates = [one.seconds / one.calls for one in spent]
    return Learned(
        runs=len(ends), cells=by_cell, environments=by_environment, subjects=_medians(spent, "subject"),
        any=round(median(rates), 3) if rates else 0.0,
    )  # fmt: skip


def _medians(spent: Iterable[Spent], member: str) -> dict[str, float]:
    rates: dict[str, list[float]] = {}
    for one in spent:
        rates.setdefault(getattr(one, member), []).append(one.seconds / one.calls)
    return {name: round(median(found), 3) for name, found in rates.items()}


def _end(path: Path) -> EndLine | None:
    """The last line alone: a journal can be large. What is no end, or of another version, teaches nothing."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _END))
            last = file.read(_END).rstrip(b"\n").rpartition(b"\n")[2]
        return msgspec.json.decode(last, type=EndLine)
    except (OSError, msgspec.DecodeError):
        return None


def in_words(seconds: float) -> str:
    """`about` that: nobody knows more."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"
