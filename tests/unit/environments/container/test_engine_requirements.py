"""What is wanted of an engine itself, and what a plan says of it."""

import msgspec
import pytest

from pytest_codexsandbox.environments.container import engine_requirements
from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.model.container import ContainerSpec, Profile
from tests.unit.environments.container.provision.builders import a_container

PLAIN = a_container()
REMAPPED = msgspec.structs.replace(PLAIN, profile=Profile(name="remapped", userns="remap"))


class Engine:
    def __init__(self, host: str, has: bool) -> None:
        self.host, self._has = host, has

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def has(self, option: str) -> bool:
        return self._has and option == "userns"


@pytest.mark.parametrize(
    ("hosts", "told"),
    [
        ({"a": False}, True),
        ({"a": True}, False),
        ({"a": None}, False),  # nothing is known of it
        ({"a": False, "b": False}, True),
        ({"a": False, "b": True}, False),
        ({"a": False, "b": None}, False),
    ],
)
def test_a_requirement_that_no_engine_meets_is_unavailable(hosts: dict[str, bool | None], told: bool) -> None:
    answered = {host: has for host, has in hosts.items() if has is not None}
    beforehand = engine_requirements.PlannedRequirements(tuple(hosts), answered)
    assert beforehand.why_not(PLAIN) == ""
    assert ("dockerd --userns-remap=default" in beforehand.why_not(REMAPPED)) is told


@pytest.mark.parametrize(
    ("asked", "has", "fits"), [(REMAPPED, False, False), (REMAPPED, True, True), (PLAIN, False, True)]
)
def test_it_is_looked_at_again_where_a_container_is_opened(asked: ContainerSpec, has: bool, fits: bool) -> None:
    engine = Engine("a", has)
    if fits:
        engine_requirements.refuse(engine, asked)  # type: ignore[arg-type]
        return
    with pytest.raises(Unavailable, match="userns-remap"):
        engine_requirements.refuse(engine, asked)  # type: ignore[arg-type]
