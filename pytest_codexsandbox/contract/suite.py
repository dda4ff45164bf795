"""Suite contract: tests that every suite must pass. Your test module subclasses it and defines one fixture:

class TestMySuite(SuiteContract):
    @pytest.fixture
    def suite(self) -> Suite: ...
"""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.api import declared
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.ids import is_value
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.suite_traits import SuiteTraits
from pytest_codexsandbox.suite_protocols import Suite

_CELL: Final = Cell(
    environment=EnvironmentSpec(id="debian-12~host~local", backend="local", distro="debian-12"),
    subject=SubjectSpec(label="0.163.0", release="0.163.0"),
)


class _Scope:
    """Implements `SuiteScope`: a matrix file with one door and every policy, and no generator."""

    doors = ("sandbox",)
    policies = tuple(POLICIES)
    generators = ()


class SuiteContract:
    def test_its_traits_survive_the_journal(self, suite: Suite[Any]) -> None:
        assert suite.traits.name
        encoded = msgspec.json.encode(suite.traits)
        assert msgspec.json.decode(encoded, type=SuiteTraits) == suite.traits

    def test_its_fixture_is_asked_for_by_each_of_its_tests(self, suite: Suite[Any]) -> None:
        for promise, function in _promises(suite):
            assert function.__code__.co_varnames[: function.__code__.co_argcount] == (suite.fixture,), promise.id

    def test_it_has_promises_with_a_source_and_a_summary(self, suite: Suite[Any]) -> None:
        found = [promise for promise, _ in _promises(suite)]
        assert found, f"no promise in {suite.folder()} names the suite {suite.traits.name!r}"
        assert all(promise.source and promise.summary and promise.policies for promise in found)

    def test_its_promises_name_policies_that_a_key_may_have(self, suite: Suite[Any]) -> None:
        known = {*POLICIES, *suite.traits.policies}
        for promise, _ in _promises(suite):
            assert set(promise.policies) <= known, promise.id

    def test_doors_and_policies_are_ids(self, suite: Suite[Any]) -> None:
        assert all(map(is_value, (suite.traits.name, *suite.doors, *suite.traits.policies)))

    def test_every_process_plans_the_same(self, suite: Suite[Any]) -> None:
        """Every worker makes its own plan: an answer that changes would give the workers different tests."""
        again = type(suite)()
        assert (again.folder(), again.traits, again.fixture) == (suite.folder(), suite.traits, suite.fixture)
        assert _planned(again) == _planned(suite)


def _planned(suite: Suite[Any]) -> list[object]:
    scope = _Scope()
    if not suite.is_asked(scope):
        return []
    sides = list(suite.sides(scope, _CELL))
    cases = [list(suite.cases(scope, promise, _CELL)) for promise, _ in _promises(suite) if sides]
    return [sides, cases]


def _promises(suite: Suite[Any]) -> Iterator[tuple[Promise, Any]]:
    for file in sorted(suite.folder().rglob("test_*.py")):
        for value in vars(_load(file)).values():
            promise = declared(value) if callable(value) else None
            if promise is not None and promise.suite == suite.traits.name:
                yield promise, value


def _load(file: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"suite_contract_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
