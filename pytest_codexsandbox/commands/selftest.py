"""Prove that the harness can fail: run Codexes and generators that are known to be bad against every promise.

Each subject is an executable that takes Codex's command line, or a generator of its configuration, and breaks one
promise; one of each is good. Prints which promise catches which subject. Exit code 1 when a bad one survives, when a
promise catches nothing, or when the good one fails. Needs no network; generators run where a Codex is installed.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.commands import selftest_generators, selftest_table
from pytest_codexsandbox.commands.scratch_dir import ToldEvents, workbench
from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.harness.codex_resolver import OneSubject
from pytest_codexsandbox.harness.observation_cache import ObservationCache, open_observations
from pytest_codexsandbox.harness.trial_runner import run_promises
from pytest_codexsandbox.harness.worker_resources import WorkerOptions
from pytest_codexsandbox.matrix import scenario_index
from pytest_codexsandbox.matrix.plan import rides
from pytest_codexsandbox.matrix.requirements import NEEDS_LINUX
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.suite_traits import SANDBOX
from pytest_codexsandbox.registry import data_folder, default_door, doors
from pytest_codexsandbox.releases.known_releases import installed
from pytest_codexsandbox.selftest import AT_EVERY_DOOR, AT_ONE_DOOR, FAKES, GOOD, Fake, subject
from pytest_codexsandbox.selftest.kill_rules import OWN, Fault, KillResult, faults, is_wanted

EXAMPLES: Final = (
    "codexsandbox selftest",
    "codexsandbox selftest --verbose                      the whole matrix, promise by subject",
    "codexsandbox selftest --subject follows-links        one subject (may be given again)",
    "codexsandbox selftest --only 'network.*' --json",
)
GENERATORS: Final = "generators"
Pairs = tuple[tuple[Promise, Callable[..., object]], ...]
Say = Callable[[str], None]
NO_DOORS: Final[Mapping[str, tuple[Fake, ...]]] = {}


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--subject", action="append", default=[], metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--only", default="*", metavar="GLOB", help="only promises whose id matches")
    parser.add_argument("--list", action="store_true", help="list the subjects with their defects; run nothing")
    parser.add_argument("--verbose", action="store_true", help="the whole matrix, promise by subject")
    parser.add_argument("--json", action="store_true", help="for programs: every verdict with its reason")


def run(options: argparse.Namespace) -> int:
    everything = scenario_index.promises(data_folder("scenarios"))
    pairs = select(options.only, everything)
    named, writers = divided(options.subject)
    asked = about(named, pairs, everything)
    writers = tuple(one for one in writers if options.only == "*" or options.subject)
    if options.list:
        print("\n".join(f"{fake.name:<26} {fake.wrong or 'keeps every promise'}" for fake in (*asked, *writers)))
        return 0
    if not sys.platform.startswith("linux"):
        raise InputError("selftest needs Linux", why=NEEDS_LINUX)
    started = time.monotonic()
    fakes = about(asked, riding(pairs, default_door("commands")), everything)
    at_doors = {door: through(door, asked, pairs, everything) for door in AT_ONE_DOOR}
    if not any((fakes, writers, *at_doors.values())):
        raise InputError(
            f"no subject is left that is asked {options.only!r}",
            why=f"{', '.join(options.subject) or 'every subject'}: about other promises",
            next_step="codexsandbox selftest --list --only GLOB   (lists the subjects)",
        )
    with progress(total=len(fakes) + len(writers) + sum(map(len, at_doors.values()))) as say:
        killing, others = kill(fakes, pairs, at_doors, say=say)
        if writers:
            others[GENERATORS] = selftest_generators.kill(writers, say=say)
    found = (*faults(killing, whole=not options.subject), *_elsewhere(others, whole=not options.subject))
    seconds = time.monotonic() - started
    render = as_json if options.json else as_text
    print(render(killing, others, found, seconds, verbose=options.verbose))
    return 1 if found else 0


def _elsewhere(others: Mapping[str, KillResult], *, whole: bool) -> Iterator[Fault]:
    """At other doors few subjects are asked; of generators all are."""
    for name, killing in others.items():
        yield from _faults(name, killing, whole=whole)


def _faults(name: str, killing: KillResult, *, whole: bool = False) -> tuple[Fault, ...]:
    return faults(killing, whole=whole) if name == GENERATORS else at(killing)


def divided(names: Sequence[str]) -> tuple[tuple[Fake, ...], tuple[Fake, ...]]:
    """Stand-ins for Codex, and generators; without names all of them. `good` is one of both."""
    writers = selftest_generators.fakes() if installed() is not None else ()
    if not names:
        return FAKES, writers
    asked = tuple(one for one in writers if one.name in names)
    mine = [name for name in names if name == GOOD.name or name not in {one.name for one in asked}]
    return chosen(mine, FAKES) if mine else (), asked


def chosen(names: Iterable[str], fakes: tuple[Fake, ...]) -> tuple[Fake, ...]:
    wanted, known = list(names), {fake.name for fake in fakes}
    for name in wanted:
        if name not in known:
            raise InputError(
                f"there is no subject {name!r}",
                why=f"known: {', '.join(sorted(known))}",
                next_step="codexsandbox selftest --list",
            )
    return tuple(fake for fake in fakes if fake.name in wanted) if wanted else fakes


def select(glob: str, pairs: Pairs) -> Pairs:
    """The promises that match. Standing ones about the harness itself are proved by this command as a whole."""
    found = tuple(
        pair
        for pair in pairs
        if fnmatchcase(pair[0].id, glob) and pair[0].topic not in OWN and pair[0].suite == SANDBOX
    )
    if not found:
        raise InputError(f"no promise matches {glob!r}", why="ids are topic.promise", next_step="codexsandbox plan")
    return found


def about(fakes: tuple[Fake, ...], pairs: Pairs, everything: Pairs) -> tuple[Fake, ...]:
    """Returns the mutants that the selected promises are about. Others are kept where a selected promise asks them."""
    left_out = {promise.id for promise, _ in everything} - {promise.id for promise, _ in pairs}
    kept = [(fake, tuple(name for name in fake.caught_by if name not in left_out)) for fake in fakes]
    return tuple(
        msgspec.structs.replace(fake, caught_by=names)
        for fake, names in kept
        if names or (fake.kind != "mutant" and _is_asked(fake, pairs))
    )


def _is_asked(fake: Fake, pairs: Pairs) -> bool:
    """Checks whether a subject would run any of these promises under its policies."""
    promises = {promise.id: promise for promise, _ in pairs}
    keys = (
        Key(cell=fake.name, door="", policy=policy, promise=promise.id)
        for promise in promises.values()
        for policy in promise.policies
        if policy in fake.policies
    )
    return any(is_wanted(fake, promises, key) for key in keys)


def through(door: str, fakes: tuple[Fake, ...], pairs: Pairs, everything: Pairs) -> tuple[Fake, ...]:
    """Returns the subjects that are tested at another door too, and those that are tested only there."""
    asked = tuple(fake for fake in fakes if fake.name in AT_EVERY_DOOR)
    return about((*asked, *(AT_ONE_DOOR[door] if asked else ())), riding(pairs, door), everything)


def riding(pairs: Pairs, door: str) -> Pairs:
    return tuple(pair for pair in pairs if rides(pair[0], doors()[door]))


def with_needs(pairs: Pairs, fake: Fake) -> Pairs:
    """Returns the promises. Those that must catch the subject are not applicable where its flaw shows nowhere."""
    return tuple(
        (msgspec.structs.replace(promise, requires=(*promise.requires, *fake.requires)), function)
        if promise.id in fake.caught_by
        else (promise, function)
        for promise, function in pairs
    )


def at(killing: KillResult) -> tuple[Fault, ...]:
    """Returns the faults at another door, with its name."""
    door = next((key.door for records in killing.records.values() for key in records), "")
    return tuple(
        msgspec.structs.replace(fault, who=f"{fault.who}{selftest_table.BY}{door}")
        for fault in faults(killing, whole=False)
    )


def kill(
    fakes: tuple[Fake, ...],
    pairs: Pairs,
    at_doors: Mapping[str, tuple[Fake, ...]] = NO_DOORS,
    *,
    say: Say = lambda name: None,
) -> tuple[KillResult, dict[str, KillResult]]:
    """Rehearse every subject, in one environment and with one set of controls: by the first door, by each other."""
    with workbench("selftest") as folder, rehearsals(pairs, folder) as records_of:

        def killing(door: str, chosen: tuple[Fake, ...]) -> KillResult:
            records = {}
            for fake in chosen:
                say(fake.name)
                records[fake.name] = records_of(fake, door)
            promises = tuple(promise for promise, _ in riding(pairs, door))
            return KillResult(fakes=chosen, promises=promises, records=records)

        return killing(default_door("commands"), fakes), {
            door: killing(door, chosen) for door, chosen in at_doors.items() if chosen
        }


@contextmanager
def rehearsals(pairs: Pairs, folder: Path) -> Iterator[Callable[[Fake, str], dict[Key, Record]]]:
    """A function that gives a subject's records. The environment is started, and the controls are run, once."""
    promises = {promise.id: promise for promise, _ in pairs}
    binaries = folder / "subjects"
    binaries.mkdir(mode=0o700)
    environment = this_machine()
    options = WorkerOptions(folder=folder, cache=folder)
    with controls(pairs, environment, options) as cache:

        def records_of(fake: Fake, door: str) -> dict[Key, Record]:
            patient = msgspec.structs.replace(options, timeout_scale=fake.patience)
            return run_promises(
                with_needs(riding(pairs, door), fake),
                fake.policies,
                subject(binaries, fake),
                environment=environment,
                options=patient,
                door=door,
                exempt_from_start=True,
                parent=cache,
                wanted=lambda key: is_wanted(fake, promises, key),
            )

        yield records_of


@contextmanager
def controls(pairs: Pairs, environment: EnvironmentSpec, options: WorkerOptions) -> Iterator[ObservationCache]:
    promises = tuple(promise for promise, _ in pairs)
    good = subject(options.folder / "subjects", GOOD)
    cell = Cell(environment=environment, subject=good.spec)
    keys = tuple(
        Key(cell=cell.id, door=default_door("commands"), policy=policy, promise=promise.id)
        for promise in promises
        for policy in promise.policies
        if policy in POLICIES
    )
    plan = Plan(preset="selftest", cells=(cell,), promises=promises, keys=keys)
    with open_observations(plan, options, resolver=OneSubject(good), events=ToldEvents()) as cache:
        for group in dict.fromkeys(promise.group for promise in promises):
            cache.control(cell, group)
        yield cache


@contextmanager
def progress(*, total: int) -> Iterator[Say]:
    """Shows one line of progress on stderr that is overwritten, if stderr is a terminal."""
    seen = 0

    def say(name: str) -> None:
        nonlocal seen
        seen += 1
        print(f"\r\033[K{seen}/{total} {name}", end="", file=sys.stderr, flush=True)

    try:
        yield say if sys.stderr.isatty() else lambda name: None
    finally:
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def as_text(
    killing: KillResult, others: Mapping[str, KillResult], found: tuple[Fault, ...], seconds: float, *, verbose: bool
) -> str:
    matrix = selftest_table.whole(killing) if verbose else selftest_table.compact(killing)
    generators = others.get(GENERATORS)
    lines = [matrix] if killing.fakes else []
    if generators is not None:
        lines += ["", (selftest_table.whole if verbose else selftest_table.compact)(generators)]
    counted = [f"{_door(name)}: {selftest_table.counted(one, _faults(name, one))}" for name, one in others.items()]
    return "\n".join([*lines, "", *counted, selftest_table.closing(killing, found, seconds)])


def _door(name: str) -> str:
    return name if name == GENERATORS else f"by {name}"


def as_json(
    killing: KillResult, others: Mapping[str, KillResult], found: tuple[Fault, ...], seconds: float, *, verbose: bool
) -> str:
    return json.dumps(
        {
            "faults": msgspec.to_builtins(found),
            "seconds": round(seconds, 3),
            "subjects": [_subject(killing, fake) for fake in killing.fakes],
            "promises": {promise.id: list(killing.catches(promise.id)) for promise in killing.promises},
            "doors": {door: [_subject(one, fake) for fake in one.fakes] for door, one in others.items()},
        },
        indent=2,
    )


def _subject(killing: KillResult, fake: Fake) -> dict[str, Any]:
    said = [
        {
            "promise": key.promise,
            "case": key.case,
            "policy": key.policy,
            "verdict": record.verdict.value,
            "direction": record.direction,
            "reason": record.reason,
        }
        for key, record in killing.records[fake.name].items()
    ]
    return {
        "name": fake.name,
        "wrong": fake.wrong,
        "kind": fake.kind,
        "caught_by": list(killing.catchers(fake)),
        "said": said,
    }
