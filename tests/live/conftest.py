"""This machine, its installed Codex and one app-server of it: for those who ask for them by these names."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.doors.claims import Claimant
from pytest_codexsandbox.generators.case_run import CaseRunner, open_case_runner
from pytest_codexsandbox.generators.confinement import confinement
from pytest_codexsandbox.protocols import Environment, Subject
from tests.fakes.machine import installed_codex, local_environment, run_folder

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.live)


@pytest.fixture(scope="module")
def machine() -> Iterator[Environment]:
    with local_environment() as environment:
        yield environment


@pytest.fixture(scope="module")
def codex() -> Iterator[Subject]:
    with run_folder() as cache:
        yield installed_codex(cache)


@pytest.fixture(scope="module")
def claimant(machine: Environment, codex: Subject) -> Iterator[Claimant]:
    with Claimant(machine, codex) as claimant:
        yield claimant


@pytest.fixture(scope="module")
def runner(place: Path) -> Iterator[CaseRunner]:
    """Runs generators within walls."""
    with open_case_runner(place, confinement()) as opened:
        yield opened
