"""Run: what each process of a pytest run knows: request, plan, folders, and what it measures with."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_codexsandbox.diagnosis.builtin_causes import DERIVED
from pytest_codexsandbox.diagnosis.fingerprint import Fingerprint
from pytest_codexsandbox.diagnosis.match import fingerprints
from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.harness.codex_resolver import CodexResolver
from pytest_codexsandbox.harness.key_order import KeyPlace
from pytest_codexsandbox.harness.measurement import Measurement
from pytest_codexsandbox.harness.worker_resources import WorkerOptions
from pytest_codexsandbox.matrix import expectations
from pytest_codexsandbox.matrix.generator_cells import GeneratorSet
from pytest_codexsandbox.matrix.load import MatrixFile
from pytest_codexsandbox.matrix.select import NOT_AMONG, Names, Selection, is_standing, only_own_tests
from pytest_codexsandbox.model import private_paths
from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key, NotPlanned
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.suite_index import SuiteIndex
from pytest_codexsandbox.model.suite_traits import SANDBOX
from pytest_codexsandbox.pytest_plugin import hook_calls, run_folder
from pytest_codexsandbox.pytest_plugin.run_planner import PytestPlanner
from pytest_codexsandbox.pytest_plugin.settings import Settings, settings
from pytest_codexsandbox.pytest_plugin.terminal_messages import TerminalEvents
from pytest_codexsandbox.pytest_plugin.worker_files import write_leaks
from pytest_codexsandbox.registry import cache_folder, data_folder, home_folder, runs_folder
from pytest_codexsandbox.suite_protocols import Suite

RUN: Final = pytest.StashKey["PytestRun"]()
FOLDER: Final = "codexsandbox_folder"  # key of the run's folder in the `workerinput` of xdist (set in plugin.py too)


class PytestRun:
    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.settings: Settings = settings(config)
        self.worker: str = getattr(config, "workerinput", {}).get("workerid", "")
        self.is_worker = bool(self.worker)
        self.plan: Plan | None = None
        self.functions: dict[str, Callable[..., object]] = {}
        self.user_promises: dict[str, Promise] = {}
        self.events = TerminalEvents(config, self.worker)  # the next report carries what is pending
        self.attempts: dict[Key, int] = {}
        self.withheld: dict[str, NotPlanned] = {}  # promises of the given paths that `keys_of` kept back

    # ---- pure: what could be planned
    @cached_property
    def planner(self) -> PytestPlanner:
        return PytestPlanner(self.config, self.settings)

    @property
    def matrix(self) -> MatrixFile:
        return self.planner.parts.matrix

    @property
    def generators(self) -> tuple[str, ...]:
        return self.planner.parts.generators

    @property
    def writers(self) -> GeneratorSet:
        return self.planner.parts.writers

    @property
    def promises(self) -> dict[str, Promise]:
        return self.planner.parts.promises

    @property
    def selection(self) -> Selection:
        return self.planner.parts.selection

    @property
    def cells(self) -> tuple[Cell, ...]:
        return self.planner.cells

    @cached_property
    def cells_by_id(self) -> dict[str, Cell]:
        return {cell.id: cell for cell in self.cells}

    @cached_property
    def environment_ids(self) -> dict[str, str]:
        """Returns the id of each cell's environment in the journal."""
        return {cell.id: self.events.id_of(cell.environment.id) for cell in self.cells}

    @property
    def only_shipped(self) -> bool:
        return not self.planner.request.own_tests

    @cached_property
    def files(self) -> frozenset[str]:
        """Returns the scenario files with promises of this run."""
        return frozenset(function.__code__.co_filename for _, function in self.planner.parts.pairs)

    def base_plan(self) -> Plan:
        """Returns the plan that the options ask for, before pytest's own selection (-k, --lf, paths)."""
        return self.planner.plan

    def sides_of(self, cell: Cell, door: str, policies: Sequence[str]) -> Sequence[tuple[str, str]]:
        """Returns the doors and policies of a user's own test. In a cell with a generator: where a file counts, under
        the policies that the generator leads to."""
        if not cell.subject.generator:
            return [(door, policy) for policy in policies]
        return [side for side in self.planner.parts.sides[SANDBOX].of(cell) if side[1] in policies]

    @property
    def suites(self) -> Mapping[str, Suite[Any]]:
        """Returns the suites that have a part in this run, by name."""
        return self.planner.parts.suites

    @property
    def scenario_folders(self) -> dict[Path, str]:
        """Returns each folder with the first suite that has its promises there."""
        found: dict[Path, str] = {}
        for name, suite in self.suites.items():
            found.setdefault(suite.folder(), name)
        return found

    @cached_property
    def suite_index(self) -> SuiteIndex:
        return self.base_plan().suite_index()

    @cached_property
    def _keys(self) -> dict[str, list[Key]]:
        grouped: dict[str, list[Key]] = {}
        for key in self.base_plan().keys:
            grouped.setdefault(key.promise, []).append(key)
        return grouped

    def keys_of(self, promise: Promise) -> list[Key]:
        """Returns the planned keys of a shipped promise; none where --codex-only names the user's own tests alone.

        The plan holds them nevertheless: it says where a baseline check stands beside the user's tests.
        """
        keys = self._keys.get(promise.id, [])
        if not keys or is_standing(promise.id) or not self._only_own_tests:
            return keys
        self.withheld[promise.id] = NotPlanned(what=promise.id, why=NOT_AMONG)
        return []

    @cached_property
    def _only_own_tests(self) -> bool:
        names = Names(cells=tuple(self.cells_by_id), promises=tuple(self.promises), policies=())
        return not self.only_shipped and only_own_tests(self.selection, names)

    def order(self) -> Callable[[Key], KeyPlace]:
        """Returns the canonical order of keys, the user's own tests included."""
        return self.planner.order(self.user_promises)

    @cached_property
    def fingerprints(self) -> tuple[Fingerprint, ...]:
        return fingerprints(hook_calls.fingerprint_folders(self.config))

    @cached_property
    def deviations(self) -> tuple[expectations.Deviation, ...]:
        paths = (data_folder("matrix") / "expectations" / "known.toml", *self.settings.expectations)
        names = (*self.promises, *self.user_promises)
        causes = (*(one.id for one in self.fingerprints), *(one.fingerprint for one in DERIVED))
        cells = [cell.axes for cell in self.planner.expanded.cells]
        return expectations.load(
            paths, promises=names, fingerprints=causes, cells=cells, beside=self.matrix.catalogue.beside
        )

    def cover(self, key: Key, record: Record, version: str) -> Record:
        """Returns the record as known deviations change it, for the sign that pytest shows at once."""
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
        """Returns the folder of the journal and the reports. The controller makes it and passes it to its workers."""
        given = getattr(self.config, "workerinput", {}).get(FOLDER)
        if given:
            try:
                Path(given).mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as fault:
                raise run_folder.none(Path(given).parent, fault.strerror or str(fault)) from fault
            return Path(given)
        return run_folder.fresh(self.settings.report_dir)

    def adopt(self, folder: Path) -> None:
        """Uses the folder that workers made before a controller wrote a journal."""
        self.__dict__["folder"] = folder
        run_folder.pass_over(folder.parent)

    @cached_property
    def worlds(self) -> Path:
        """Returns the folder of the environments: below the cache, never below the temp directory, which Codex
        refuses."""
        mark = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:8]
        return runs_folder() / f"{self.folder.name}-{mark}"

    @cached_property
    def places(self) -> dict[str, str]:
        """Returns the paths that no report shows, and the words that replace them."""
        home = home_folder()
        found = {home: private_paths.HOME} if home.startswith("/") and home.strip("/") else {}
        return found | {str(cache_folder()): private_paths.CACHE, str(self.worlds): private_paths.RUN}

    # ---- effects
    @cached_property
    def resolver(self) -> CodexResolver:
        return CodexResolver(cache_folder(), timeout_scale=self.settings.timeout_scale)

    @cached_property
    def measurement(self) -> Measurement:
        if self.plan is None:
            raise CodexSandboxError("nothing was planned yet", why="a fixture was requested before collection ended")
        inside, parts = self.planner.generators_in, self.planner.parts
        options = WorkerOptions(
            generators_in=inside.id if inside else "",
            folder=self.worlds / (self.worker or "main"),
            cache=cache_folder(),
            timeout_scale=self.settings.timeout_scale,
            fingerprints=self.fingerprints,
        )
        return Measurement(
            self.plan,
            options,
            resolver=self.resolver,
            events=self.events,
            request=self.planner.request,
            scope=parts.scope,
            suites=tuple(self.suites),
            pairs=parts.pairs,
            invocation=tuple(map(str, self.config.invocation_params.args)),
            generator_unconfined=self.settings.generator_unconfined,
            generators_in=inside,
        )

    def close(self) -> None:
        """Closes all resources, once. Anything still present afterwards is reported as a leak of the harness."""
        measurement: Measurement | None = self.__dict__.pop("measurement", None)
        if measurement is not None:
            measurement.close()
            write_leaks(self.folder, self.worker, measurement.leaks())


def get_run(config: pytest.Config) -> PytestRun:
    """Returns the run of this process, made when it is first needed."""
    if RUN not in config.stash:
        config.stash[RUN] = PytestRun(config)
    return config.stash[RUN]


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turns errors of codexsandbox into usage errors: no traceback, and pytest's exit code 4."""
    try:
        yield
    except CodexSandboxError as fault:
        raise pytest.UsageError(str(fault)) from None
