"""Request parts: looks up what a run request names. Reads files, and starts nothing."""

from collections.abc import Callable
from functools import cached_property
from typing import Final

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.generators.required_paths import need_programs
from pytest_codexsandbox.harness.baseline_checks import STANDING
from pytest_codexsandbox.harness.run_request import RunRequest
from pytest_codexsandbox.matrix import generator_cells
from pytest_codexsandbox.matrix.generator_cells import GeneratorSet
from pytest_codexsandbox.matrix.load import INSTALLED, MatrixFile, load
from pytest_codexsandbox.matrix.plan import DoorPolicies
from pytest_codexsandbox.matrix.scenario_index import promises as shipped_promises
from pytest_codexsandbox.matrix.select import Selection
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.model.door_traits import DoorTraits
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.registry import data_folder, default_door, doors, names
from pytest_codexsandbox.releases.known_releases import installed
from pytest_codexsandbox.releases.user_binaries import candidate

INSTALL: Final = "pip install 'pytest-codexsandbox[codex]', or name one: --codex-release 0.163.0, --codex-bin PATH"


class RequestParts:
    """Looks up each part when it is first needed, and once."""

    def __init__(self, request: RunRequest) -> None:
        self.request = request

    @cached_property
    def matrix(self) -> MatrixFile:
        return load(self.request.preset)

    @cached_property
    def subjects(self) -> tuple[SubjectSpec, ...]:
        """Returns the Codex binaries that the options name, or those of the matrix file."""
        asked = self.request
        named = asked.releases if asked.releases or asked.binaries else self.matrix.releases
        return (
            *(self._release(name) for name in named),
            *(candidate(text, base=asked.binary_base) for text in asked.binaries),
        )

    def _release(self, name: str) -> SubjectSpec:
        if name != INSTALLED:
            return SubjectSpec(label=name, release=name)
        found = installed()
        if found is None:
            raise InputError(
                "no Codex is installed beside pytest", where=f"preset {self.matrix.name}", next_step=INSTALL
            )
        return found

    @cached_property
    def generators(self) -> tuple[str, ...]:
        """Returns the generators that the options name, or those of the matrix file."""
        return self.request.generators or self.matrix.generators

    @cached_property
    def writers(self) -> GeneratorSet:
        asked = self.request
        found = generator_cells.writers(self.generators, beside=self.matrix.catalogue.beside, base=asked.generator_base)
        if not asked.generator_in:
            need_programs(found)
        return found

    @cached_property
    def generator_axis(self) -> tuple[str, ...]:
        return generator_cells.axis(self.generators, self.writers) if self.generators else ()

    @cached_property
    def sides(self) -> DoorPolicies | None:
        """Returns doors and policies cell by cell where a generator is named; None: each policy at each door."""
        if not self.generators:
            return None
        for_files = doors()[default_door("files")]
        return generator_cells.sides(
            self.writers, doors=self.measured, policies=self.matrix.policies, for_files=for_files
        )

    @cached_property
    def pairs(self) -> tuple[tuple[Promise, Callable[..., object]], ...]:
        """Returns the shipped promises with their tests: start checks and canaries first. Promises about generators
        are among them only where a generator is named."""
        shipped = shipped_promises(data_folder("scenarios"))
        there = [pair for pair in shipped if self.generators or not pair[0].of_generators]
        return tuple(sorted(there, key=lambda pair: pair[0].topic not in STANDING))

    @cached_property
    def promises(self) -> dict[str, Promise]:
        return {promise.id: promise for promise, _ in self.pairs}

    @cached_property
    def measured(self) -> tuple[DoorTraits, ...]:
        """Returns what the doors of the matrix file declare, in its order."""
        return tuple(doors()[name] for name in self.matrix.doors)

    @cached_property
    def doors(self) -> tuple[str, ...]:
        """Returns every door that a key may name: the matrix file's first, in its order."""
        return tuple(dict.fromkeys((*self.matrix.doors, *names("doors"), generator_cells.DOOR)))

    @cached_property
    def selection(self) -> Selection:
        """Returns what --codex-only and --codex-skip say; the matrix file's own `skip` is not in it."""
        return Selection(only=self.request.only, skip=self.request.skip)
