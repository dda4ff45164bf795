"""Machine state of a worker's environments: read again after each call. A change ends what can be measured there.

A bubblewrap that is installed during a run, or a sysctl that is switched, makes another sandbox. Earlier results hold
for the machine as it was. Later results are broken, with the reason.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.model.bwrap_used import BwrapUsed, used
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.model.machine import CHANGED, differences
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.protocols import Environment

_FILES: Final = ("found", "brought", "compiled-in")  # kinds that identify the program


class Steady:
    """Compares the machine with its first state. Safe in the thread that performs a call: it only reads, and keeps the
    first error of each environment."""

    def __init__(self) -> None:
        self._first: dict[str, Mapping[str, Any]] = {}
        self._faults: dict[str, HarnessError] = {}
        self._bwraps: dict[tuple[str, str], BwrapUsed] = {}
        self._facts: dict[str, dict[str, Any]] = {}

    def opened(self, environment: Environment) -> None:
        """Compares an environment that was started anew with the one before it."""
        spec, facts = environment.spec.id, environment.facts()
        self._compare(spec, self._first.setdefault(spec, facts), facts)

    def need(self, spec_id: str) -> None:
        """Raises HarnessError where this environment is known to have changed."""
        fault = self._faults.get(spec_id)
        if fault is not None:
            raise fault.with_traceback(None)

    def look(self, environment: Environment) -> None:
        """Raises HarnessError where the environment differs from its state when it was opened."""
        spec = environment.spec.id
        self.need(spec)
        self._compare(spec, self._first.setdefault(spec, environment.facts()), environment.state())
        self.need(spec)

    def set_up(self, spec_id: str, subject: SubjectSpec, door: str, seen: Iterable[Observation]) -> None:
        """Raises HarnessError where a battery's sandbox was set up by another program than the first of this Codex at
        this door. Cells with a generator are exempt: a generator may give Codex an environment with another program."""
        who = f"Codex {subject.label} at the door {door}"
        for one in [used(call.readings) for call in seen] if not subject.generator else ():
            if one is None or one.kind not in _FILES:
                continue
            first = self._bwraps.setdefault((spec_id, who), one)
            if (first.kind, first.path, first.sha256) != (one.kind, one.path, one.sha256):
                self._keep(spec_id, (f"sandboxes of {who} were set up by {first.told}, and now by {one.told}",), {})
        self.need(spec_id)

    def news(self, spec_id: str) -> dict[str, Any]:
        """Returns the facts of an environment that has changed, once, for the journal."""
        return self._facts.pop(spec_id, {})

    def _compare(self, spec: str, first: Mapping[str, Any], now: Mapping[str, Any]) -> None:
        if told := differences(first, now):
            self._keep(spec, told, now)

    def _keep(self, spec: str, told: Sequence[str], now: Mapping[str, Any]) -> None:
        if spec in self._faults:
            return
        self._facts[spec] = {**self._first.get(spec, {}), **now, CHANGED: list(told)}
        self._faults[spec] = HarnessError(
            "this machine changed during the run",
            where=spec,
            why="; ".join(told),
            next_step="leave it alone until the run has ended, and run again",
        )
