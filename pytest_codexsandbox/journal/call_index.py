"""Call index: finds the calls, case runs and claims of a journal, and derives the state of the sandbox from them.
Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property

from pytest_codexsandbox.diagnosis.sandbox_state import assess, assess_command
from pytest_codexsandbox.model.journal_lines import CallLine, ClaimLine, StoryLine
from pytest_codexsandbox.model.ledger import START, ReadJournal
from pytest_codexsandbox.model.policy import asks_for_sandbox
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.sandbox_state import SandboxState

WORST_FIRST = ("off", "failed", "unknown", "on")


class CallIndex:
    def __init__(self, journal: ReadJournal) -> None:
        self._journal = journal
        self.calls: dict[str, CallLine] = {line.id: line for line in journal.calls}
        self.stories: dict[str, StoryLine] = {line.id: line for line in journal.stories}
        self.claims: dict[str, ClaimLine] = {line.id: line for line in journal.claims}
        self._states: dict[tuple[str, str], str] = {}

    def of_codex(self, record: Record) -> list[CallLine]:
        """Returns the calls of Codex that a record names, without its controls."""
        return [line for line in self._of(record) if not line.control]

    def controls(self, record: Record) -> list[CallLine]:
        return [line for line in self._of(record) if line.control]

    def _of(self, record: Record) -> Iterator[CallLine]:
        return (self.calls[name] for name in record.calls if name in self.calls)

    @cached_property
    def _paired(self) -> dict[str, list[CallLine]]:
        """Returns the controls of each call: the ones that a result compares it with, then others in its environment.

        An environment that was started anew has a control of its own, so a call may have several.
        """
        found: dict[str, dict[str, CallLine]] = defaultdict(dict)
        for record in self._journal.records:
            controls = self.controls(record)
            for place, line in enumerate(self.of_codex(record)):
                if controls:
                    control = controls[min(place, len(controls) - 1)]
                    found[line.id].setdefault(control.id, control)
        return {name: list(controls.values()) for name, controls in found.items()}

    @cached_property
    def _battery_controls(self) -> dict[str, list[CallLine]]:
        """Returns the controls of the start checks, by environment."""
        found: dict[str, dict[str, CallLine]] = defaultdict(dict)
        for record in self._journal.records:
            if record.key.promise.partition(".")[0] == START:
                for control in self.controls(record)[:1]:
                    found[control.environment].setdefault(control.id, control)
        return {name: list(controls.values()) for name, controls in found.items()}

    def states(self, line: CallLine) -> set[str]:
        """Returns every state of the sandbox that the call shows, beside one of its controls."""
        controls = self._paired.get(line.id) or self._battery_controls.get(line.environment, [])
        return {self._state(line, control) for control in controls} or {"unknown"}

    def worst(self, lines: Iterable[CallLine]) -> set[str]:
        """Returns every state that several copies of a call may show together: each time the worst of them."""
        found = {"on"}
        for line in lines:
            found = {min(one, other, key=WORST_FIRST.index) for one in found for other in self.states(line)}
        return found

    def _state(self, line: CallLine, control: CallLine) -> str:
        known = self._states.get((line.id, control.id))
        if known is None:
            known = self._states[line.id, control.id] = _state(line, control)
        return known


def _state(line: CallLine, control: CallLine) -> str:
    seen, outside = line.observation, control.observation
    if not seen.rows and not outside.rows:  # it ran a command, and its marks are those of the policy's battery
        return assess_command(seen, outside, shared=SandboxState(state="on", why="")).state
    return assess(seen, outside, sandboxed=asks_for_sandbox(seen.policy), fingerprints=()).state
