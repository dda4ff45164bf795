"""Work units: items that stay together when workers share a run. Pure: the same in every process.

An environment is expensive, so everything measured in it stays with one worker. Cases that stand alone (of a generator,
which runs outside the environment) may be shared, case by case.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.suite_index import SuiteIndex
from pytest_codexsandbox.pytest_plugin.collection import key_id

WHOLE: Final = ""  # the part of a unit that is not split


class WorkUnit(NamedTuple):
    """Items that one worker runs, one after the other. `family`: units with common parts that are made once for each
    worker. `environment`: what a family has in common with others."""

    environment: str
    family: str
    part: str = WHOLE


NOBODYS: Final = WorkUnit("", "")
"""Unit of the items outside the matrix."""


def share_of(key: Key, cell: Cell, suites: SuiteIndex) -> WorkUnit:
    """Returns the unit of a key. Checks of one case need one case run. Keys without a case (stress checks, control
    generators) are a unit too."""
    whole = whole_of(cell)
    return whole._replace(part=f"case {key.case}") if suites.stands_alone(key) else whole


def whole_of(cell: Cell) -> WorkUnit:
    environment = cell.environment.id
    return WorkUnit(environment, f"{environment} {cell.subject.generator}".rstrip())


class WorkUnitIndex:
    """Looks node ids up and never parses them: those of `keys` one by one. Every other item of a cell's environment has
    the cell's id, behind what a user's own parametrization puts there. The longest id that fits counts, because one id
    may end like another."""

    def __init__(self, cells: Iterable[Cell], keys: Iterable[Key], suites: SuiteIndex) -> None:
        by_id: Mapping[str, Cell] = {cell.id: cell for cell in cells}
        self._known = {key_id(key): share_of(key, by_id[key.cell], suites) for key in keys if key.cell in by_id}
        wholes = {name: whole_of(by_id[name]) for name in by_id}
        self._marks = [(f"-{name}-", wholes[name]) for name in sorted(by_id, key=len, reverse=True)]

    def share(self, nodeid: str) -> WorkUnit:
        words = nodeid.partition("[")[2].removesuffix("]")
        if words in self._known:
            return self._known[words]
        return next((share for mark, share in self._marks if mark in f"-{words}"), NOBODYS)


def index_of(cells: Iterable[Cell], plan: Plan) -> WorkUnitIndex:
    """Indexes a plan. Keys are looked up only where cases stand alone; elsewhere environments decide."""
    shared = any(suite.cases_alone for suite in plan.suites)
    return WorkUnitIndex(cells, plan.keys if shared else (), plan.suite_index())
