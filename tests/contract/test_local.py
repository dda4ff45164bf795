"""This machine keeps the contract of an environment: with a /tmp of its own where that can be had, and without."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.contract.environment import EnvironmentContract
from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.environments.local import LocalBackend
from pytest_codexsandbox.protocols import Backend, Environment
from tests.contract.builders import SharingBackend


@pytest.fixture(scope="module")
def as_it_is(place: Path) -> Iterator[Environment]:
    with LocalBackend().open(this_machine(), place / "as-it-is") as environment:
        yield environment


@pytest.fixture(scope="module")
def sharing(place: Path) -> Iterator[Environment]:
    with SharingBackend().open(this_machine(), place / "sharing") as environment:
        yield environment


class TestLocal(EnvironmentContract):
    @pytest.fixture
    def backend(self) -> Backend:
        return LocalBackend()

    @pytest.fixture
    def environment(self, as_it_is: Environment) -> Environment:
        return as_it_is

    @pytest.fixture
    def folder(self, place: Path, request: pytest.FixtureRequest) -> Path:
        return place / f"own-{request.node.name[:40]}"


class TestLocalThatSharesTmp(EnvironmentContract):
    @pytest.fixture
    def backend(self) -> Backend:
        return SharingBackend()

    @pytest.fixture
    def environment(self, sharing: Environment) -> Environment:
        return sharing

    @pytest.fixture
    def folder(self, place: Path, request: pytest.FixtureRequest) -> Path:
        return place / f"shared-{request.node.name[:40]}"
