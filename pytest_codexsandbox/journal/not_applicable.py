"""Not applicable: derives why a promise cannot be measured in a place, from the plan, the Codex and the machine. Pure.

A result that the harness ruled out has no evidence, so its reason must come from lines that other results depend on.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

import msgspec

from pytest_codexsandbox import __version__
from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.matrix import requirements
from pytest_codexsandbox.model import generator_suite
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.model.journal_lines import CellRow, EnvironmentLine
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.private_paths import PrivatePaths
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.redact import redact
from pytest_codexsandbox.model.suite_traits import SANDBOX
from pytest_codexsandbox.protocols import Door
from pytest_codexsandbox.registry import load_plugin, names

USER: Final = "user"
_BY_DATA: Final = frozenset(requirements.WORDS)


class NotApplicable:
    """Compares the results that are n/a, and the measured ones, with what the plan and the probes found."""

    def __init__(self, journal: ReadJournal) -> None:
        self._journal = journal
        self._cells: dict[str, CellRow] = {cell.id: cell for cell in journal.plan.cells}
        self._paths = PrivatePaths((), journal.run.places)
        self._doors: dict[str, Door | None] = {}
        self._capabilities: dict[str, Capabilities | None] = {}

    def faults(self, record: Record, promise: Promise) -> Iterator[str]:
        """Yields why a result that was ruled out should not have been."""
        planned = self._journal.plan.not_applicable.get(str(record.key), "")
        if planned:
            if why := self.plan_fault(record.key, promise):
                yield why
            if record.reason not in self._spellings(planned):
                yield f"it is n/a for another reason than in the plan: {planned}"
            return
        if promise.suite == generator_suite.NAME:
            yield "it is n/a, and the plan does not rule it out"
        elif not self.is_unsure(record, promise):
            found = dict.fromkeys(self._reasons(record, promise))
            if not found:
                yield "it is n/a, and neither the plan, the probe of its Codex nor its environment rules it out"
            elif not any(record.reason in self._spellings(why) for why in found):
                yield f"it is n/a for another reason than the one that can be derived: {next(iter(found))}"

    def is_unsure(self, record: Record, promise: Promise) -> bool:
        """Checks whether the reason of a result that was ruled out comes from code that is not part of this program: a
        suite of another distribution, or a door that is not installed here."""
        if str(record.key) in self._journal.plan.not_applicable or promise.suite == generator_suite.NAME:
            return False
        return not is_of_sandbox(promise) or (
            self._door(record.key.door) is None and not any(self._reasons(record, promise))
        )

    def measured_faults(self, record: Record, promise: Promise) -> Iterator[str]:
        """Yields why a result that was measured could not be: its Codex or its environment lacks what it needs."""
        able, door = self._able(self._cells[record.key.cell].subject), self._door(record.key.door)
        if able is not None and door is not None and self._is_of_this_version:
            why = requirements.why_not_by_codex(promise, able, door, record.key.policy)
            if why:
                yield f"it was measured, and its Codex cannot be asked there: {why}"
        if not promise.requires:
            return
        lines = [line for line in self._journal.environments if line.id == record.environment]
        if lines and all(_absent(promise, line.facts) for line in lines):
            yield f"it was measured, and its environment lacks what it needs: {_absent(promise, lines[0].facts)}"

    def plan_fault(self, key: Key, promise: Promise) -> str:
        """Returns why the plan cannot rule a key out, although it does; "" if it may, or does not."""
        why = self._journal.plan.not_applicable.get(str(key), "")
        if not why or not is_of_sandbox(promise):
            return ""
        if why == requirements.NEEDS_LINUX:
            return f"the plan rules out {key}, for want of Linux, and calls were made there" * (key.cell in self._begun)
        return f"the plan rules out {key}, which requires nothing: {why}" * _BY_DATA.isdisjoint(promise.requires)

    # ---- inside
    @cached_property
    def _is_of_this_version(self) -> bool:
        """Checks whether the doors of the run needed what they need today."""
        return self._journal.run.product == f"codexsandbox {__version__}"

    def _reasons(self, record: Record, promise: Promise) -> Iterator[str]:
        """Yields each reason for which the harness may have ruled the promise out at run time."""
        cell, door = self._cells[record.key.cell], self._door(record.key.door)
        able = self._able(cell.subject)
        if able is not None and door is not None and (
            why := requirements.why_not_by_codex(promise, able, door, record.key.policy)
        ):  # fmt: skip
            yield why
        elif promise.requires:
            yield from filter(
                None, (_absent(promise, line.facts) for line in self._environments.get(cell.environment, ()))
            )

    def _spellings(self, reason: str) -> tuple[str, ...]:
        """Returns a reason as records spell it: without private paths and credentials."""
        return reason, redact(reason), self._paths.text(reason), redact(self._paths.text(reason))

    def _able(self, label: str) -> Capabilities | None:
        if label not in self._capabilities:
            self._capabilities[label] = _capabilities(self._found.get(label))
        return self._capabilities[label]

    def _door(self, name: str) -> Door | None:
        if name not in self._doors:
            self._doors[name] = _installed(name)
        return self._doors[name]

    @cached_property
    def _begun(self) -> frozenset[str]:
        return frozenset(line.cell for line in self._journal.calls)

    @cached_property
    def _found(self) -> dict[str, Mapping[str, Any]]:
        return {line.label: line.facts for line in self._journal.subjects}

    @cached_property
    def _environments(self) -> dict[str, list[EnvironmentLine]]:
        found: dict[str, list[EnvironmentLine]] = {}
        for line in self._journal.environments:
            found.setdefault(line.spec, []).append(line)
        return found


def is_of_sandbox(promise: Promise) -> bool:
    """Checks whether a promise is one of the sandbox suite, or a test of a user."""
    return promise.suite == SANDBOX or promise.id.startswith(f"{USER}.")


def _capabilities(facts: Mapping[str, Any] | None) -> Capabilities | None:
    try:
        return msgspec.convert(facts, Capabilities) if facts is not None else None
    except msgspec.ValidationError:
        return None


def _absent(promise: Promise, facts: Mapping[str, Any]) -> str:
    return requirements.why_not_there(promise, facts)


def _installed(name: str) -> Door | None:
    if name not in names("doors"):
        return None
    try:
        made: Door = load_plugin("doors", name)()
    except (CodexSandboxError, ImportError, AttributeError, TypeError):
        return None
    return made
