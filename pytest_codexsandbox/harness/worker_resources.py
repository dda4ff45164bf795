"""Worker resources: the environments, the Codex binaries and the doors of one worker, and its event sink.

Each part that measures gets one passed down: calls of Codex, runs of generators, canaries.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from pytest_codexsandbox.diagnosis.fingerprint import Fingerprint
from pytest_codexsandbox.harness.codex_programs import CodexPrograms
from pytest_codexsandbox.harness.codex_resolver import Resolver
from pytest_codexsandbox.harness.environment_pool import EnvironmentPool
from pytest_codexsandbox.harness.event_sink import EventSink
from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.protocols import Door, Environment, Subject
from pytest_codexsandbox.registry import default_door, load_plugin


class WorkerOptions(msgspec.Struct, frozen=True, kw_only=True):
    folder: Path  # this worker's environments, below the run's folder
    cache: Path
    timeout_scale: float = 1.0
    fingerprints: tuple[Fingerprint, ...] | None = None  # None: those that are shipped
    generators_in: str = ""  # the environment that the generators of all cells run in: each may call Codex


class WorkerResources:
    """Opens environments, Codex binaries and doors. Not thread-safe. `close()` ends all that was started. `pool`: the
    pool of another instance, which closes it."""

    def __init__(
        self,
        cells: Sequence[Cell],
        options: WorkerOptions,
        *,
        resolver: Resolver,
        events: EventSink,
        pool: EnvironmentPool | None = None,
    ) -> None:
        self.options, self.events = options, events
        self.programs = CodexPrograms(cells, resolver, events, cache=options.cache, generators_in=options.generators_in)
        self._owns_pool = pool is None
        self.pool = pool or EnvironmentPool(options.folder, options.cache, programs=self.programs, events=events)
        self._doors: dict[str, Door] = {}

    def door(self, name: str) -> Door:
        if name not in self._doors:
            self._doors[name] = load_plugin("doors", name)()
        return self._doors[name]

    @property
    def control_door(self) -> Door:
        """Returns the door around the sandbox, which performs the same acts unconfined."""
        return self.door(default_door("control"))

    def enter(self, cell: Cell) -> tuple[Environment, Subject]:
        """Returns the environment of a cell, free for a call, and its Codex with its path inside."""
        return self.pool.enter(cell.environment, self.programs.subject(cell.subject))

    def check(self, cell: Cell, seen: Sequence[Observation] = ()) -> None:
        """Raises HarnessError after calls that may have run another program than the reported one, or on a machine
        that changed since the environment was opened."""
        self.pool.check(cell.environment)
        self.programs.check(cell, seen)

    def close(self) -> None:
        if self._owns_pool:
            self.pool.close()
