"""What stays together when workers share the items of a run. Pure: the same in the process that deals them out and in
the workers.

An environment is dear, so what is measured in it stays with one worker. Stories of a generator are told outside of it,
and each case on its own: they may be shared, case by case.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from pytest_codexsandbox.matrix.generator_cells import DOOR
from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.pytest_plugin.collection import key_id

WHOLE: Final = ""  # the share of what is not shared


class WorkUnit(NamedTuple):
    """Items that one worker runs, one after the other. `family`: shares that have something in common which is made
    once for each worker; `environment`: what a family has in common with others."""

    environment: str
    family: str
    part: str = WHOLE


NOBODYS: Final = WorkUnit("", "")
"""Of items that are not ours."""


def share_of(key: Key, cell: Cell) -> WorkUnit:
    """Checks of one case lean on one story. Those without a case (strains, the known generators) are a share too."""
    environment = cell.environment.id
    family = f"{environment} {cell.subject.generator}".rstrip()
    return WorkUnit(environment, family, f"case {key.case}" if key.door == DOOR else WHOLE)


class WorkUnitIndex:
    """Node ids are looked up, never parsed: those of `keys` one by one. Every other item of a cell's environment
    carries the cell's id, behind what a user's own parametrization puts there. The longest id that fits is it: one may
    end like another."""

    def __init__(self, cells: Iterable[Cell], keys: Iterable[Key] = ()) -> None:
        by_id: Mapping[str, Cell] = {cell.id: cell for cell in cells}
        self._known = {key_id(key): share_of(key, by_id[key.cell]) for key in keys if key.cell in by_id}
        wholes = {name: share_of(Key(cell=name, door="", policy="", promise=""), by_id[name]) for name in by_id}
        self._marks = [(f"-{name}-", wholes[name]) for name in sorted(by_id, key=len, reverse=True)]

    def share(self, nodeid: str) -> WorkUnit:
        words = nodeid.partition("[")[2].removesuffix("]")
        if words in self._known:
            return self._known[words]
        return next((share for mark, share in self._marks if mark in f"-{words}"), NOBODYS)
