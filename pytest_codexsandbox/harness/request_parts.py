"""Request parts: looks up what a run request names. Reads files, and starts nothing."""

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, Final

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.generators.required_paths import need_programs
from pytest_codexsandbox.harness.baseline_checks import STANDING
from pytest_codexsandbox.harness.run_request import RunRequest
from pytest_codexsandbox.harness.suites.installed import installed_suites
from pytest_codexsandbox.harness.suites.plan_scope import PlanScope
from pytest_codexsandbox.matrix import generator_cells
from pytest_codexsandbox.matrix.generator_cells import GeneratorSet
from pytest_codexsandbox.matrix.load import INSTALLED, MatrixFile, load
from pytest_codexsandbox.matrix.plan import SuiteSides
from pytest_codexsandbox.matrix.scenario_index import promises as promises_below
from pytest_codexsandbox.matrix.select import Selection
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.model.door_traits import DoorTraits
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.registry import doors, names
from pytest_codexsandbox.releases.known_releases import installed
from pytest_codexsandbox.releases.user_binaries import candidate
from pytest_codexsandbox.suite_protocols import Suite

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
    def scope(self) -> PlanScope:
        """Returns what suites may know of this request."""
        return PlanScope(self.matrix, self.generators, lambda: self.writers)

    @cached_property
    def suites(self) -> Mapping[str, Suite[Any]]:
        """Returns the installed suites that have a part in this plan."""
        return {name: suite for name, suite in installed_suites().items() if suite.is_asked(self.scope)}

    @cached_property
    def sides(self) -> dict[str, SuiteSides]:
        """Returns where each suite measures."""
        return {name: sides_of(suite, self.scope) for name, suite in self.suites.items()}

    @cached_property
    def pairs(self) -> tuple[tuple[Promise, Callable[..., object]], ...]:
        """Returns the promises of all suites with their tests: start checks and canaries first."""
        folders = tuple(dict.fromkeys(suite.folder() for suite in self.suites.values()))
        there = [pair for pair in promises_below(*folders) if self._is_asked(pair[0])]
        return tuple(sorted(there, key=lambda pair: pair[0].topic not in STANDING))

    def _is_asked(self, promise: Promise) -> bool:
        if promise.suite not in installed_suites():
            raise InputError(
                f"{promise.id} names the suite {promise.suite!r}", why=f"known: {', '.join(installed_suites())}"
            )
        return promise.suite in self.suites

    @cached_property
    def promises(self) -> dict[str, Promise]:
        return {promise.id: promise for promise, _ in self.pairs}

    def promises_of(self, suite: str) -> tuple[Promise, ...]:
        return tuple(promise for promise in self.promises.values() if promise.suite == suite)

    @cached_property
    def measured(self) -> tuple[DoorTraits, ...]:
        """Returns what the doors of the matrix file declare, in its order."""
        return tuple(doors()[name] for name in self.matrix.doors)

    @cached_property
    def doors(self) -> tuple[str, ...]:
        """Returns every door that a key may name: the matrix file's first, in its order."""
        own = (door for suite in installed_suites().values() for door in suite.doors)
        return tuple(dict.fromkeys((*self.matrix.doors, *names("doors"), *own)))

    @cached_property
    def policies(self) -> tuple[str, ...]:
        """Returns every policy that a key may name."""
        own = (policy for suite in installed_suites().values() for policy in suite.traits.policies)
        return tuple(dict.fromkeys((*POLICIES, *own)))

    @cached_property
    def selection(self) -> Selection:
        """Returns the selection of --codex-only and --codex-skip, without the matrix file's own `skip`."""
        return Selection(only=self.request.only, skip=self.request.skip)


def sides_of(suite: Suite[Any], scope: PlanScope) -> SuiteSides:
    return SuiteSides(
        policies=suite.traits.policies,
        of=partial(suite.sides, scope),
        cases=partial(suite.cases, scope),
        asked=partial(suite.why_not, scope),
        ruled_out=partial(suite.ruled_out, scope),
    )
