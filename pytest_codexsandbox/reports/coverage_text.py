"""Coverage text: the environments of a run in few lines, the pairs of values that it measured, and what was
unavailable."""

from collections.abc import Mapping
from typing import Final

from pytest_codexsandbox.model.journal_lines import CellRow
from pytest_codexsandbox.model.ledger import ReadJournal, known_without_sandbox, measured_cells
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.reports.headlines import fact, machines, plural, shortened_list

UNAVAILABLE: Final = "unavailable"
_AXES: Final = ("distro", "bwrap", "profile", "user")
_REASONS: Final = 3


def environments(journal: ReadJournal, limit: int) -> list[str]:
    """Returns one line for each environment. If there are too many, containers share one line, and those that did not
    start are named."""
    every = machines(journal)
    if len(every) <= limit:
        return every
    contained = {
        cell.environment: cell for cell in journal.plan.cells if cell.axes.get("bwrap") and cell.axes.get("profile")
    }
    if len(contained) < 2:
        return [*every[:limit], f"and {plural(len(every) - limit, 'more environment')}"]
    started = {line.spec for line in journal.environments}
    others = [line for line in every if line.partition(": ")[0] not in contained]
    missing = [spec for spec in contained if spec not in started]
    shown = [_together(journal, contained)]
    shown += [f"{len(missing):,} of them not started: {shortened_list(missing)}"] if missing else []
    return [*shown, *environments_of(others, limit)]


def environments_of(lines: list[str], limit: int) -> list[str]:
    more = [f"and {plural(len(lines) - limit, 'more environment')}"] if len(lines) > limit else []
    return [*lines[:limit], *more]


def _together(journal: ReadJournal, contained: Mapping[str, CellRow]) -> str:
    found = {axis: dict.fromkeys(cell.axes.get(axis, "") for cell in contained.values()) for axis in _AXES}
    parts = [f"{plural(len(values), axis)} ({shortened_list(values)})" for axis, values in found.items()]
    synthetic = sum(cell.synthetic for cell in contained.values())
    parts += [f"{synthetic:,} of them synthetic"] if synthetic else []
    kernels = dict.fromkeys(fact(line.facts, "kernel") for line in journal.environments if line.spec in contained)
    parts += [f"kernel {shortened_list(filter(None, kernels))}"] if any(kernels) else []
    return f"{plural(len(contained), 'environment')} in containers: {', '.join(parts)}"


def pairs(journal: ReadJournal, states: Mapping[Key, Record]) -> list[str]:
    """Returns which pairs the cells were picked for, and how many were measured. Only a measured cell covers pairs."""
    asked = journal.plan.coverage
    if asked is None:
        return []
    planned, measured = counted(journal, states)
    word = f"{asked.word} of values"
    parts = [
        f"{word}: {measured:,} of {asked.coverable:,} measured, in {len(journal.plan.cells):,} cells of "
        f"{asked.combinations:,} combinations"
    ]
    parts += [f"{planned - measured:,} only in cells where nothing was measured"] if planned > measured else []
    parts += [f"{asked.coverable - planned:,} not in the plan"] if asked.coverable > planned else []
    shown = ["; ".join(parts)]
    for one in asked.uncoverable[:_REASONS]:
        shown.append(
            f"{plural(one.count, asked.word.removesuffix('s'))} are impossible, such as {one.example}: {one.why}"
        )
    left = asked.uncoverable[_REASONS:]
    total = sum(one.count for one in left)
    return [*shown, f"{total:,} more are impossible, for {plural(len(left), 'other reason')}"] if left else shown


def counted(journal: ReadJournal, states: Mapping[Key, Record]) -> tuple[int, int]:
    """Returns how many pairs the plan holds, and how many of these were measured."""
    asked = journal.plan.coverage
    if asked is None:
        return 0, 0
    measured = measured_cells(states.values())
    cells = journal.plan.cells
    return asked.covered(cell.axes for cell in cells), asked.covered(cell.axes for cell in cells if cell.id in measured)


def without_sandbox(journal: ReadJournal, states: Mapping[Key, Record]) -> list[str]:
    """Returns a line about cells without any sandbox. Nothing is red in them, but they are no success."""
    refused = known_without_sandbox(states.values())
    shown = f"no sandbox starts in {len(refused):,} of {plural(len(journal.plan.cells), 'cell')}, as is known"
    return [f"{shown}: nothing was measured there"] if refused else []


def not_had(journal: ReadJournal) -> list[str]:
    """Returns what was requested and is unavailable on this machine: no cell of it was measured."""
    reasons: dict[str, list[str]] = {}
    for nothing in journal.plan.not_planned:
        if nothing.kind == UNAVAILABLE:
            reasons.setdefault(nothing.why, []).append(nothing.what)
    return [f"not measured, not available here: {', '.join(names)}: {why}" for why, names in reasons.items()]


def left_out(journal: ReadJournal, limit: int, *, every: bool = False) -> list[str]:
    """Returns what else is not in the plan, by reason; first what the user excluded."""
    reasons: dict[str, list[str]] = {}
    for nothing in sorted(journal.plan.not_planned, key=lambda one: not one.kind):
        if nothing.kind != UNAVAILABLE:
            reasons.setdefault(nothing.why, []).append(nothing.what)
    limit = len(reasons) if every else limit
    shown = [
        f"not planned, {why}: {shortened_list(names, len(names) if every else 4)}"
        for why, names in list(reasons.items())[:limit]
    ]
    return (
        [*shown, f"not planned, for {plural(len(reasons) - limit, 'more reason')}"] if len(reasons) > limit else shown
    )
