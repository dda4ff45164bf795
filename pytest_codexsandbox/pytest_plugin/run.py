"""One run, as each process of it sees it: what was asked for, cells, plan, bench, attempts."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import pytest

from pytest_codexsandbox.diagnosis.builtin_causes import DERIVED
from pytest_codexsandbox.diagnosis.fingerprint import Fingerprint
from pytest_codexsandbox.diagnosis.match import fingerprints
from pytest_codexsandbox.errors import CodexSandboxError, InputError, Unavailable
from pytest_codexsandbox.generators.required_paths import need_programs
from pytest_codexsandbox.harness import option_conflicts, planner
from pytest_codexsandbox.harness.baseline_checks import STANDING
from pytest_codexsandbox.harness.canaries import Canaries
from pytest_codexsandbox.harness.observation_cache import ObservationCache, ObservationCacheOptions
from pytest_codexsandbox.harness.planner import PlanningFacts
from pytest_codexsandbox.matrix import expectations
from pytest_codexsandbox.matrix.budget import Budget
from pytest_codexsandbox.matrix.expand import Expanded
from pytest_codexsandbox.matrix.generator_cells import DOOR, GeneratorSet, add_cases, axis, sides, writers
from pytest_codexsandbox.matrix.load import MatrixFile, load
from pytest_codexsandbox.matrix.plan import DoorPolicies, make
from pytest_codexsandbox.matrix.scenario_index import promises as shipped_promises
from pytest_codexsandbox.matrix.select import Selection, shipped_part
from pytest_codexsandbox.matrix.suggestions import did_you_mean
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.contents import Writer as ContentsWriter
from pytest_codexsandbox.model.journal_lines import Line
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import NAMED
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.protocols import Subject
from pytest_codexsandbox.pytest_plugin import hook_calls, run_folder
from pytest_codexsandbox.pytest_plugin.options import base, typed
from pytest_codexsandbox.pytest_plugin.path_masking import Masks, places_of
from pytest_codexsandbox.pytest_plugin.settings import Settings, reject_generator_options, settings, workers
from pytest_codexsandbox.pytest_plugin.terminal_messages import notify
from pytest_codexsandbox.pytest_plugin.worker_files import write_leaks
from pytest_codexsandbox.registry import cache_folder, data_folder, names
from pytest_codexsandbox.releases.known_releases import installed
from pytest_codexsandbox.releases.resolve import resolve
from pytest_codexsandbox.releases.user_binaries import candidate
from pytest_codexsandbox.system import process
from pytest_codexsandbox.system.download import Progress

if TYPE_CHECKING:
    from pytest_codexsandbox.harness.generators.case_cache import CaseCache
    from pytest_codexsandbox.protocols import WriteConfig

RUN: Final = pytest.StashKey["PytestRun"]()
FOLDER: Final = "codexsandbox_folder"  # of the run, in what xdist tells a worker (the plugin tells it too)
KNOWN: Final = "codexsandbox_known"  # what planning depends on, likewise
_INSTALL: Final = "pip install 'pytest-codexsandbox[codex]', or name one: --codex-release 0.163.0, --codex-bin PATH"


class PytestRun:
    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.settings: Settings = settings(config)
        self.worker: str = getattr(config, "workerinput", {}).get("workerid", "")
        self.plan: Plan | None = None
        self.functions: dict[str, Callable[..., object]] = {}
        self.user_promises: dict[str, Promise] = {}
        self._contents = ContentsWriter()
        self.pending: list[Line] = []  # lines since the last report; they ride on the next one
        self.attempts: dict[Key, int] = {}
        self._bench: ObservationCache | None = None
        self._not_had: dict[SubjectSpec, Unavailable] = {}

    @property
    def is_worker(self) -> bool:
        return bool(self.worker)

    # ---- pure: what could be planned
    @cached_property
    def matrix(self) -> MatrixFile:
        return load(self.settings.preset)

    @cached_property
    def pairs(self) -> tuple[tuple[Promise, Callable[..., object]], ...]:
        """The shipped promises; those that everything leans on come first. Of generators only where there is one."""
        there = [
            pair for pair in shipped_promises(data_folder("scenarios")) if self.generators or not pair[0].of_generators
        ]
        return tuple(sorted(there, key=lambda pair: pair[0].topic not in STANDING))

    @cached_property
    def generators(self) -> tuple[str, ...]:
        """As they were asked for: on the command line, else in the matrix file."""
        found = self.settings.generators or self.matrix.generators
        if not found:
            reject_generator_options(self.config)
        return found

    @cached_property
    def promises(self) -> dict[str, Promise]:
        return {promise.id: promise for promise, _ in self.pairs}

    @cached_property
    def writers(self) -> GeneratorSet:
        found = writers(self.generators, beside=self.matrix.catalogue.beside, base=base(self.config, "generator"))
        if not self.settings.generator_in:
            need_programs(found)
        return found

    @cached_property
    def files(self) -> frozenset[str]:
        """Of scenarios that promise anything here."""
        return frozenset(function.__code__.co_filename for _, function in self.pairs)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Those that may have keys; with a budget only the ones that fit."""
        return self.expanded.cells if self._budget is None else self.base_plan().cells

    @property
    def _budget(self) -> Budget | None:
        """Of the shipped scenarios: how long a user's own tests take, nobody knows."""
        return self.settings.budget if self.only_shipped else None

    @cached_property
    def circumstances(self) -> PlanningFacts:
        """Looked up by the process that the user started, told to its workers."""
        told = getattr(self.config, "workerinput", {}).get(KNOWN)
        if told:
            return msgspec.json.decode(told, type=PlanningFacts)
        asked = self.settings
        try:
            known = planner.gather_facts(
                self.matrix,
                asked.report_dir,
                subjects=self.subjects,
                workers=workers(self.config),
                hosts=asked.docker_hosts,
                scale=asked.timeout_scale,
            )
        except KeyboardInterrupt:  # pytest ends its collection all the same: nobody is asked a second time
            self.__dict__["circumstances"] = PlanningFacts()
            raise
        return planner.for_listing(known) if self.config.getoption("collectonly") else known

    def told(self) -> str:
        """To a worker: the same, and what was picked by it."""
        return msgspec.json.encode(msgspec.structs.replace(self.circumstances, picked=self.expanded.picked)).decode()

    @cached_property
    def expanded(self) -> Expanded:
        asked, words = self.settings, typed(self.config)
        option_conflicts.refuse_without_containers(
            words, matrix=self.matrix.name, containers=self.matrix.containers is not None
        )
        option_conflicts.refuse_beside_paths(words, paths=not self.only_shipped)
        option_conflicts.refuse_twice_free(words)
        found = planner.expand_cells(
            self.matrix,
            self.subjects,
            self.circumstances,
            pairs=asked.pairs,
            hosts=asked.docker_hosts,
            generators=axis(self.generators, self.writers) if self.generators else (),
        )
        return hook_calls.call_cells_hook(self.config, found)

    @cached_property
    def fingerprints(self) -> tuple[Fingerprint, ...]:
        return fingerprints(hook_calls.fingerprint_folders(self.config))

    @cached_property
    def subjects(self) -> tuple[SubjectSpec, ...]:
        asked = self.settings
        if asked.releases or asked.binaries:
            named = (self._release(name) for name in asked.releases)
            return (*named, *(candidate(text, base=base(self.config, "bin")) for text in asked.binaries))
        return tuple(self._release(name) for name in self.matrix.releases)

    def _release(self, name: str) -> SubjectSpec:
        if name != "installed":
            return SubjectSpec(label=name, release=name)
        found = installed()
        if found is None:
            raise InputError(
                "no Codex is installed beside pytest", where=f"preset {self.matrix.name}", next_step=_INSTALL
            )
        return found

    @cached_property
    def selection(self) -> Selection:
        return Selection(only=self.settings.only, skip=self.settings.skip)

    def base_plan(self) -> Plan:
        """What the options ask for, before pytest's own selection (-k, --lf, paths)."""
        return self._base_plan

    @property
    def only_shipped(self) -> bool:
        """No path is given: a user's own tests are not collected."""
        return self.settings.active and self.config.args_source is not pytest.Config.ArgsSource.ARGS

    @cached_property
    def _base_plan(self) -> Plan:
        asked = self.selection if self.only_shipped else shipped_part(self.selection)
        selection = msgspec.structs.replace(asked, without=self.matrix.skip)
        found = self.expanded
        plan = make(
            self.matrix.name,
            found.cells,
            tuple(self.promises.values()),
            doors=self.matrix.doors,
            selection=selection,
            policies=self.matrix.policies,
            not_planned=found.not_planned,
            coverage=found.coverage,
            sides=self._sides,
        )
        plan = add_cases(plan, self.writers, self.promises.values()) if self.generators else plan
        return planner.apply_budget(plan, self._budget, self.circumstances)

    def sides_of(self, cell: Cell, door: str, policies: Sequence[str]) -> Sequence[tuple[str, str]]:
        """Where a test of the user's own is asked: beside a generator, where a file counts, under what it leads to."""
        if not cell.subject.generator or self._sides is None:
            return [(door, policy) for policy in policies]
        return [side for side in self._sides.of(cell) if side[1] in policies]

    @cached_property
    def _sides(self) -> DoorPolicies | None:
        if not self.generators:
            return None
        self._inside()  # a wrong word is said before anything starts
        return sides(self.writers, doors=self.matrix.doors, policies=self.matrix.policies)

    @cached_property
    def _keys(self) -> dict[str, list[Key]]:
        grouped: dict[str, list[Key]] = {}
        for key in self.base_plan().keys:
            grouped.setdefault(key.promise, []).append(key)
        return grouped

    def keys_of(self, promise: Promise) -> list[Key]:
        return self._keys.get(promise.id, [])

    def order(self) -> Callable[[Key], tuple[int, int, int, bool, int, str]]:
        """The plan's order: cell, door, policy; the standing promises first, then the scenarios' own order."""
        cells = {cell.id: number for number, cell in enumerate(self.cells)}
        promises = {promise: number for number, promise in enumerate([*self.promises, *self.user_promises])}
        doors = {door: number for number, door in enumerate(dict.fromkeys((*self.matrix.doors, *names("doors"), DOOR)))}
        policies = {policy: number for number, policy in enumerate(NAMED)}

        def place(key: Key) -> tuple[int, int, int, bool, int, str]:
            where = cells[key.cell], doors[key.door], policies[key.policy]
            return (*where, key.promise.partition(".")[0] not in STANDING, promises[key.promise], key.case)

        return place

    @cached_property
    def deviations(self) -> tuple[expectations.Deviation, ...]:
        paths = (data_folder("matrix") / "expectations" / "known.toml", *self.settings.expectations)
        names = (*self.promises, *self.user_promises)
        causes = (*(one.id for one in self.fingerprints), *(one.fingerprint for one in DERIVED))
        cells = [cell.axes for cell in self.expanded.cells]
        return expectations.load(
            paths, promises=names, fingerprints=causes, cells=cells, beside=self.matrix.catalogue.beside
        )

    def cover(self, key: Key, record: Record, version: str) -> Record:
        """The record as the known deviations see it, for the sign that pytest shows at once."""
        if self.plan is None:
            return record
        today = datetime.now(UTC).date()
        versions = {key.cell: version} if version else {}
        return expectations.apply(self.plan, {key: record}, self.deviations, versions=versions, today=today).records[
            key
        ]

    # ---- folders
    @cached_property
    def folder(self) -> Path:
        """The journal's and the reports' own: made by the controller, told to its workers."""
        given = getattr(self.config, "workerinput", {}).get(FOLDER)
        if given:
            try:
                Path(given).mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as fault:
                raise run_folder.none(Path(given).parent, fault.strerror or str(fault)) from fault
            return Path(given)
        return run_folder.fresh(self.settings.report_dir)

    def adopt(self, folder: Path) -> None:
        """The folder that workers made before anybody kept a journal."""
        self.__dict__["folder"] = folder
        run_folder.pass_over(folder.parent)

    @cached_property
    def worlds(self) -> Path:
        """Where environments live: below the cache, never below the temp directory, which Codex refuses."""
        mark = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:8]
        return cache_folder() / "runs" / f"{self.folder.name}-{mark}"

    @cached_property
    def places(self) -> dict[str, str]:
        return places_of(self.worlds)

    @cached_property
    def masks(self) -> Masks:
        return Masks(self.places)

    # ---- effects
    @property
    def bench(self) -> ObservationCache:
        if self._bench is None:
            if self.plan is None:
                raise CodexSandboxError(
                    "nothing was planned yet", why="a fixture was asked for before collection ended"
                )
            inside = self._inside()
            options = ObservationCacheOptions(
                generators_in=inside.id if inside else "",
                folder=self.worlds / (self.worker or "main"),
                cache=cache_folder(),
                timeout_scale=self.settings.timeout_scale,
                worker=self.worker,
                fingerprints=self.fingerprints,
            )
            say = partial(notify, self.config)
            self._bench = ObservationCache(
                self.plan, options, emit=self.pending.append, resolve=self.resolve, say=say, writer=self._writer
            )
            self.canaries = Canaries(self._bench, tuple(p for p in self.pairs if p[0].id in self._bench.promises))
        return self._bench

    def _writer(self, cell: Cell, policy: str) -> "WriteConfig":
        return self.workshop.writer(cell, policy)

    @cached_property
    def workshop(self) -> "CaseCache":
        """Of generators: none runs before it is proved that they are confined, or said that they need not be."""
        from pytest_codexsandbox.harness.generators.factory import open_workshop  # dear, and only for generators

        asked = self.settings
        folder = self.worlds / (self.worker or "main") / "generators"
        return open_workshop(
            self.bench,
            self.writers,
            folder=folder,
            unconfined=asked.generator_unconfined,
            emit=self._keep,
            inside=self._inside(),
        )

    def _keep(self, line: Line) -> None:
        self.pending.append(self._contents.thin(line))

    def _inside(self) -> EnvironmentSpec | None:
        """The environment of the cell that was named for generators to run in."""
        name = self.settings.generator_in if self.generators else ""
        specs = {cell.environment.id: cell.environment for cell in self.cells}
        named = specs | {cell.id: cell.environment for cell in self.cells}
        if name and (name not in named or named[name].backend == "local"):
            there = [one for one, spec in specs.items() if spec.backend != "local"]
            why = did_you_mean(name, there) if there else "no cell of this run is in a container"
            raise InputError(f"generators cannot run in {name!r}", where="--codex-generator-in", why=why)
        return named[name] if name else None

    def resolve(self, spec: SubjectSpec, *, cache: Path, progress: Progress | None = None) -> Subject:
        """The binary, asked what it can do with the run's own patience. What could not be had once is not asked for
        again: a dead network takes its time."""
        spec = msgspec.structs.replace(spec, generator="")  # whatever writes its configuration, it is the same program
        if spec in self._not_had:
            raise self._not_had[spec].with_traceback(None)
        scale = self.settings.timeout_scale

        def run(command: Command) -> CommandResult:
            return process.run(msgspec.structs.replace(command, timeout=command.timeout * scale))

        try:
            return resolve(spec, cache=cache, progress=progress, run=run)
        except Unavailable as problem:
            self._not_had[spec] = problem
            raise

    def close(self) -> None:
        """End what was started, once; what is left of it afterwards is a leak of ours."""
        if self._bench is not None:
            bench, self._bench = self._bench, None
            if "workshop" in self.__dict__:
                self.__dict__.pop("workshop").close()
            bench.close()
            write_leaks(self.folder, self.worker, bench.leaks())

    def spent(self) -> float:
        """Seconds in Codex since it was last asked; calls that ran at once count once."""
        if self._bench is None:
            return 0.0
        seconds, self._bench.seconds_in_codex = self._bench.seconds_in_codex, 0.0
        return seconds

    def drain(self) -> list[Line]:
        lines, self.pending[:] = list(self.pending), []
        return lines


def get_run(config: pytest.Config) -> PytestRun:
    """The run of this process, made when it is first needed."""
    if RUN not in config.stash:
        config.stash[RUN] = PytestRun(config)
    return config.stash[RUN]


@contextmanager
def usage_errors() -> Iterator[None]:
    """Our words, without a traceback and with pytest's exit code 4."""
    try:
        yield
    except CodexSandboxError as fault:
        raise pytest.UsageError(str(fault)) from None
