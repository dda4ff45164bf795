"""Two subjects whose answer is known, run beside every measurement: if they are misjudged, nothing is believed."""

from collections.abc import Callable

from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.policy import POLICIES, WORKSPACE_WRITE
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Evidence, Record
from pytest_codexsandbox.model.step import Key
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.ports import Subject
from pytest_codexsandbox.session.batteries import SHARED
from pytest_codexsandbox.session.bench import Bench
from pytest_codexsandbox.session.rehearsal import rehearse
from pytest_codexsandbox.session.standing import START, TRUST, canary_evidence
from pytest_codexsandbox.subjects import canaries as canary_subjects

Pairs = tuple[tuple[Promise, Callable[..., object]], ...]
_FINE = (Verdict.CONFORMS, Verdict.UNCONFINED, Verdict.NOT_APPLICABLE)


class Canaries:
    """Once for each (environment, door) of a worker, under one policy: workspace-write where it is planned.

    The selftest runs every subject under every policy; here it is asked whether the machinery works in this place.
    """

    def __init__(self, bench: Bench, pairs: Pairs) -> None:
        self._bench, self._pairs = bench, pairs
        self._kept: dict[tuple[str, str], tuple[str, str]] = {}

    def __call__(self, cell: Cell, door: str, policy: str) -> tuple[Evidence, ...]:
        key = (cell.environment.id, door)
        if key not in self._kept:
            asked = next(one for one in (WORKSPACE_WRITE, *POLICIES) if self._bench.planned(one, SHARED))
            folder = self._bench.options.folder / "canaries"
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            allow_all, good = canary_subjects(folder)
            self._kept[key] = (self._caught(allow_all, cell, door, asked), self._passed(good, cell, door, asked))
        caught, passed = self._kept[key]
        return canary_evidence(caught, passed, self._bench.seen(cell, door, policy, "")[0])

    def _caught(self, subject: Subject, cell: Cell, door: str, policy: str) -> str:
        if not POLICIES[policy].sandboxed:
            return ""  # nothing to catch: no sandbox was asked for
        records = self._rehearse(subject, cell, door, policy, [pair for pair in self._pairs if pair[0].topic == START])
        wrong = [record for record in records.values() if record.verdict is not Verdict.VIOLATES]
        return _words("allow-all was not caught", wrong) if wrong or not records else ""

    def _passed(self, subject: Subject, cell: Cell, door: str, policy: str) -> str:
        chosen = [pair for pair in self._pairs if pair[0].topic not in (START, TRUST) and pair[0].call is None]
        if not any(policy in promise.policies for promise, _ in chosen):
            return ""  # only standing promises are selected
        records = self._rehearse(subject, cell, door, policy, chosen)
        wrong = [record for record in records.values() if record.verdict not in _FINE]
        return _words("the good canary was failed", wrong) if wrong else ""

    def _rehearse(
        self, subject: Subject, cell: Cell, door: str, policy: str, pairs: list[tuple[Promise, Callable[..., object]]]
    ) -> dict[Key, Record]:
        return rehearse(
            pairs, (policy,), subject, environment=cell.environment, options=self._bench.options, door=door,
            exempt_from_start=True, bench=self._bench,
        )  # fmt: skip


def _words(what: str, wrong: list[Record]) -> str:
    some = "; ".join(f"{record.key.promise}: {record.verdict.value} ({record.reason})" for record in wrong[:3])
    return f"{what}: {some or 'it gave no result'}"
