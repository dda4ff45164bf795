"""Record checks: how one result of a journal contradicts its calls, its plan or its own rows. Pure.

Each check yields what is wrong, as a sentence. The first one of a record is shown.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Final

from pytest_codexsandbox.diagnosis.judge import Judged, judge_basis
from pytest_codexsandbox.journal.call_index import CallIndex
from pytest_codexsandbox.journal.not_applicable import USER, NotApplicable, is_of_sandbox
from pytest_codexsandbox.journal.orphan_calls import is_control
from pytest_codexsandbox.matrix.expectation_files import LOST_CAPABILITY
from pytest_codexsandbox.model import generator_suite
from pytest_codexsandbox.model.base_acts import FORBIDDEN
from pytest_codexsandbox.model.bwrap_used import unexpected_bwrap, used
from pytest_codexsandbox.model.journal_lines import CallLine, CellRow, PromiseRow
from pytest_codexsandbox.model.ledger import HARNESS, START, ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import asks_for_sandbox
from pytest_codexsandbox.model.promise import REFUSABLE, Promise
from pytest_codexsandbox.model.record import Basis, Evidence, Record, Started
from pytest_codexsandbox.model.sandbox_state import SandboxState
from pytest_codexsandbox.model.verdict import Verdict

_OF_USERS: Final = "user/run"  # the act of a user's own test
_CANARIES: Final = frozenset({"allow-all", "good"})
_WITHOUT_LINE: Final = ("known-generators-", "strain-")  # checks of generators that have no line of their own


class RecordChecks:
    """Judges the records of one journal again."""

    def __init__(self, journal: ReadJournal) -> None:
        self._journal, self._index = journal, CallIndex(journal)
        self._not_applicable = NotApplicable(journal)
        self._cells: dict[str, CellRow] = {cell.id: cell for cell in journal.plan.cells}
        self.promises = {row.id: promise_of(row) for row in journal.plan.promises}

    def judged(self, record: Record) -> Judged | None:
        """Returns the verdict before known deviations, made anew; None if the record does not hold what decides it."""
        basis, promise = record.basis, self.promises.get(record.key.promise)
        if basis is None or promise is None:
            return None
        if basis.how == "fault":
            return Judged(verdict=Verdict.BROKEN, direction="", reason=record.reason)
        if basis.how == "ruled-out":
            return Judged(verdict=Verdict.NOT_APPLICABLE, direction="", reason=record.reason)
        if basis.how == "lost":
            return Judged(verdict=Verdict.VIOLATES, direction="denied", reason=record.reason)
        if basis.started is None or not basis.outcome:
            return None
        seen = [line.observation for line in self._index.of_codex(record)]
        return judge_basis(promise, basis, record.evidence, seen=seen, started=_state(basis.started))

    def plan_faults(self, unwritten: Iterable[Key]) -> Iterator[tuple[Key, str]]:
        """Yields the keys without a result that the plan rules out although no data can."""
        for key in unwritten:
            promise = self.promises.get(key.promise)
            if why := self._not_applicable.plan_fault(key, promise) if promise is not None else "":
                yield key, why

    def is_unsure(self, record: Record) -> bool:
        """Checks whether code that is not here decided a result: it was ruled out, or another version measured it."""
        promise, how = self.promises.get(record.key.promise), record.basis.how if record.basis is not None else ""
        if promise is None:
            return False
        if how == "judged":
            return is_of_sandbox(promise) and self._not_applicable.is_measured_unsure(record, promise)
        return how == "ruled-out" and self._not_applicable.is_unsure(record, promise)

    def is_plan_unsure(self, key: Key) -> bool:
        """Checks whether only code that is not here could derive why the plan rules a key out."""
        promise = self.promises.get(key.promise)
        return promise is not None and self._not_applicable.is_plan_unsure(key, promise)

    def faults(self, record: Record) -> Iterator[str]:
        """Yields the contradictions of a record that has a basis."""
        assert record.basis is not None
        promise = self.promises.get(record.key.promise)
        if promise is None:
            yield f"the plan has no promise {record.key.promise}"
            return
        yield from self._key(record)
        if record.basis.how == "judged":
            yield from self._judged(record, promise, record.basis)
        else:
            yield from self._unjudged(record, promise, record.basis)
        for row in record.evidence:
            yield from self._row(row, record, promise)

    # ---- the key
    def _key(self, record: Record) -> Iterator[str]:
        cell = self._cells[record.key.cell]
        if (record.provenance, record.synthetic, record.arch) != (cell.provenance, cell.synthetic, cell.arch):
            yield "its machine is not that of its cell in the plan"
        ruled_out = self._journal.plan.not_applicable.get(str(record.key), "")
        if ruled_out and record.verdict not in (Verdict.NOT_APPLICABLE, Verdict.BROKEN):
            yield f"the plan rules it out, and it is {record.verdict.value}: {ruled_out}"
        lost = next((call for call in record.calls if call not in self._index.calls), "")
        if lost:
            yield f"its call is not in the journal: {lost}"
        for line in self._index.controls(record):
            if not is_control(line):
                yield f"its control {line.id} went through a door of Codex: {line.observation.door}"
        for line in (*self._index.of_codex(record), *self._index.controls(record)):
            if line.environment not in self._environments:
                yield f"its call {line.id} ran in an environment that is not in the journal: {line.environment}"
            if line.subject not in self._subjects:
                yield f"its call {line.id} is one of a Codex that is not in the journal: {line.subject}"

    # ---- what the harness decided by itself
    def _unjudged(self, record: Record, promise: Promise, basis: Basis) -> Iterator[str]:
        if basis.how == "ruled-out":
            if record.evidence or record.calls:
                yield "it is n/a, and it has evidence"
            yield from self._not_applicable.faults(record, promise)
        found = record.diagnosis.fingerprint if record.diagnosis else ""
        if (basis.how == "lost") != (found == LOST_CAPABILITY):
            yield "a lost capability is no result of a measurement"

    @cached_property
    def _subjects(self) -> frozenset[str]:
        return frozenset(line.label for line in self._journal.subjects)

    @cached_property
    def _environments(self) -> frozenset[str]:
        return frozenset(line.id for line in self._journal.environments)

    # ---- what the judge was given
    def _judged(self, record: Record, promise: Promise, basis: Basis) -> Iterator[str]:
        if basis.promise != promise.id:
            yield f"it was judged for {basis.promise or 'no promise'}"
        cell = self._cells[record.key.cell]
        if record.environment.partition("@")[0] != cell.environment or record.subject != cell.subject:
            yield "its environment or its Codex is not that of its cell"
        if promise.suite == generator_suite.NAME:
            yield from self._of_generator(record, promise, basis)
        else:
            yield from self._of_sandbox(record, promise, basis)

    def _of_generator(self, record: Record, promise: Promise, basis: Basis) -> Iterator[str]:
        if basis.asks_for_sandbox:
            return
        if promise.topic != HARNESS:
            yield "it says that no confinement was asked for, which only the trust promise may say"
        confined = (line.confined for line in self._index.stories.values() if line.cell == record.key.cell)
        if any(confined):
            yield "it says that generators ran unconfined, and a case run was confined"

    def _of_sandbox(self, record: Record, promise: Promise, basis: Basis) -> Iterator[str]:
        if not is_of_sandbox(promise):
            return  # a suite of another distribution may make calls and states of its own kind
        yield from self._not_applicable.measured_faults(record, promise)
        if basis.skipped or basis.blocked_by:
            yield "it says that its test could not be asked, and no promise about a sandbox says so"
        policy = record.key.policy
        if basis.asks_for_sandbox != asks_for_sandbox(policy):
            asked = "asks" if asks_for_sandbox(policy) else "does not ask"
            yield f"the policy {policy} {asked} for a sandbox, and it was judged otherwise"
        if record.environment not in self._environments:
            yield f"its environment is not in the journal: {record.environment}"
        own = self._index.of_codex(record)
        if not own or not self._index.controls(record):
            yield "it has no call of Codex, or no control"
            return
        for line in own:
            yield from _another_place(line, record)
        yield from self._start(record, promise, basis.started, own)

    def _start(self, record: Record, promise: Promise, started: Started | None, own: list[CallLine]) -> Iterator[str]:
        """Compares the state of the sandbox that the judge was given with what the calls show."""
        line = self._index.calls.get(started.call) if started is not None else None
        if started is None or line is None or line.control:
            yield "the call that shows the state of its sandbox is not in the journal"
            return
        yield from _another_place(line, record)
        theirs = self._index.worst([line]) if line not in own or promise.id.startswith(f"{USER}.") else set()
        ours = set() if promise.id.startswith(f"{USER}.") else self._index.worst(self._counted(own, promise))
        if not _is_possible(started, ours, theirs):
            shown = " or ".join(sorted(ours | theirs))
            yield f"the state of its sandbox was judged as {started.state}, and its calls show {shown}"
        of_user = promise.id.startswith(f"{USER}.")
        if another := "" if started.another else self._another_bwrap([line] if of_user else [line, *own]):
            yield f"another bubblewrap set up its sandbox, and it was judged as if none had: {another}"

    def _another_bwrap(self, lines: Iterable[CallLine]) -> str:
        """Returns which bubblewrap set up the sandbox of a call in place of the requested one; "" if none did."""
        for line in lines:
            if not asks_for_sandbox(line.observation.policy):
                continue
            facts = self._facts.get(line.environment, [])
            found = [unexpected_bwrap(used(line.observation.readings, each), each) for each in facts]
            if line.another_bwrap or (found and all(found)):
                return line.another_bwrap or found[0]
        return ""

    @cached_property
    def _facts(self) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for line in self._journal.environments:
            found[line.id].append(line.facts)
        return found

    def _counted(self, own: list[CallLine], promise: Promise) -> list[CallLine]:
        """Returns the calls whose state counts. Where Codex may refuse, a later start that ran no command does not."""
        if promise.needs != REFUSABLE:
            return own
        return [*own[:1], *(line for line in own[1:] if self._index.states(line) != {"failed"})]

    # ---- rows
    def _row(self, row: Evidence, record: Record, promise: Promise) -> Iterator[str]:
        if row.held and row.direction:
            yield f"a row held, and it names a direction: {row.claim}"
        if promise.suite == generator_suite.NAME:
            yield from self._row_of_generator(row, record)
            return
        if not is_of_sandbox(promise):
            return
        line = self._index.calls.get(row.call)
        if line is None:
            if record.basis is not None and record.basis.how == "judged" and row.call:
                yield f"a row names a call that is not in the journal: {row.call}"
            return
        if record.calls and row.call not in record.calls:
            yield f"a row names a call that is not one of its result's: {row.call}"
        yield from _another_place(line, record)
        if record.calls and row.nonce not in self._nonces(line, record, promise):
            yield f"the nonce of a row is not that of its call: {row.claim}"
        if not _is_own(row.act, promise):
            yield f"a row is about the act {row.act}, which belongs to another promise"
        elif row.held and row.act.startswith(f"{promise.id}/") and row.act not in (line.observation.rows or [row.act]):
            yield f"a row held, and its call has no act {row.act}"

    def _nonces(self, line: CallLine, record: Record, promise: Promise) -> Iterable[str]:
        if promise.topic in (START, HARNESS):  # the row about the control belongs to the call beside it
            return [one.observation.nonce for one in self._index.of_codex(record)]
        return (line.observation.nonce,)

    def _row_of_generator(self, row: Evidence, record: Record) -> Iterator[str]:
        story, claim = self._index.stories.get(row.call), self._index.claims.get(row.call)
        if row.act != record.key.promise:
            yield f"a row is about {row.act or 'no promise'}, which is not that of its result"
        if row.nonce != row.call:
            yield f"the nonce of a row is not that of its case run: {row.claim}"
        call = self._index.calls.get(row.call)
        if call is not None:
            if call.cell != record.key.cell:
                yield f"its call is one of another cell: {row.call}"
            elif call.observation.policy != generator_suite.AS_ASKED:
                yield f"its call is one of another policy: {row.call}"
            return
        if row.call.startswith(_WITHOUT_LINE):
            return
        if claim is not None:
            story = self._index.stories.get(claim.story)
        if story is None:
            yield f"a row names a case run or a claim that is not in the journal: {row.call or 'none'}"
        elif (story.cell, story.case) != (record.key.cell, record.key.case):
            yield f"a row is about the case run of another result: {row.call}"


def promise_of(row: PromiseRow) -> Promise:
    """Returns a promise as the plan of a journal describes it. `harness.replay` compares that with its declaration."""
    return Promise(
        id=row.id,
        kind=row.kind,
        severity=row.severity,
        needs=row.needs,  # type: ignore[arg-type]
        source=row.source,
        policies=row.policies,
        requires=row.requires,
        suite=row.suite,
    )


def rows_faults(record: Record) -> Iterator[str]:
    """Yields how the verdict of an earlier version contradicts its rows, which are all that such a result holds."""
    green = record.verdict in (Verdict.CONFORMS, Verdict.UNCONFINED)
    if green and not record.evidence:
        yield f"it says {record.verdict.value}, and it has no evidence"
    for row in record.evidence if green or record.verdict is Verdict.NOT_APPLICABLE else ():
        if row.control_held and not row.held:
            yield f"it says {record.verdict.value}, and a row did not hold: {row.claim}"
        elif green and not (row.held and row.control_held and row.call and row.control):
            yield f"it says {record.verdict.value}, and a row proves nothing: {row.claim}"


def _state(started: Started) -> SandboxState:
    return SandboxState(
        state=started.state,
        why="",
        call=started.call,
        another=started.another,
        without_say=started.without_say,
        alone=started.alone,
        doubt=started.doubt,
    )


def _is_possible(started: Started, own: set[str], battery: set[str]) -> bool:
    """Checks a state against what the calls show. `own`: of the result's own calls; `battery`: of the policy's battery,
    where the state names it and the result's calls are others."""
    state = started.state
    if not battery:  # the state is that of its own calls
        return state in own or (state == "unknown" and "failed" in own)
    if not own or state in ("failed", "unknown"):
        return state in battery
    if state not in battery or started.alone:
        return False
    unclear = bool(own & {"failed", "unknown"})
    return unclear if started.doubt else bool(own & {"on", "off"}) and not (state == "on" and own == {"off"})


def _another_place(line: CallLine, record: Record) -> Iterator[str]:
    key, seen = record.key, line.observation
    if line.control:
        return
    if line.cell != key.cell:
        yield f"its call is one of another cell: {line.id}"
    elif (seen.door, seen.policy) != (key.door, key.policy):
        yield f"its call is one of another door or policy: {line.id}"
    elif line.id != seen.id:
        yield f"its call has another id than its observation: {line.id}"


def _is_own(act: str, promise: Promise) -> bool:
    if promise.topic in (START, HARNESS):
        return act == FORBIDDEN or act in _CANARIES
    if promise.id.startswith(f"{USER}."):
        return act == _OF_USERS
    return act == promise.id or act.startswith(f"{promise.id}/")
