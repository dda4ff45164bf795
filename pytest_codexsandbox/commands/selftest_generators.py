"""The generators whose answer is known: each is asked by the promises that must catch it, the good one by all.

As in a run: private folders, confined, the installed Codex says and does what it does. Only what they are is known.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pytest_codexsandbox.commands.scratch_dir import ToldEvents, workbench
from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.generators.bad.catalogue import BAD, USER, Bad
from pytest_codexsandbox.harness.baseline_checks import STANDING
from pytest_codexsandbox.harness.codex_resolver import CodexResolver
from pytest_codexsandbox.harness.generators.case_cache import CaseCache
from pytest_codexsandbox.harness.generators.factory import open_case_cache
from pytest_codexsandbox.harness.generators.trial import RealGeneratorTrial
from pytest_codexsandbox.harness.trial_runner import run_promise
from pytest_codexsandbox.harness.worker_resources import WorkerOptions, WorkerResources
from pytest_codexsandbox.matrix import generator_files, generator_specs, scenario_index
from pytest_codexsandbox.matrix.generator_cells import GeneratorSet
from pytest_codexsandbox.model.cell import Cell, SubjectSpec
from pytest_codexsandbox.model.generator import Case
from pytest_codexsandbox.model.generator_spec import Generator
from pytest_codexsandbox.model.generator_suite import AS_ASKED, DOOR, NAME
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.registry import cache_folder, data_folder
from pytest_codexsandbox.releases.known_releases import installed
from pytest_codexsandbox.selftest.fake import Fake
from pytest_codexsandbox.selftest.kill_rules import KillResult

GOOD: Final = "good"
REACHED: Final = "REACHED"  # printed by those that get what no generator may get
PREVENTED: Final = "generator.stays-inside"
Pairs = tuple[tuple[Promise, Callable[..., object]], ...]
Say = Callable[[str], None]


def promises() -> Pairs:
    """Those about generators; the standing one is proved by this command as a whole."""
    found = scenario_index.promises(data_folder("scenarios"))
    return tuple(pair for pair in found if pair[0].suite == NAME and pair[0].topic not in STANDING)


def fakes() -> tuple[Fake, ...]:
    """The good one first."""
    good = Fake(name=GOOD, wrong="", kind="good", policies=(AS_ASKED,))
    return (good, *(_fake(bad) for bad in BAD))


def _fake(bad: Bad) -> Fake:
    return Fake(name=bad.name, wrong=bad.wrong, caught_by=_caught_by(bad), policies=(AS_ASKED,))


def _caught_by(bad: Bad) -> tuple[str, ...]:
    return (PREVENTED,) if bad.kind == "prevented" else bad.caught_by


def kill(chosen: Iterable[Fake], *, say: Say) -> KillResult:
    """Each is asked what it must be caught by; the good one everything."""
    asked = tuple(chosen)
    pairs = promises()
    known = {bad.name: bad for bad in BAD}
    records: dict[str, dict[Key, Record]] = {}
    with workbench("selftest-generators") as folder, _open_cases(folder) as (cases, cell_of):
        for fake in asked:
            say(fake.name)
            cell, bad = cell_of(fake.name), known.get(fake.name)
            own = [pair for pair in pairs if bad is None or pair[0].id in _caught_by(bad)]
            records[fake.name] = dict(_asked(cases, cell, bad, own))
    about = {key.promise for one in records.values() for key in one}
    there = tuple(promise for promise, _ in pairs if promise.id in about)
    return KillResult(fakes=asked, promises=there, records=records)


def _asked(
    cases: CaseCache, cell: Cell, bad: Bad | None, pairs: Iterable[tuple[Promise, Callable[..., object]]]
) -> Iterator[tuple[Key, Record]]:
    for promise, function in pairs:
        for case in _cases(promise, bad):
            key = Key(cell=cell.id, door=DOOR, policy=AS_ASKED, promise=promise.id, case=case)
            yield key, _record(cases, key, promise, function, cell, bad)


def _cases(promise: Promise, bad: Bad | None) -> tuple[str, ...]:
    """The one in which its flaw shows."""
    match promise.over:
        case "configs" | "inputs":
            return (bad.name if bad is not None else GOOD,)
        case "writers":
            return (bad.between if bad is not None and bad.between else "loses-end",)
        case "shapes":
            return bad.migrates_from if bad is not None and bad.migrates_from else ("good-earlier",)
    return ("",)


def _record(
    cases: CaseCache, key: Key, promise: Promise, function: Callable[..., object], cell: Cell, bad: Bad | None
) -> Record:
    writing = RealGeneratorTrial(key, promise, cell=cell, cases=cases)
    try:
        if bad is not None and bad.kind == "prevented":
            return _prevented(cases, key, cell)
        judged = run_promise(writing, function)
    except CodexSandboxError as fault:
        return Record(key=key, verdict=Verdict.BROKEN, reason=str(fault))
    return Record(
        key=key,
        verdict=judged.verdict,
        direction=judged.direction,
        reason=judged.reason,
        evidence=tuple(writing.rows),
        blocked_by=judged.blocked_by,
    )


def _prevented(cases: CaseCache, key: Key, cell: Cell) -> Record:
    """The walls catch it: it reached for something, and did not say that it got it."""
    case_run, _ = cases.case_run(cell, key.case)
    said = case_run.first.stdout + case_run.first.stderr
    caught = case_run.first.ended == "exit" and REACHED not in said
    why = "its escape attempt failed" if caught else f"its escape attempt worked, or was never made: {said}"
    return Record(key=key, verdict=Verdict.VIOLATES if caught else Verdict.CONFORMS, reason=why)


@contextmanager
def _open_cases(folder: Path) -> Iterator[tuple[CaseCache, Callable[[str], Cell]]]:
    environment, writers = this_machine(), _writers()
    spec = installed() or SubjectSpec(label="none")

    def cell_of(name: str) -> Cell:
        own = SubjectSpec(label=spec.label, release=spec.release, path=spec.path, source=spec.source, generator=name)
        return Cell(environment=environment, subject=own)

    options = WorkerOptions(folder=folder / "environment", cache=cache_folder())
    resources = WorkerResources((cell_of(GOOD),), options, resolver=CodexResolver(cache_folder()), events=ToldEvents())
    try:
        cases = open_case_cache(resources, writers, folder=folder / "generators", unconfined=False)
        try:
            yield cases, cell_of
        finally:
            cases.close()
    finally:
        resources.close()


def _writers() -> GeneratorSet:
    bad = {one.name: _generator(one.name, one.run, one) for one in BAD}
    shipped_ones = {name: generator_specs.of_declaration(name) for name in generator_files.files()}
    cases = (
        Case(id=GOOD, why="an ordinary file", config=USER),
        *(Case(id=one.name, why=one.wrong, config=one.config, link=one.link, intent=one.intent) for one in BAD),
    )
    return GeneratorSet(generators={**shipped_ones, **bad}, asked=tuple(bad), cases=cases, others=())


def _generator(name: str, run: str, bad: Bad) -> Generator:
    return Generator(name=name, spec=generator_specs.parse(run), declaration=bad.declaration())
