"""What an engine lists is taken for what is there, but for what it only lists."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from pytest_codexsandbox.environments.container import labels
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.sweep import clear_dead, find
from pytest_codexsandbox.environments.run_dirs import Owner
from pytest_codexsandbox.errors import HarnessError

_OURS = labels.labels("environment", "beefbeef")


class Listing:
    """An engine with these containers in its list, of which it knows these."""

    host = "unix:///nowhere.sock"

    def __init__(
        self, listed: list[dict[str, Any]], known: set[str], networks: tuple[dict[str, Any], ...] = ()
    ) -> None:
        self.known, self.removed = known, list[str]()
        self.api = SimpleNamespace(containers=lambda **_: listed, networks=lambda **_: list(networks))

    def remove(self, container: str) -> None:
        self.removed.append(container)

    def remove_network(self, network: str) -> None:
        if network == "busy":
            raise HarnessError("it has active endpoints")
        self.removed.append(network)

    def asked(self, _: str) -> AbstractContextManager[None]:
        return nullcontext()

    def state(self, container: str) -> Mapping[str, Any]:
        return {"Running": False} if container in self.known else {}


def found(names: list[str] | None, *, known: bool) -> list[str]:
    word = "87508b2b148d" + "0" * 52
    engine = Listing([{"Id": word, "Names": names, "Labels": _OURS}], {word} if known else set())
    return [left.name for left in find(cast("Engine", engine))]


def test_a_container_with_a_name_is_there() -> None:
    assert found(["/codexsandbox-beefbeef"], known=True) == ["codexsandbox-beefbeef"]


def test_one_without_a_name_that_the_engine_knows_is_there_too() -> None:
    assert found(None, known=True) == found([], known=True) == ["87508b2b148d"]


def test_one_without_a_name_that_the_engine_does_not_know_is_none() -> None:
    """The list of an engine that was killed may keep what it has removed: nobody could ever sweep that."""
    assert found(None, known=False) == found([], known=False) == []


# ---- by the next run
ME = Owner.me("beefbeef")
DEAD = msgspec.structs.replace(ME, start=ME.start + 1)  # its number is another's by now
REBOOTED = msgspec.structs.replace(DEAD, boot="before")
ELSEWHERE = msgspec.structs.replace(DEAD, pids="pid:[1]")
NAMESAKE = msgspec.structs.replace(REBOOTED, node="elsewhere")


def labelled(name: str, owner: Owner) -> dict[str, Any]:
    marks = {labels.OWNER: msgspec.json.encode(owner).decode()}
    return {"Id": name, "Names": [f"/{name}"], "Name": name, "Labels": marks}


OWNERS = {"mine": ME, "dead": DEAD, "rebooted": REBOOTED, "elsewhere": ELSEWHERE, "namesake": NAMESAKE, "busy": DEAD}


@pytest.mark.parametrize(
    ("host", "gone"), [("unix:///x.sock", ["dead", "rebooted"]), ("tcp://far:2376", ["dead"]), ("ssh://far", ["dead"])]
)
def test_the_next_run_removes_networks_and_containers_of_owners_that_are_surely_dead(
    host: str, gone: list[str]
) -> None:
    networks = tuple(labelled(name, owner) for name, owner in OWNERS.items())
    engine = Listing([labelled("dead-container", DEAD), labelled("my-container", ME)], {"dead-container"}, networks)
    engine.host = host
    told = clear_dead(cast("Engine", engine))
    assert engine.removed == ["dead-container", *gone]
    assert len(told) == len(engine.removed)
    assert told[-1].startswith(f"network {gone[-1]} (of process ")
