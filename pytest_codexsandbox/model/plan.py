"""Plan: every key that will get a state, made before the first effect."""

import msgspec

from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.coverage import Coverage
from pytest_codexsandbox.model.journal_lines import CaseRow, GeneratorRow
from pytest_codexsandbox.model.plan_key import Key, NotPlanned
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.suite_index import SuiteIndex
from pytest_codexsandbox.model.suite_traits import SuiteTraits


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    preset: str
    cells: tuple[Cell, ...]
    promises: tuple[Promise, ...]
    keys: tuple[Key, ...]  # sorted as they will run: cell, door, policy, then the scenario's order
    not_applicable: dict[str, str] = {}  # str(key) → reason, known from data before anything starts
    not_planned: tuple[NotPlanned, ...] = ()
    coverage: Coverage | None = None  # where cells were picked by pairs
    cases: tuple[CaseRow, ...] = ()  # of the corpus, and
    generators: tuple[GeneratorRow, ...] = ()  # requested ones: both for readers of the journal
    about_generators: tuple[str, ...] = ()  # every promise about generators, also those that were not selected
    suites: tuple[SuiteTraits, ...] = ()  # those that ask the promises

    def suite_index(self) -> SuiteIndex:
        return SuiteIndex(self.suites, {promise.id: promise.suite for promise in self.promises})
