"""Who runs what under xdist: all items of one environment go to one worker, in the plan's order.

xdist's own loadgroup stops grouping on pytest 9.2 and hangs when a worker dies (measured); this one is small because
a worker gets whole groups. The item that killed a worker is not tried again; the rest of its group moves on.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

import pytest
from xdist import workermanage
from xdist.remote import Producer
from xdist.report import report_collection_diff

from pytest_codexsandbox.model.cell import Cell

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

# Its name up to xdist 3.6, and since.
_tx_specs: Final = getattr(workermanage, "parse_tx_spec_config", None) or workermanage.parse_spec_config
CHUNK: Final = 20  # of items that are not ours: how many go to a worker at once


class Owners:
    """Node ids are looked up, never parsed: every item of a cell's environment carries the cell's id, behind what a
    user's own parametrization puts there. The longest id that fits is it: one may end like another."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        by_id = {cell.id: _owner(cell) for cell in cells}
        self._marks = [(f"-{id}-", by_id[id]) for id in sorted(by_id, key=len, reverse=True)]

    def environment_of(self, nodeid: str) -> str:
        words = f"-{nodeid.partition('[')[2]}"
        return next((environment for mark, environment in self._marks if mark in words), "")


def _owner(cell: Cell) -> str:
    """One environment, one worker. Stories of generators are told outside of it: each generator may have its own."""
    return f"{cell.environment.id} {cell.subject.generator}".rstrip()


class EnvironmentScheduler:
    """Implements xdist's Scheduling protocol."""

    def __init__(self, config: pytest.Config, log: Producer, *, group: Callable[[str], str]) -> None:
        self.config, self.log, self._group = config, log.environments, group
        self.numnodes = len(_tx_specs(config))
        self.collection: list[str] | None = None
        self._collections: dict[WorkerController, list[str]] = {}
        self._pending: OrderedDict[WorkerController, list[int]] = OrderedDict()
        self._queue: list[list[int]] = []  # groups that nobody has yet

    # ---- what xdist asks
    @property
    def nodes(self) -> "list[WorkerController]":
        return list(self._pending)

    @property
    def collection_is_completed(self) -> bool:
        return len(self._collections) >= self.numnodes

    @property
    def tests_finished(self) -> bool:
        return (
            self.collection_is_completed and not self._queue and all(len(left) < 2 for left in self._pending.values())
        )

    @property
    def has_pending(self) -> bool:
        return bool(self._queue) or any(self._pending.values())

    # ---- what xdist tells
    def add_node(self, node: "WorkerController") -> None:
        self._pending[node] = []

    def add_node_collection(self, node: "WorkerController", collection: Sequence[str]) -> None:
        if self.collection_is_completed and self.collection is not None and list(collection) != self.collection:
            other = next(iter(self._collections))
            self.log(report_collection_diff(self.collection, collection, other.gateway.id, node.gateway.id))
            return
        self._collections[node] = list(collection)

    def mark_test_complete(self, node: "WorkerController", item_index: int, duration: float = 0) -> None:
        self._pending[node].remove(item_index)
        self._feed(node)

    def mark_test_pending(self, item: str) -> None:
        """xdist's `--dist each` alone needs it; an item is never given twice here."""
        raise NotImplementedError("an item that ran is not run again")

    def remove_pending_tests_from_node(self, node: "WorkerController", indices: Sequence[int]) -> None:
        self._pending[node] = [index for index in self._pending[node] if index not in set(indices)]

    def remove_node(self, node: "WorkerController") -> str | None:
        """A worker ended. What it was running is lost; the rest of its items go on elsewhere."""
        left = self._pending.pop(node)
        self._collections.pop(node, None) if self.collection is None else None
        if not left or self.collection is None:
            return None
        crashed, *rest = left
        if rest:
            self._queue.insert(0, rest)
        for other in self._pending:
            self._feed(other)
        return self.collection[crashed]

    def schedule(self) -> None:
        if self.collection is None:
            collections = list(self._collections.values())
            if any(collection != collections[0] for collection in collections):
                self._differ()
                return
            self.collection = collections[0]
            self._queue = self._groups(self.collection)
        for node in self._pending:
            self._feed(node)

    # ---- inside
    def _groups(self, collection: list[str]) -> list[list[int]]:
        """Whole environments first, the largest first; then chunks of what is not ours."""
        ours: OrderedDict[str, list[int]] = OrderedDict()
        others: list[int] = []
        for index, name in enumerate(collection):
            group = self._group(name)
            ours.setdefault(group, []).append(index) if group else others.append(index)
        chunks = [others[start : start + CHUNK] for start in range(0, len(others), CHUNK)]
        return [*sorted(ours.values(), key=len, reverse=True), *chunks]

    def _feed(self, node: "WorkerController") -> None:
        """A worker gets a new group when at most one item is left to it; with nothing left to give it may go home."""
        if node.shutting_down or node not in self._collections:
            return
        if len(self._pending[node]) <= 1 and self._queue:
            group = self._queue.pop(0)
            self._pending[node].extend(group)
            node.send_runtest_some(group)
            self._feed(node)
        elif (len(self._pending[node]) <= 1 and not self._queue) or not self._queue:
            node.shutdown()

    def _differ(self) -> None:
        first, *rest = self._collections.items()
        for node, collection in rest:
            text = report_collection_diff(first[1], collection, first[0].gateway.id, node.gateway.id)
            if text:
                report = pytest.CollectReport(node.gateway.id, "failed", longrepr=text, result=[])
                self.config.hook.pytest_collectreport(report=report)
