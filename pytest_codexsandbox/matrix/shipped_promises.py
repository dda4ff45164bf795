"""Shipped promises: what the scenarios of this program declare today, read once."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from pytest_codexsandbox.matrix.scenario_index import Declared, promises
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.registry import data_folder


@cache
def pairs() -> tuple[Declared, ...]:
    return promises(data_folder("scenarios"))


@cache
def declared() -> Mapping[str, Promise]:
    """Returns every shipped promise by its id, of all suites."""
    return MappingProxyType({promise.id: promise for promise, _ in pairs()})
