"""Not applicable: derives why a promise cannot be measured in a place, from the plan, the Codex and the machine. Pure.

A result that the harness ruled out has no evidence, so its reason must come from lines that other results depend on. A
reason that only code elsewhere could derive is unsure: of another suite, door or backend, of a declaration that is not
shipped, or of another version of this program, which may have other words.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

import msgspec

from pytest_codexsandbox import __version__
from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.journal import generator_reasons
from pytest_codexsandbox.journal.planned_environment import another_user, environment_of, is_local, knows_profile
from pytest_codexsandbox.matrix import requirements
from pytest_codexsandbox.model import generator_suite
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.journal_lines import CellRow, EnvironmentLine, RunLine
from pytest_codexsandbox.model.ledger import HARNESS, START, ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.private_paths import PrivatePaths
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.redact import redact
from pytest_codexsandbox.model.suite_traits import SANDBOX
from pytest_codexsandbox.protocols import Door
from pytest_codexsandbox.registry import load_plugin, names

USER: Final = "user"
_PLATFORMS: Final = ("linux", "")  # on which a plan may have been made: Linux, and any other


class NotApplicable:
    """Compares the results that are n/a, and the measured ones, with what the plan and the probes found."""

    def __init__(self, journal: ReadJournal) -> None:
        self._journal = journal
        self._cells: dict[str, CellRow] = {cell.id: cell for cell in journal.plan.cells}
        self._paths = PrivatePaths((), journal.run.places)
        self._doors: dict[str, Door | None] = {}
        self._capabilities: dict[str, Capabilities | None] = {}
        self._specs: dict[str, EnvironmentSpec | None] = {}
        self._reasons_of_data: dict[tuple[str, str], tuple[str, ...] | None] = {}  # of a cell and a promise
        self._is_of_this_version = is_of_this_version(journal.run)

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
        elif not self.is_unsure(record, promise) and (why := self._unexplained(record, promise)):
            yield why

    def is_unsure(self, record: Record, promise: Promise) -> bool:
        """Checks whether only code that is not here could derive the reason of a result that was ruled out."""
        if str(record.key) in self._journal.plan.not_applicable:
            return self.is_plan_unsure(record.key, promise)
        if promise.suite == generator_suite.NAME:
            return False
        if not is_of_sandbox(promise):
            return True
        if self._door(record.key.door) is None and not any(self._reasons(record, promise)):
            return True
        return not self._is_of_this_version and bool(self._unexplained(record, promise))

    def measured_faults(self, record: Record, promise: Promise) -> Iterator[str]:
        """Yields why a result that was measured could not be."""
        if self._is_of_this_version:
            yield from self._unmeasurable(record, promise)

    def is_measured_unsure(self, record: Record, promise: Promise) -> bool:
        """Checks whether another version of this program measured a result that this one would not have measured."""
        return not self._is_of_this_version and any(self._unmeasurable(record, promise))

    # ---- what the plan rules out
    def plan_fault(self, key: Key, promise: Promise) -> str:
        """Returns why the plan cannot rule a key out, although it does; "" if it may, or does not."""
        why = self._planned(key)
        if why == requirements.NEEDS_LINUX:
            return self._linux_fault(key, promise)
        if not why or self.is_plan_unsure(key, promise):
            return ""
        if promise.topic in (START, HARNESS):
            return f"the plan rules out {key}, which is asked wherever Linux is: {why}"
        other = self._another_user(key.cell)
        if other:
            return f"the plan rules out {key}: {why}; but {other}"
        derived = " or ".join(filter(None, self._derived(key, promise) or ())) or "nothing does"
        return f"the plan rules out {key}: {why}; by its own lines {derived}" * (not self._is_derived(key, promise))

    def is_plan_unsure(self, key: Key, promise: Promise) -> bool:
        """Checks whether only code that is not here could derive why the plan rules a key out."""
        if self._planned(key) in ("", requirements.NEEDS_LINUX):
            return False
        if not is_of_sandbox(promise) and promise.suite != generator_suite.NAME:
            return True
        if self._derived(key, promise) is None:
            return True
        return not self._is_of_this_version and not self._is_derived(key, promise)

    def _planned(self, key: Key) -> str:
        return self._journal.plan.not_applicable.get(str(key), "")

    def _is_derived(self, key: Key, promise: Promise) -> bool:
        why = self._planned(key)
        return any(why in (one, redact(one)) for one in self._derived(key, promise) or () if one)

    def _derived(self, key: Key, promise: Promise) -> tuple[str, ...] | None:
        """Returns each reason for which a plan may rule a key out; None where that cannot be derived here."""
        if promise.suite == generator_suite.NAME:
            found = generator_reasons.reason(self._journal.plan, self._cells[key.cell], key)
            return None if found is None else (found,)
        there = (key.cell, promise.id)
        if there not in self._reasons_of_data:
            self._reasons_of_data[there] = self._by_data(key.cell, promise)
        return self._reasons_of_data[there]

    def _by_data(self, cell: str, promise: Promise) -> tuple[str, ...] | None:
        spec = self._spec(cell)
        if spec is None:
            return None
        if not requirements.OF_PROFILE.isdisjoint(promise.requires) and not knows_profile(self._cells[cell]):
            return None
        reasons = [requirements.why_not_applicable(promise, spec, platform=one) for one in _PLATFORMS]
        return tuple(dict.fromkeys(why for why in reasons if why != requirements.NEEDS_LINUX))

    def _spec(self, cell: str) -> EnvironmentSpec | None:
        if cell not in self._specs:
            self._specs[cell] = environment_of(self._cells[cell])
        return self._specs[cell]

    def _linux_fault(self, key: Key, promise: Promise) -> str:
        """Without Linux, this machine is not opened, and every promise is ruled out there."""
        row, out = self._cells[key.cell], f"the plan rules out {key}, for want of Linux"
        if not is_local(row):
            return f"{out}, which only this machine may want" * ("platform:linux" not in promise.requires)
        if key.cell in self._begun or row.environment in self._environments:
            return f"{out}, and its environment was opened"
        return f"{out}, and not every key of this machine" * (not self._is_without_linux)

    @cached_property
    def _is_without_linux(self) -> bool:
        here = {row.id for row in self._cells.values() if is_local(row)}
        return all(
            self._planned(key) == requirements.NEEDS_LINUX for key in self._journal.plan.keys if key.cell in here
        )

    def _another_user(self, cell: str) -> str:
        """Returns how the user of a cell in the plan differs from that of its opened environment; "" if it does not."""
        spec = self._spec(cell)
        return another_user(spec, self._environments.get(spec.id, ())) if spec is not None else ""

    # ---- what probes rule out
    def _unexplained(self, record: Record, promise: Promise) -> str:
        """Returns how the reason of a result differs from those that can be derived; "" if it does not."""
        found = dict.fromkeys(self._reasons(record, promise))
        if not found:
            return "it is n/a, and neither the plan, the probe of its Codex nor its environment rules it out"
        if any(record.reason in self._spellings(why) for why in found):
            return ""
        return f"it is n/a for another reason than the one that can be derived: {next(iter(found))}"

    def _unmeasurable(self, record: Record, promise: Promise) -> Iterator[str]:
        """Yields why a result that was measured could not be: its Codex or its environment lacks what it needs."""
        able, door = self._able(self._cells[record.key.cell].subject), self._door(record.key.door)
        if able is not None and door is not None:
            why = requirements.why_not_by_codex(promise, able, door, record.key.policy)
            if why:
                yield f"it was measured, and its Codex cannot be asked there: {why}"
        if not promise.requires:
            return
        lines = [line for line in self._journal.environments if line.id == record.environment]
        if lines and all(_absent(promise, line.facts) for line in lines):
            yield f"it was measured, and its environment lacks what it needs: {_absent(promise, lines[0].facts)}"

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


def is_of_this_version(run: RunLine) -> bool:
    """Checks whether this version of the program wrote the journal: then it had the same words and declarations."""
    return run.product == f"codexsandbox {__version__}"


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
