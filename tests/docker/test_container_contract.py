"""A container keeps the contract of an environment, as root and as an ordinary user."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.contract.environment import EnvironmentContract
from pytest_codexsandbox.environments.container.backend import ContainerBackend
from pytest_codexsandbox.protocols import Backend, Environment
from tests.docker.builders import container


@pytest.fixture(scope="module")
def of_root(place: Path) -> Iterator[Environment]:
    with ContainerBackend().open(container(), place / "root") as environment:
        yield environment


@pytest.fixture(scope="module")
def of_a_user(place: Path) -> Iterator[Environment]:
    with ContainerBackend().open(container(user="u1000"), place / "user") as environment:
        yield environment


class TestRoot(EnvironmentContract):
    @pytest.fixture
    def backend(self) -> Backend:
        return ContainerBackend()

    @pytest.fixture
    def environment(self, of_root: Environment) -> Environment:
        return of_root

    @pytest.fixture
    def folder(self, place: Path, request: pytest.FixtureRequest) -> Path:
        return place / f"root-{request.node.name[:40]}"


class TestAUser(EnvironmentContract):
    @pytest.fixture
    def backend(self) -> Backend:
        return ContainerBackend()

    @pytest.fixture
    def environment(self, of_a_user: Environment) -> Environment:
        return of_a_user

    @pytest.fixture
    def folder(self, place: Path, request: pytest.FixtureRequest) -> Path:
        return place / f"user-{request.node.name[:40]}"
