"""Generator trial: what scenarios about generators get as a fixture. Each method adds rows; none raises when a promise
does not hold."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from pytest_codexsandbox.generators.checks import CHECKS
from pytest_codexsandbox.generators.managed_block import CaseNotApplicable
from pytest_codexsandbox.harness.baseline_checks import TRUST
from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.generator import CaseRun, Declaration, Finding
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Evidence
from pytest_codexsandbox.model.sandbox_state import SandboxState
from pytest_codexsandbox.model.story_log import anonymous
from pytest_codexsandbox.suite_protocols import SuiteTrial

UNCONFINED: Final = "generators ran without confinement, as requested"


class CheckResult(Protocol):
    """Findings, and their source: the id of a case run, a claim or a call."""

    @property
    def findings(self) -> tuple[Finding, ...]: ...
    @property
    def by(self) -> str: ...
    @property
    def blocked_by(self) -> str:
        """Returns a promise without which this one cannot be measured."""

    @property
    def unconfined(self) -> bool:
        """Checks whether generators ran unconfined, as the user allowed."""


class GeneratorSource(Protocol):
    """Provides everything about generators that is expensive (harness.generators.case_cache)."""

    def case_run(self, cell: Cell, case: str) -> tuple[CaseRun, str]: ...
    def declaration(self, cell: Cell) -> Declaration: ...
    def loads(self, cell: Cell, case: str) -> CheckResult: ...
    def claims(self, cell: Cell, case: str) -> CheckResult: ...
    def enforces(self, cell: Cell, case: str) -> tuple[CheckResult, tuple[Observation, ...]]: ...
    def strained(self, kind: str, cell: Cell, case: str) -> CheckResult: ...
    def standing(self, cell: Cell) -> CheckResult: ...


class RealGeneratorTrial(SuiteTrial):
    """Adds rows by asking the case cache. Here only the confinement of generators matters, not a sandbox."""

    def __init__(self, key: Key, promise: Promise, *, cell: Cell, cases: GeneratorSource) -> None:
        super().__init__(key, promise)
        self.cell, self._cases = cell, cases
        self.started = SandboxState(state="on", why="this promise judges a file, not a sandbox")
        self.shows_home = promise.topic != TRUST  # the text of a user's configuration may name any home

    def holds(self) -> None:
        with self._askable():
            case_run, name = self._cases.case_run(self.cell, self.case)
            found = CHECKS[self.promise.id](case_run, self._cases.declaration(self.cell))
            self._add([anonymous(one, case_run.world) for one in found], name)

    def loads(self) -> None:
        with self._askable():
            self._tell(self._cases.loads(self.cell, self.case))

    def claims(self) -> None:
        with self._askable():
            self._tell(self._cases.claims(self.cell, self.case))

    def enforces(self) -> None:
        with self._askable():
            result, seen = self._cases.enforces(self.cell, self.case)
            self.seen = seen
            self._tell(result)

    def replaces_at_once(self) -> None:
        self._strained("at-once")

    def survives(self) -> None:
        self._strained("survives")

    def keeps_theirs(self) -> None:
        self._strained("keeps-theirs")

    def migrates(self) -> None:
        self._strained("migrates")

    def loses_nothing_together(self) -> None:
        self._strained("together")

    def survives_being_killed(self) -> None:
        self._strained("killed")

    def standing_evidence(self) -> None:
        result = self._cases.standing(self.cell)
        if result.unconfined:
            self.started = SandboxState(state="off", why=UNCONFINED)
            self.asks_for_sandbox, self.unconfined_words = False, UNCONFINED
        self._tell(result)

    # ---- inside
    def _strained(self, kind: str) -> None:
        with self._askable():
            self._tell(self._cases.strained(kind, self.cell, self.case))

    @contextmanager
    def _askable(self) -> Iterator[None]:
        """Notes a case that does not apply to this generator as skipped. That is no error."""
        try:
            yield
        except CaseNotApplicable as why:
            self.skipped.append(f"{why.what}: {why.why}".removesuffix(": "))

    def _tell(self, result: CheckResult) -> None:
        self.blocked_by = self.blocked_by or result.blocked_by
        self._add(result.findings, result.by)

    def _add(self, findings: Iterable[Finding], by: str) -> None:
        for found in findings:
            if found.skipped:
                self.skipped.append(found.skipped)
                continue
            self.rows.append(
                Evidence(
                    claim=found.claim,
                    act=self.promise.id,
                    nonce=by,
                    call=by,
                    control=found.control,
                    control_held=found.control_held,
                    saw=found.saw,
                    held=found.held,
                    reason=found.reason,
                    direction="" if found.held else found.direction or "wrong-claim",
                    diff=found.diff,
                )
            )
