"""Durations: estimates how long a cell takes. Learned from the ends of earlier journals, guessed where there are
none."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Final, Literal, NamedTuple

import msgspec

from pytest_codexsandbox.harness.batteries import calls_of
from pytest_codexsandbox.journal.store import FILE
from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.journal_lines import EndLine, Spent
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key

GUESSED: Final = 0.5  # seconds for a call of Codex, its control and all around it
GUESSED_STORY: Final = 0.25  # for a case of a generator: three runs, and Codex's claims about the result
GUESSED_STRAIN: Final = 1.0  # for a stress check: beside other writers, or under strace
ANY: Final = "any"
CASES: Final = ("configs", "inputs")  # promises that a case run answers
_RUNS: Final = 20  # the newest ones: machines and releases change
_END: Final = 16 << 20  # bytes of a journal that are searched for its last line
_STANDING: Final = "trust."


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """Work of a cell, as far as it takes time."""

    calls: int = 0  # of Codex
    stories: int = 0  # case runs of its generator: one for each case
    strains: int = 0  # stress checks of its generator


def work_of(plan: Plan) -> dict[str, Work]:
    """Returns the work of each cell. Keys that are known not to apply take no time."""
    calls, over = calls_of(plan), _over(plan)
    stories: dict[str, set[str]] = {}
    strains: dict[str, int] = {}
    for key in plan.keys:
        kind = _kind(key.promise, over)
        if not kind or (plan.not_applicable and str(key) in plan.not_applicable):
            continue
        if kind == "story":
            stories.setdefault(key.cell, set()).add(key.case)
        elif kind == "strain":
            strains[key.cell] = strains.get(key.cell, 0) + 1
    return {
        cell.id: Work(
            calls=calls.get(cell.id, 0), stories=len(stories.get(cell.id, ())), strains=strains.get(cell.id, 0)
        )
        for cell in plan.cells
    }


def _over(plan: Plan) -> dict[str, str]:
    """Returns for each promise about generators the cases that it covers (`Promise.over`)."""
    judging = {one.name for one in plan.suite_index().all if one.judges}
    return {promise.id: promise.over for promise in plan.promises if promise.suite in judging}


def _kind(promise: str, over: Mapping[str, str]) -> Literal["", "story", "strain", "standing"]:
    """Returns the kind of work as which a promise about generators is timed; "" for any other promise. Work that is
    done once for many cells says nothing about one cell."""
    if promise not in over:
        return ""
    return "standing" if promise.startswith(_STANDING) else "story" if over[promise] in CASES else "strain"


class DurationModel(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds for one call of Codex, one case run and one stress check of a generator: by cell, by generator, and over
    all."""

    runs: int = 0
    cells: dict[str, float] = {}
    environments: dict[str, float] = {}
    subjects: dict[str, float] = {}
    any: float = 0.0
    stories: dict[str, float] = {}
    strains: dict[str, float] = {}

    def expected(self, cell: Cell, work: Work) -> float:
        """Returns the expected seconds. Uses the rate of what is most similar: the cell itself, its environment, its
        Codex, else any."""
        environment, subject = cell.environment.id, cell.subject.label
        known = (self.cells.get(cell.id), self.environments.get(environment), self.subjects.get(subject), self.any)
        call = next((seconds for seconds in known if seconds), GUESSED)
        story, strain = _like(self.stories, cell, GUESSED_STORY), _like(self.strains, cell, GUESSED_STRAIN)
        return work.calls * call + work.stories * story + work.strains * strain


def _like(rates: Mapping[str, float], cell: Cell, guessed: float) -> float:
    known = (rates.get(cell.id), rates.get(_named(cell.subject.generator)), rates.get(ANY))
    return next((seconds for seconds in known if seconds), guessed)


def _named(generator: str) -> str:
    """Returns the key of a generator's rate. No cell id is equal to it."""
    return f"generator {generator}"


class Phase(NamedTuple):
    """One phase of an item: setup, call or teardown. A run keeps them in order."""

    item: str
    seconds: float
    calls: tuple[tuple[str, str], ...]  # of Codex that it made: cell and policy
    result: Key | None  # of the phase that brought the item's result


def spent(plan: Plan, phases: Iterable[Phase]) -> tuple[Spent, ...]:
    """Returns the time of each cell in which Codex was called or a generator ran. The environment's start counts in the
    first item that needed it. Planned keys that never ran add nothing."""
    phases = tuple(phases)
    seconds, done = _taken(phases)
    keys = tuple(key for key in plan.keys if key.case in done.get((key.cell, key.promise), ()))
    counted, over, calls = work_of(msgspec.structs.replace(plan, keys=keys)), _over(plan), _made(plan, phases)
    found = (
        _spent(cell, counted[cell.id], seconds[cell.id], calls[cell.id], over)
        for cell in plan.cells
        if cell.id in seconds
    )
    return tuple(one for one in found if one.calls or one.stories or one.strains)


def _taken(phases: Iterable[Phase]) -> tuple[dict[str, dict[str, float]], dict[tuple[str, str], set[str]]]:
    """Returns the seconds of each cell and promise, and the cases that have a result. What follows an item's result
    counts for its next attempt."""
    begun: dict[str, float] = {}
    seconds: dict[str, dict[str, float]] = {}
    done: dict[tuple[str, str], set[str]] = {}
    for phase in phases:
        begun[phase.item] = begun.get(phase.item, 0.0) + phase.seconds
        if (key := phase.result) is not None:
            of_cell = seconds.setdefault(key.cell, {})
            of_cell[key.promise] = of_cell.get(key.promise, 0.0) + begun.pop(phase.item)
            done.setdefault((key.cell, key.promise), set()).add(key.case)
    return seconds, done


def _made(plan: Plan, phases: Iterable[Phase]) -> Counter[str]:
    """Counts the calls of Codex in each cell. Those of suites that judge a generator are part of its case runs."""
    uncounted = {policy for one in plan.suite_index().all if one.judges for policy in one.policies}
    return Counter(cell for phase in phases for cell, policy in phase.calls if policy not in uncounted)


def _spent(cell: Cell, work: Work, took: Mapping[str, float], calls: int, over: Mapping[str, str]) -> Spent:
    seconds = dict.fromkeys(("", "story", "strain", "standing"), 0.0)
    for promise, of_promise in took.items():
        seconds[_kind(promise, over)] += of_promise
    return Spent(
        cell=cell.id,
        environment=cell.environment.id,
        subject=cell.subject.label,
        seconds=round(seconds[""], 3),
        calls=calls,
        generator=cell.subject.generator,
        stories=work.stories,
        story_seconds=round(seconds["story"], 3),
        strains=work.strains,
        strain_seconds=round(seconds["strain"], 3),
    )


def learn(report_dir: Path) -> DurationModel:
    """Learns durations from the newest journals. Folders are named by the time of their run, so their order is the same
    everywhere."""
    journals = sorted(report_dir.glob(f"*/{FILE}"))[-_RUNS:]
    ends = [end for end in map(_end, journals) if end is not None and end.cells]
    every = [one for end in ends for one in end.cells]
    calls = [(one, one.seconds / one.calls) for one in every if one.calls]
    return DurationModel(
        runs=len(ends),
        cells=_medians((one.cell, rate) for one, rate in calls),
        environments=_medians((one.environment, rate) for one, rate in calls),
        subjects=_medians((one.subject, rate) for one, rate in calls),
        any=_medians((ANY, rate) for _, rate in calls).get(ANY, 0.0),
        stories=_of_generators((one, one.story_seconds / one.stories) for one in every if one.stories),
        strains=_of_generators((one, one.strain_seconds / one.strains) for one in every if one.strains),
    )


def _of_generators(rates: Iterable[tuple[Spent, float]]) -> dict[str, float]:
    return _medians((name, rate) for one, rate in rates for name in (one.cell, _named(one.generator), ANY))


def _medians(rates: Iterable[tuple[str, float]]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for name, rate in rates:
        found.setdefault(name, []).append(rate)
    return {name: round(median(of_name), 3) for name, of_name in found.items()}


def _end(path: Path) -> EndLine | None:
    """Returns the last line of a journal, and reads only its end: a journal can be large. None if the line is no end
    line, or of another version."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _END))
            last = file.read(_END).rstrip(b"\n").rpartition(b"\n")[2]
        return msgspec.json.decode(last, type=EndLine)
    except (OSError, msgspec.DecodeError):
        return None


def in_words(seconds: float) -> str:
    """Returns an estimated duration in words, rounded."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"
