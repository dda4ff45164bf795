"""Replay: makes the rows of a journal's results again, by asking the same scenarios about the recorded calls.

A row that was changed, added or removed differs from what its scenario says about the same call. So does the cause of a
violation that a known deviation covers. Starts nothing.
A scenario that has changed since the run asks something else: its rows are left as they are, and its results are not
re-judged. Neither are rows about calls from which something was redacted, if they differ, and rows whose plan names no
scenario.
"""

import hashlib
import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.harness import act_effects, trial
from pytest_codexsandbox.harness.baseline_checks import STANDING, START, control_worked
from pytest_codexsandbox.harness.declaration_check import differing
from pytest_codexsandbox.harness.rediagnosis import Calls, Rediagnosis, known
from pytest_codexsandbox.harness.trial import RealTrial
from pytest_codexsandbox.harness.user_command import by_itself
from pytest_codexsandbox.journal import rejudge, store
from pytest_codexsandbox.journal.not_applicable import is_of_this_version
from pytest_codexsandbox.journal.record_checks import promise_of
from pytest_codexsandbox.matrix import expectation_files, shipped_promises
from pytest_codexsandbox.model.base_acts import FORBIDDEN
from pytest_codexsandbox.model.deviation import Deviation
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import asks_for_sandbox
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import OUTLIVES, Basis, Evidence, Record
from pytest_codexsandbox.model.redact import MARK
from pytest_codexsandbox.model.sandbox_state import SandboxState
from pytest_codexsandbox.model.suite_traits import SANDBOX
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.registry import data_folder

USERS: Final = "user."  # the topic of a user's own tests


def read(path: str | Path) -> ReadJournal:
    """Returns the journal at `path`, judged again from its calls. InputError says what is wrong in which line."""
    return replayed(store.read(path))


def replayed(journal: ReadJournal) -> ReadJournal:
    """Returns the journal with each result broken whose rows are not what its scenario says about its calls."""
    asked = {row.id: row.asked for row in journal.plan.promises if row.asked}
    replay = _Replay(journal, asked)
    found = rejudge.with_contradictions(journal, dict(replay.contradictions()))
    unsure = tuple(dict.fromkeys((*found.not_rejudged, *replay.unsure)))
    own = tuple(one.id for one in journal.plan.expectations if one not in _deviations())
    return msgspec.structs.replace(found, not_replayed=tuple(replay.left_out), not_rejudged=unsure, own_deviations=own)


class _Replay:
    def __init__(self, journal: ReadJournal, asked: Mapping[str, str]) -> None:
        self._journal = journal
        self._calls = {line.id: line for line in journal.calls}
        self.left_out: dict[str, None] = {}  # promises with rows that were not made again, in order
        self.unsure: dict[Key, None] = {}  # their results
        self._today = is_of_this_version(journal.run)
        shipped = _scenarios()
        of_suite = {row.id for row in journal.plan.promises if row.suite == SANDBOX}
        self._ours = {*of_suite, *asked, *shipped}  # a plan that names no scenario for them turns nothing off
        digests = {name: digest_of(shipped[name][1]) for name in asked if name in shipped}
        self._scenarios = {name: shipped[name] for name, digest in digests.items() if asked[name] == digest}
        self._promises = {row.id: promise_of(row) for row in journal.plan.promises}
        self._declarations = differing(journal.plan, digests, same_version=self._today)
        self._rediagnosis = Rediagnosis(journal)

    def contradictions(self) -> Iterator[tuple[int, str]]:
        """Yields the place of a record, and what is wrong with it."""
        written = set()
        for place, record in enumerate(self._journal.records):
            written.add(record.key)
            if record.basis is None:
                continue
            how, changed = record.basis.how, self._declarations.wrong.get(record.key.promise, "")
            if changed:  # what a promise needs and requires decides its verdict
                yield place, changed
                continue
            if how in ("judged", "ruled-out") and record.key.promise in self._declarations.unsure:
                self.unsure |= {record.key: None}
            why = self._fault(record, record.basis) if how == "judged" else ""
            if why and self._is_redacted(record):
                self._leave_out(record)
            elif why:
                yield place, why
        if any(record.basis is not None for record in self._journal.records):
            self._ruled_out(written)

    def _ruled_out(self, written: Collection[Key]) -> None:
        """Finds the keys without a result that the plan rules out by what it says about a promise."""
        found = {*self._declarations.wrong, *self._declarations.unsure}
        for key in self._journal.plan.keys if found else ():
            if key.promise in found and key not in written and str(key) in self._journal.plan.not_applicable:
                self.unsure |= {key: None}

    def _fault(self, record: Record, basis: Basis) -> str:
        seen, control = self._observations(record)
        if record.key.promise not in self._scenarios:
            return self._fault_by_rows(record, basis, (seen, control))
        if not seen or not control:
            return ""  # the rejudge of its calls has named it
        state = basis.started.state if basis.started is not None else "unknown"
        promise, function = self._scenarios[record.key.promise]
        most = max(1, promise.call.copies) * max(1, promise.call.starts) if promise.call is not None else 1
        if len(seen) > most:
            return f"it names {len(seen)} calls of Codex, and its scenario makes {most}"
        if promise.topic in STANDING:
            why = next(_of_standing(record, promise, state, control[0]), "")
            return why or self._cause_fault(record, promise, (seen, control), record.evidence)
        own = RealTrial(
            record.key,
            promise,
            seen=seen,
            control=control,
            started=SandboxState(state=state, why=""),
            asks_for_sandbox=asks_for_sandbox(record.key.policy),
        )
        own.own_rows()
        why = _difference(own, record, basis, function)
        return why or self._cause_fault(record, promise, (seen, control), own.rows)

    def _observations(self, record: Record) -> tuple[tuple[Observation, ...], tuple[Observation, ...]]:
        """Returns the calls of Codex that a result names, and their controls."""
        lines = [self._calls[name] for name in record.calls if name in self._calls]
        seen = tuple(line.observation for line in lines if not line.control)
        return seen, tuple(line.observation for line in lines if line.control)

    def _fault_by_rows(self, record: Record, basis: Basis, calls: Calls) -> str:
        """Returns what is wrong with a result whose rows no scenario here makes again."""
        name = record.key.promise
        is_user = name.startswith(USERS)
        if name in self._ours and not is_user:
            self._leave_out(record)
            return ""
        promise = self._promises.get(name)
        if promise is not None and self._cause_fault(record, promise, calls, record.evidence):
            self.unsure |= {record.key: None}
        return next(_of_user(record, basis, calls[0][1:]), "") if is_user and all(calls) else ""

    def _cause_fault(self, record: Record, promise: Promise, calls: Calls, rows: Sequence[Evidence]) -> str:
        """Returns how the cause of an expected violation differs from the one that its calls show. Another version may
        have named it otherwise, and so may a fingerprint that is not here: then the result is not re-judged."""
        if record.verdict is not Verdict.EXPECTED:
            return ""
        why = self._rediagnosis.fault(record, promise, calls, rows)
        said = record.diagnosis.fingerprint if record.diagnosis is not None else ""
        if why and not (self._today and said in known()):
            self.unsure |= {record.key: None}
            return ""
        return why

    def _leave_out(self, record: Record) -> None:
        self.left_out |= {record.key.promise: None}
        self.unsure |= {record.key: None}

    def _is_redacted(self, record: Record) -> bool:
        """Checks whether something in its calls was taken out because it looked like a credential."""
        lines = [self._calls[name] for name in record.calls if name in self._calls]
        return any(MARK.encode() in msgspec.json.encode(line.observation) for line in lines)


def _difference(own: RealTrial, record: Record, basis: Basis, function: Callable[..., object]) -> str:
    outcome = "passed"
    try:
        function(own)
    except Exception:  # noqa: BLE001 - whatever a scenario raises, it failed in the run too
        outcome = "failed"
    if basis.outcome == "passed" and outcome != "passed":
        return f"its scenario {outcome}, asked again about its calls, and the result says {basis.outcome}"
    made, kept = [*map(_said, own.rows)], [*map(_said, record.evidence)]
    if basis.outcome != "passed" and outcome == "passed":  # a plugin ended the test: its rows stop there
        made = made[: len(kept)]
    if len(made) != len(kept):
        return f"its scenario leaves {len(made)} rows about its calls, and the result has {len(kept)}"
    wrong = next((row for row, one, other in zip(record.evidence, made, kept, strict=True) if one != other), None)
    return f"a row is not what its scenario says about the call: {wrong.claim}" if wrong is not None else ""


def _said(row: Evidence) -> tuple[object, ...]:
    """Returns the part of a row that does not depend on texts, which are masked in a journal. One reason is a word: no
    known deviation covers a process that outlives its call."""
    return row.act, row.call, row.nonce, row.held, row.control_held, row.direction, row.reason == OUTLIVES


def _of_standing(record: Record, promise: Promise, state: str, control: Observation) -> Iterator[str]:
    """Yields what is wrong with the rows of a start or trust promise. What canaries did is in no journal."""
    own = [row for row in record.evidence if row.act == FORBIDDEN]
    worked = control_worked(control)
    if len(own) != 1:
        yield f"it has {len(own)} rows about the base acts, and each start and trust check has one"
        return
    if promise.topic == START:
        wanted = "on" if asks_for_sandbox(record.key.policy) else "off"
        found = state == wanted, worked and state != "unknown"
    else:
        found = worked, worked
    if (own[0].held, own[0].control_held) != found:
        yield f"a row is not what its calls show: {own[0].claim}"


def _of_user(record: Record, basis: Basis, seen: Sequence[Observation]) -> Iterator[str]:
    """Yields what is wrong with the rows of a user's own test: two about each call, and one if the test itself failed.
    What the test compares is not known here."""
    rows = record.evidence
    pairs = [call.id for call in seen for _ in range(2)]
    calls = [row.call for row in rows]
    ends = [row.held for row in rows[1 : len(pairs) : 2]]
    if calls[: len(pairs)] != pairs or len(rows) > len(pairs) + 1:
        yield f"it has {len(rows)} rows about {len(seen)} calls"
    elif ends != [by_itself(call) for call in seen]:
        yield "a row is not what its call shows: how the command ended"
    elif basis.outcome == "passed" and len(rows) > len(pairs):
        yield "its test passed, and a row says that it failed"
    elif basis.outcome == "failed" and len(rows) == len(pairs) and all(row.control_held for row in rows[-2:]):
        yield "its test failed, and no row says so"


@cache
def _scenarios() -> dict[str, tuple[Promise, Callable[..., Any]]]:
    return {promise.id: (promise, test) for promise, test in shipped_promises.pairs() if promise.suite == SANDBOX}


@cache
def _deviations() -> tuple[Deviation, ...]:
    """Returns the known deviations that are shipped."""
    return expectation_files.load((data_folder("matrix") / "expectations" / "known.toml",))


def digest_of(function: Callable[..., Any]) -> str:
    """Returns the digest of the code that makes the rows of a promise: its scenario file and the methods of a trial."""
    return _digest((inspect.getfile(function), *_METHODS))


_METHODS: Final = (act_effects.__file__, trial.__file__)


def digests(pairs: Iterable[tuple[Promise, Callable[..., Any]]]) -> dict[str, str]:
    """Returns promise → digest of the code that makes its rows, of the promises whose rows can be made again."""
    return {promise.id: digest_of(test) for promise, test in pairs if promise.suite == SANDBOX}


@cache
def _digest(files: tuple[str, ...]) -> str:
    content = b"\0".join(Path(file).read_bytes() for file in files)
    return hashlib.sha256(content).hexdigest()[:16]
