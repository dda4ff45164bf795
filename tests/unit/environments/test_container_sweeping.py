"""What an engine lists is taken for what is there, but for what it only lists."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any, cast

from pytest_codexsandbox.environments.container import labels
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.sweeping import find

_OURS = labels.labels("environment", "beefbeef")


class Listing:
    """An engine with these containers in its list, of which it knows these."""

    host = "unix:///nowhere.sock"

    def __init__(self, listed: list[dict[str, Any]], known: set[str]) -> None:
        self.known = known
        self.api = SimpleNamespace(containers=lambda **_: listed, networks=lambda **_: [])

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
