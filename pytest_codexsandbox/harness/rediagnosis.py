"""Rediagnosis: derives the fingerprint of a violation again, from its calls and the rows that were made of them.

A known deviation covers a violation with its own fingerprint alone, so a changed fingerprint would excuse any other.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import msgspec

from pytest_codexsandbox.diagnosis.builtin_causes import DERIVED
from pytest_codexsandbox.diagnosis.explain import diagnose
from pytest_codexsandbox.diagnosis.fact_conditions import flatten
from pytest_codexsandbox.diagnosis.judge import SANDBOX_WAS_OFF, judge_basis
from pytest_codexsandbox.diagnosis.match import fingerprints
from pytest_codexsandbox.diagnosis.sandbox_state import assess, proof_of
from pytest_codexsandbox.harness.baseline_checks import START, start_evidence
from pytest_codexsandbox.model import generator_suite
from pytest_codexsandbox.model.journal_lines import CellRow, EnvironmentLine
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.policy import asks_for_sandbox
from pytest_codexsandbox.model.private_paths import CACHE, HOME, RUN, PrivatePaths
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Evidence, Record
from pytest_codexsandbox.model.sandbox_state import SandboxState

Calls = tuple[Sequence[Observation], Sequence[Observation]]
"""The calls of Codex that a result names, and their controls."""


class Rediagnosis:
    """Explains violations of one journal again, with the fingerprints of today."""

    def __init__(self, journal: ReadJournal) -> None:
        self._journal = journal
        self._cells: dict[str, CellRow] = {cell.id: cell for cell in journal.plan.cells}
        self._versions = {line.label: line.version for line in journal.subjects}
        places = journal.run.places.items()  # a changed one could rewrite every text
        self._places = {path: word for path, word in places if path.startswith("/") and word in (HOME, CACHE, RUN)}
        self._found: dict[tuple[Hashable, ...], str] = {}

    def fault(self, record: Record, promise: Promise, calls: Calls, rows: Sequence[Evidence]) -> str:
        """Returns how the fingerprint of an expected violation differs from those that can be derived; "" if it does
        not. `rows`: made again of its calls."""
        said = record.diagnosis.fingerprint if record.diagnosis is not None else ""
        found = [*dict.fromkeys(self._derived(record, promise, calls, rows))]
        if not found or said in found:
            return ""
        return f"its cause is {said or 'not known'}, and its calls show {found[0] or 'no known cause'}"

    def _derived(self, record: Record, promise: Promise, calls: Calls, rows: Sequence[Evidence]) -> Iterator[str]:
        for place, facts in self._facts(record):
            made = self._start_rows(record, calls, facts) if promise.topic == START else rows
            plain = _as_judged(record, promise, made, calls[0])
            about = (place, promise.id, record.key.case, *_clues(plain, calls[0]))
            if about not in self._found:
                self._found[about] = self._fingerprint(plain, promise, calls, facts)
            yield self._found[about]

    def _fingerprint(self, plain: Record, promise: Promise, calls: Calls, facts: Mapping[str, Any]) -> str:
        seen, control = calls
        masks = PrivatePaths((one.world for one in (*seen, *control)), self._places)
        diagnosis = diagnose(masks.of(plain), seen, facts, named=promise.suite == generator_suite.NAME)
        return diagnosis.fingerprint if diagnosis is not None else ""

    def _start_rows(self, record: Record, calls: Calls, facts: Mapping[str, Any]) -> tuple[Evidence, ...]:
        seen, control = calls
        sandboxed = asks_for_sandbox(record.key.policy)
        state = assess(seen[0], control[0], sandboxed=sandboxed, facts=flatten(facts))
        return (start_evidence(state, policy=record.key.policy, seen=seen[0], control=control[0]),)

    def _facts(self, record: Record) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yields what was known of the machine and of the Codex, each time the machine was looked at, with a name."""
        cell = self._cells[record.key.cell]
        version = cell.as_version or self._versions.get(cell.subject, "")
        profile = cell.axes.get("profile", "")
        for number, line in self._environments.get(record.environment, ()):
            yield f"{number} {version} {profile}", {**line.facts, "codex": version, "profile": profile}

    @cached_property
    def _environments(self) -> dict[str, list[tuple[int, EnvironmentLine]]]:
        """Returns the lines of each environment. Machines with the same facts have one number."""
        numbers: dict[bytes, int] = {}
        found: dict[str, list[tuple[int, EnvironmentLine]]] = defaultdict(list)
        for line in self._journal.environments:
            number = numbers.setdefault(msgspec.json.encode(line.facts), len(numbers))
            found[line.id].append((number, line))
        return found


def _as_judged(record: Record, promise: Promise, rows: Sequence[Evidence], seen: Sequence[Observation]) -> Record:
    """Returns the record as the judge left it, before any deviation. The texts of a state come after the words that
    tell it."""
    basis = record.basis
    assert basis is not None
    state = SandboxState(state="unknown", why="")
    if basis.started is not None:
        state = SandboxState(state=basis.started.state, why="", alone=basis.started.alone)
    found = judge_basis(promise, basis, rows, seen=seen, started=state)
    return msgspec.structs.replace(
        record,
        verdict=found.verdict,
        direction=found.direction,
        reason=found.reason,
        evidence=tuple(rows),
        deviation="",
        diagnosis=None,
    )


def _clues(plain: Record, seen: Sequence[Observation]) -> tuple[Hashable, ...]:
    """Returns all that a fingerprint may depend on beside the promise and the machine. No text explains a leak."""
    if plain.direction == "leak":
        off = plain.reason.startswith(SANDBOX_WAS_OFF)
        marked = any(proof_of(reading, "") for one in seen for reading in one.readings)
        failed = [row.reason for row in plain.evidence if not row.control_held]
        return plain.verdict, plain.direction, off, marked, *failed
    return plain.verdict, msgspec.json.encode((plain.reason, plain.evidence, seen))


@cache
def known() -> frozenset[str]:
    """Returns the fingerprints of today. Packages and users may add others, which are not here."""
    return frozenset({"", *(one.id for one in fingerprints()), *(one.fingerprint for one in DERIVED)})
