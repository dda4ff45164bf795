"""Every suite that is shipped, and the toy, by the contract of suites."""

from typing import Any

import pytest

from pytest_codexsandbox.contract.suite import SuiteContract
from pytest_codexsandbox.harness.suites.generator import GeneratorSuite
from pytest_codexsandbox.harness.suites.sandbox import SandboxSuite
from pytest_codexsandbox.suite_protocols import Suite
from tests.fakes.toy_suite import VersionSuite


class TestSuites(SuiteContract):
    @pytest.fixture(params=[SandboxSuite, GeneratorSuite, VersionSuite])
    def suite(self, request: pytest.FixtureRequest) -> Suite[Any]:
        made: Suite[Any] = request.param()
        return made
