"""Scheduler: decides which xdist worker runs which items. One worker gets all items of a work unit, in the plan's
order.

xdist's own loadgroup stops grouping on pytest 9.2 and hangs when a worker dies (measured). This scheduler is small
because a worker gets whole work units. The item that killed a worker is not tried again; the rest of its unit moves on.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import pytest
from xdist import workermanage
from xdist.remote import Producer
from xdist.report import report_collection_diff

from pytest_codexsandbox.pytest_plugin.work_queue import WorkQueue
from pytest_codexsandbox.pytest_plugin.work_units import NOBODYS, WorkUnit

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

# The function's name up to xdist 3.6, and since.
_tx_specs: Final = getattr(workermanage, "parse_tx_spec_config", None) or workermanage.parse_spec_config


class EnvironmentScheduler:
    """Implements xdist's Scheduling protocol."""

    def __init__(self, config: pytest.Config, log: Producer, *, share: Callable[[str], WorkUnit]) -> None:
        self.config, self.log, self._share = config, log.environments, share
        self.numnodes = len(_tx_specs(config))
        self.collection: list[str] | None = None
        self._collections: dict[WorkerController, list[str]] = {}
        self._pending: OrderedDict[WorkerController, list[int]] = OrderedDict()
        self._last: dict[WorkerController, WorkUnit] = {}
        self._deck = WorkQueue((), share)

    # ---- state that xdist reads
    @property
    def nodes(self) -> "list[WorkerController]":
        return list(self._pending)

    @property
    def collection_is_completed(self) -> bool:
        return len(self._collections) >= self.numnodes

    @property
    def tests_finished(self) -> bool:
        return self.collection_is_completed and not self._deck and all(len(left) < 2 for left in self._pending.values())

    @property
    def has_pending(self) -> bool:
        return bool(self._deck) or any(self._pending.values())

    # ---- events that xdist reports
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
        """Raises NotImplementedError. Only xdist's `--dist each` needs it, and here an item is never given twice."""
        raise NotImplementedError("an item that ran is not run again")

    def remove_pending_tests_from_node(self, node: "WorkerController", indices: Sequence[int]) -> None:
        self._pending[node] = [index for index in self._pending[node] if index not in set(indices)]

    def remove_node(self, node: "WorkerController") -> str | None:
        """Removes a worker that ended. The item that it was running is lost; its other items go to other workers."""
        left = self._pending.pop(node)
        self._collections.pop(node, None) if self.collection is None else None
        if not left or self.collection is None:
            return None
        crashed, *rest = left
        if rest:
            self._deck.give_back(self._last.get(node, NOBODYS), rest)
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
            self._deck = WorkQueue(self.collection, self._share)
        for node in self._pending:
            self._feed(node)

    # ---- inside
    def _feed(self, node: "WorkerController") -> None:
        """Gives a worker a new unit when at most one item is left to it. Shuts the worker down when nothing is left to
        give."""
        if node.shutting_down or node not in self._collections:
            return
        while len(self._pending[node]) <= 1:
            dealt = self._deck.next(self._last.get(node, NOBODYS))
            if dealt is None:
                break
            self._last[node], items = dealt
            self._pending[node].extend(items)
            node.send_runtest_some(items)
        if not self._deck:
            node.shutdown()

    def _differ(self) -> None:
        first, *rest = self._collections.items()
        for node, collection in rest:
            text = report_collection_diff(first[1], collection, first[0].gateway.id, node.gateway.id)
            if text:
                report = pytest.CollectReport(node.gateway.id, "failed", longrepr=text, result=[])
                self.config.hook.pytest_collectreport(report=report)
