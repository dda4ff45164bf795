"""Every installed suite, and the toy, by the contract of suites."""

from typing import Any

import pytest

from pytest_codexsandbox.contract.suite import SuiteContract
from pytest_codexsandbox.harness.suites.installed import installed_suites
from pytest_codexsandbox.suite_protocols import Suite
from tests.fakes.toy_suite import VersionSuite

SUITES = (*installed_suites().values(), VersionSuite())


class TestSuites(SuiteContract):
    @pytest.fixture(params=SUITES, ids=lambda suite: suite.traits.name)
    def suite(self, request: pytest.FixtureRequest) -> Suite[Any]:
        made: Suite[Any] = request.param
        return made
