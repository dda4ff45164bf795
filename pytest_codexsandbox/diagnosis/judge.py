"""Judge: decides a verdict from the evidence. There is no default: what no rule allows is `broken`.

The pytest outcome can make a verdict worse, never better. The first rule that applies decides:

1. a skipped scenario                                                → broken
2. the policy asks for a sandbox, it is not known to be on, and
   the promise is about the start: off → violates (leak), failed → violates (denied), unknown → broken
   the promise needs a sandbox:    off or failed → blocked, unknown → broken; off in its own call only, which the
   start promise does not see      → violates (leak)
3. a row was not held although its control was                       → violates, in the worst direction
4. no row; a row without a call or a control; a control that failed; a scenario that failed; for a promise that needs
   a sandbox, a call of its own with an unknown state of the sandbox  → broken
5. everything held, but another bubblewrap than the requested one set up the sandbox → blocked; a release of
   bubblewrap was requested and this Codex starts none → n/a
6. everything held: conforms; under a policy without a sandbox, or of generators that nothing confines as asked:
   unconfined
"""

from collections.abc import Iterable, Sequence
from typing import Final, Literal

import msgspec

from pytest_codexsandbox.model.bwrap_used import BLOCKED_BY
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Basis, Evidence, Started
from pytest_codexsandbox.model.sandbox_state import SandboxState
from pytest_codexsandbox.model.verdict import DIRECTIONS, Direction, Verdict
from pytest_codexsandbox.suite_protocols import SuiteTrial

Outcome = Literal["passed", "failed", "skipped", "error"]
START: Final = "start"  # the topic that promises the sandbox itself
TRUST: Final = "trust"  # the topic that is about the harness
USER: Final = "user"  # a user's own test: it says by itself what it expects, so a row may have no direction
_WORST_FIRST: Final[tuple[Direction, ...]] = (*DIRECTIONS, "")
ANOTHER: Final = "another bubblewrap was used than requested"
NO_START: Final = "the sandbox does not start"
SANDBOX_WAS_OFF: Final = "no sandbox was on"
SANDBOX_WAS_ON: Final = "a sandbox was on although none was requested"
_BROKEN_MEANS: Final[dict[str, Direction]] = {  # of a row that does not say it
    "boundary": "leak", "capability": "denied", "claim": "wrong-claim", "hygiene": "litter", "generator": "wrong-claim",
}  # fmt: skip


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    verdict: Verdict
    direction: Direction
    reason: str  # one line
    blocked_by: str = ""  # of what is blocked: the promise, or what else is not as it was asked for


def judge_trial(trial: SuiteTrial, *, outcome: Outcome, message: str) -> Judged:
    """Returns the verdict on a test. One that measured nothing, and says why, is blocked or n/a; one with a call that
    never started is broken. The judge decides the others."""
    basis = basis_of(trial, outcome=outcome, message=message)
    return judge_basis(trial.promise, basis, trial.rows, seen=trial.seen, started=trial.started)


def basis_of(trial: SuiteTrial, *, outcome: Outcome, message: str) -> Basis:
    """Returns what the judge needs of a trial beside its rows and its calls."""
    state = trial.started
    return Basis(
        how="judged",
        promise=trial.promise.id,
        outcome=outcome,
        message=message or "".join(f"left out: {why}; " for why in trial.left_out).rstrip("; "),
        started=Started(
            state=state.state,
            call=state.call,
            another=state.another,
            without_say=state.without_say,
            alone=state.alone,
            doubt=state.doubt,
        ),
        asks_for_sandbox=trial.asks_for_sandbox,
        unconfined_words="" if trial.asks_for_sandbox else trial.unconfined_words,
        skipped=() if trial.rows else tuple(trial.skipped),
        blocked_by="" if trial.rows else trial.blocked_by,
    )


def judge_basis(
    promise: Promise, basis: Basis, rows: Sequence[Evidence], *, seen: Iterable[Observation], started: SandboxState
) -> Judged:
    """Returns the verdict on a test from its data alone: during the run, and whenever its journal is read.

    `started`: the state of the sandbox with its reasons, or the part of it that the basis holds.
    """
    assert basis.outcome
    if not rows and basis.outcome == "passed":
        if basis.blocked_by:
            words = f"it cannot be asked while {basis.blocked_by} is red"
            return Judged(verdict=Verdict.BLOCKED, direction="", reason=words, blocked_by=basis.blocked_by)
        if basis.skipped:
            return Judged(verdict=Verdict.NOT_APPLICABLE, direction="", reason=basis.skipped[0])
    never = next((one.error for one in seen if one.never_started), "")
    if never:  # what a program that never started did not do is no finding
        return Judged(verdict=Verdict.BROKEN, direction="", reason=f"a call was never started: {never}")
    return judge(
        promise,
        outcome=basis.outcome,
        message=basis.message,
        evidence=tuple(rows),
        started=started,
        sandboxed=basis.asks_for_sandbox,
        unconfined=basis.unconfined_words,
    )


def judge(
    promise: Promise,
    *,
    outcome: Outcome,
    message: str,
    evidence: Sequence[Evidence],
    started: SandboxState,
    sandboxed: bool,
    unconfined: str = "no sandbox, as asked",
) -> Judged:
    """Returns the verdict. `unconfined`: why a missing sandbox is no error, where `sandboxed` is False."""
    if outcome == "skipped":
        return _broken(f"the scenario was skipped, so nothing was measured{_tail(message)}")
    return (
        _by_start(promise, started, sandboxed)
        or _by_violation(promise, evidence)
        or _by_doubt(evidence, outcome, message)
        or _by_doubt_of_start(promise, started, sandboxed)
        or _by_bwrap(promise, started, sandboxed)
        or _held(evidence, started, sandboxed, unconfined)
    )


def _by_start(promise: Promise, started: SandboxState, sandboxed: bool) -> Judged | None:
    """Returns the verdict if the start of the sandbox decides it, whatever the rows say; else None."""
    if promise.topic == START:
        return _start_promise(started, sandboxed)
    wanted = "on" if sandboxed else "off"
    if promise.needs == "nothing" or started.state in ("on", wanted):
        return None
    if started.state == "unknown":
        return _broken(f"could not determine whether a sandbox was on: {started.why}")
    if sandboxed and started.alone:
        return _violates("leak", f"{SANDBOX_WAS_OFF} in this call, although it was on in the others: {started.why}")
    words = NO_START if started.state == "failed" else SANDBOX_WAS_OFF
    return Judged(
        verdict=Verdict.BLOCKED, direction="", reason=f"{words}: {started.why}", blocked_by="start.sandbox-is-on"
    )


def _start_promise(started: SandboxState, sandboxed: bool) -> Judged | None:
    if started.state == "unknown":
        return _broken(f"could not determine whether a sandbox was on: {started.why}")
    if started.state == "failed":
        return _violates("denied", f"the command did not run: {started.why}")
    if sandboxed and started.state == "off":
        return _violates("leak", f"{SANDBOX_WAS_OFF} although one was requested: {started.why}")
    if not sandboxed and started.state == "on":
        return _violates("denied", f"{SANDBOX_WAS_ON}: {started.why}")
    return None


def _by_violation(promise: Promise, evidence: Sequence[Evidence]) -> Judged | None:
    broken = [row for row in evidence if row.call and row.control and row.control_held and not row.held]
    if not broken:
        return None
    means = "" if promise.topic == USER else _BROKEN_MEANS[promise.kind]
    found = [(row.direction or means, row) for row in broken]
    direction, row = min(found, key=lambda pair: _WORST_FIRST.index(pair[0]))
    more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
    return _violates(direction, f"promised: {row.claim}; saw: {row.saw}{more}")


def _by_doubt(evidence: Sequence[Evidence], outcome: Outcome, message: str) -> Judged | None:
    if not evidence:
        words = "the scenario passed without evidence" if outcome == "passed" else "the scenario left no evidence"
        return _broken(f"{words}{_tail(message)}")
    for row in evidence:
        if not row.call:
            return _broken(f"a row of evidence belongs to no call: {row.claim}")
        if not row.control:
            return _broken(f"there was no control: {row.claim}")
        if not row.control_held:
            return _broken(f"the control failed: {row.control} (promised: {row.claim}; saw: {row.saw})")
    if outcome != "passed":
        return _broken(f"every row held, and the scenario still {_ended(outcome)}{_tail(message)}")
    return None


def _by_bwrap(promise: Promise, started: SandboxState, sandboxed: bool) -> Judged | None:
    """Returns blocked if another bubblewrap set up the sandbox, not applicable if this Codex uses none; else None.

    Promises that held under another bubblewrap prove nothing about the requested one.
    """
    if not sandboxed or promise.topic == TRUST:
        return None
    if started.another:
        reason = f"{ANOTHER}: {started.another}"
        return Judged(verdict=Verdict.BLOCKED, direction="", reason=reason, blocked_by=BLOCKED_BY)
    if started.without_say:
        return Judged(verdict=Verdict.NOT_APPLICABLE, direction="", reason=f"by probe: {started.without_say}")
    return None


def _by_doubt_of_start(promise: Promise, started: SandboxState, sandboxed: bool) -> Judged | None:
    if not sandboxed or not started.doubt or promise.needs == "nothing":
        return None
    return _broken(f"could not determine whether a sandbox was on: {started.doubt}")


def _held(evidence: Sequence[Evidence], started: SandboxState, sandboxed: bool, unconfined: str) -> Judged:
    words = _counted(evidence)
    if not sandboxed and started.state != "on":
        return Judged(verdict=Verdict.UNCONFINED, direction="", reason=f"{words}; {unconfined}")
    if not sandboxed:
        words += f"; {SANDBOX_WAS_ON} ({started.why})"
    elif started.state == "unknown":
        words += f"; could not determine whether a sandbox was on ({started.why}), and this promise needs none"
    elif started.state != "on":  # only a promise that needs nothing comes here
        words += f"; the sandbox was not on ({started.why}), which this promise does not need"
    return Judged(verdict=Verdict.CONFORMS, direction="", reason=words)


def _counted(evidence: Sequence[Evidence]) -> str:
    if len(evidence) == 1:
        return f"{evidence[0].claim}: {evidence[0].saw}"
    return f"{len(evidence)} rows held, each with its control"


def _broken(reason: str) -> Judged:
    return Judged(verdict=Verdict.BROKEN, direction="", reason=_line(reason))


def _violates(direction: Direction, reason: str) -> Judged:
    return Judged(verdict=Verdict.VIOLATES, direction=direction, reason=_line(reason))


def _ended(outcome: Outcome) -> str:
    return "failed" if outcome == "failed" else "ended with an error"


def _tail(message: str) -> str:
    return f": {message.strip()}" if message.strip() else ""


def _line(text: str) -> str:
    return " ".join(text.split())
