"""A backend of a third party, found by its entry point, keeps the contract of an environment."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.contract.environment import EnvironmentContract
from pytest_codexsandbox.harness.backends import load_backend
from pytest_codexsandbox.protocols import Backend, Environment
from tests.fakes.toy_package import forget_plugins, install


@pytest.fixture(scope="module")
def toy(place: Path) -> Iterator[Backend]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(install(place / "site")))
        forget_plugins()
        yield load_backend("toy")
    forget_plugins()


@pytest.fixture(scope="module")
def standing(toy: Backend, place: Path) -> Iterator[Environment]:
    spec = toy.here()
    assert spec is not None
    with toy.open(spec, place / "toy") as environment:
        yield environment


class TestToy(EnvironmentContract):
    @pytest.fixture
    def backend(self, toy: Backend) -> Backend:
        return toy

    @pytest.fixture
    def environment(self, standing: Environment) -> Environment:
        return standing

    @pytest.fixture
    def folder(self, place: Path, request: pytest.FixtureRequest) -> Path:
        return place / f"toy-{request.node.name[:40]}"
