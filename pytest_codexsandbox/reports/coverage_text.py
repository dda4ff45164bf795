"""How wide a run was: its environments in few lines, the pairs of values that it measured, what could not be had."""

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
    """One line for each; where they are too many, containers are one line together, and who did not start is named."""
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
    told = [_together(journal, contained)]
    told += [f"{len(missing):,} of them not started: {shortened_list(missing)}"] if missing else []
    return [*told, *environments_of(others, limit)]


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
    """What the cells were picked for, and whether they measured it: a cell that was not measured shows no pair."""
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
    told = ["; ".join(parts)]
    for one in asked.uncoverable[:_REASONS]:
        told.append(f"{plural(one.count, asked.word.removesuffix('s'))} cannot be, such as {one.example}: {one.why}")
    left = asked.uncoverable[_REASONS:]
    total = sum(one.count for one in left)
    return [*told, f"{total:,} more cannot be, for {plural(len(left), 'other reason')}"] if left else told


def counted(journal: ReadJournal, states: Mapping[Key, Record]) -> tuple[int, int]:
    """Of the pairs: how many the plan holds, how many of these were measured."""
    asked = journal.plan.coverage
    if asked is None:
        return 0, 0
    measured = measured_cells(states.values())
    cells = journal.plan.cells
    return asked.covered(cell.axes for cell in cells), asked.covered(cell.axes for cell in cells if cell.id in measured)


def without_sandbox(journal: ReadJournal, states: Mapping[Key, Record]) -> list[str]:
    """Cells that are no success although nothing in them is red: said, because known deviations are told quietly."""
    refused = known_without_sandbox(states.values())
    told = f"no sandbox starts in {len(refused):,} of {plural(len(journal.plan.cells), 'cell')}, as is known"
    return [f"{told}: nothing was measured there"] if refused else []


def not_had(journal: ReadJournal) -> list[str]:
    """What was asked for and is not on this machine: no cell of it was measured, and none is a success."""
    reasons: dict[str, list[str]] = {}
    for nothing in journal.plan.not_planned:
        if nothing.kind == UNAVAILABLE:
            reasons.setdefault(nothing.why, []).append(nothing.what)
    return [f"not measured, not available here: {', '.join(names)}: {why}" for why, names in reasons.items()]


def left_out(journal: ReadJournal, limit: int, *, every: bool = False) -> list[str]:
    """What else is not in the plan, by reason; first what the user's own words kept out of it."""
    reasons: dict[str, list[str]] = {}
    for nothing in sorted(journal.plan.not_planned, key=lambda one: not one.kind):
        if nothing.kind != UNAVAILABLE:
            reasons.setdefault(nothing.why, []).append(nothing.what)
    limit = len(reasons) if every else limit
    told = [
        f"not planned, {why}: {shortened_list(names, len(names) if every else 4)}"
        for why, names in list(reasons.items())[:limit]
    ]
    return [*told, f"not planned, for {plural(len(reasons) - limit, 'more reason')}"] if len(reasons) > limit else told
