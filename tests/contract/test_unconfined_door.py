"""The control keeps the contract of a door; it needs no Codex."""

from collections.abc import Iterator

import pytest

from pytest_codexsandbox.contract.door import DoorContract
from pytest_codexsandbox.doors.controls import UnconfinedDoor
from pytest_codexsandbox.model.policy import EVERY
from pytest_codexsandbox.protocols import Door, Environment, Subject
from tests.fakes.machine import local_environment
from tests.fakes.scripted import FakeSubject


@pytest.fixture(scope="module")
def machine() -> Iterator[Environment]:
    with local_environment() as environment:
        yield environment


class TestUnconfinedDoor(DoorContract):
    policies = EVERY

    @pytest.fixture
    def door(self) -> Door:
        return UnconfinedDoor()

    @pytest.fixture
    def environment(self, machine: Environment) -> Environment:
        return machine

    @pytest.fixture
    def subject(self) -> Subject:
        return FakeSubject()
