"""Sandbox runner: opens the trials of the sandbox suite, with all their calls performed."""

from typing import Protocol

import msgspec

from pytest_codexsandbox.diagnosis.sandbox_state import escaped
from pytest_codexsandbox.doors.repro.script import repro_script
from pytest_codexsandbox.errors import CodexSandboxError, LostCapability, NotApplicable
from pytest_codexsandbox.harness.baseline_checks import STANDING, START, TRUST, control_evidence, start_evidence
from pytest_codexsandbox.harness.batteries import SHARED
from pytest_codexsandbox.harness.observation_cache import ObservationCache
from pytest_codexsandbox.harness.trial import RealTrial
from pytest_codexsandbox.matrix import requirements
from pytest_codexsandbox.matrix.requirements import has, why_not_there
from pytest_codexsandbox.model.cell import Cell, SubjectSpec
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import asks_for_sandbox
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Evidence, Record
from pytest_codexsandbox.model.sandbox_state import SandboxState
from pytest_codexsandbox.releases.known_releases import capabilities, newest_before
from pytest_codexsandbox.suite_protocols import SuiteRunner


class CanarySource(Protocol):
    def evidence(self, cell: Cell, door: str, policy: str) -> tuple[Evidence, ...]: ...
    def need(self, cell: Cell, door: str) -> None:
        """Raises HarnessError where a canary was misjudged."""


class SandboxRunner(SuiteRunner[RealTrial]):
    def __init__(self, cache: ObservationCache, canaries: CanarySource) -> None:
        self._cache, self._canaries = cache, canaries

    def open_trial(self, key: Key) -> RealTrial:
        """Returns the trial of the key, with all its calls performed."""
        promise = self._cache.promises[key.promise]
        if reason := self._cache.why_not_by_codex(promise, key):
            missing = missing_capability(promise, self._cache, key)
            lost = lost_capability(self._cache.cells[key.cell].subject, missing)
            raise LostCapability(lost) if lost else NotApplicable(reason)
        trial = make_trial(self._cache, key, canaries=self._canaries)
        if missing := not_applicable_in_environment(promise, self._cache, key):
            raise NotApplicable(missing)
        return trial

    def prefetch(self, key: Key) -> bool:
        return prefetch(self._cache, key)

    def repro(self, trial: RealTrial, record: Record) -> str:
        """Returns a script for the first row that did not hold."""
        bad = next((row for row in record.evidence if not row.held), None)
        seen = next((seen for seen in trial.seen if bad is None or seen.id == bad.call), trial.seen[0])
        promise = trial.promise
        acts = {promise.act_id(name): act for name, act in promise.acts.items()}
        chosen = {bad.act: acts[bad.act]} if bad and bad.act in acts else acts
        stdin = trial.stdin.get(seen.id, promise.call.stdin if promise.call else b"")
        try:
            entrance = self._cache.pool.get(self._cache.cells[record.key.cell].environment).entrance
            about = str(record.key)
            return repro_script(seen, acts=chosen, call=promise.call, stdin=stdin, entrance=entrance, about=about)
        except CodexSandboxError:
            return ""


def make_trial(
    cache: ObservationCache, key: Key, *, canaries: CanarySource | None = None, exempt: bool = False
) -> RealTrial:
    """Returns the trial of a key. Performs the calls that were not performed yet."""
    cell, promise = cache.cells[key.cell], cache.promises[key.promise]
    group = _group(promise)
    calls = cache.calls(cell, key.door, key.policy, group)
    seen, control = calls.seen, calls.control
    if canaries and promise.topic != TRUST:
        canaries.need(cell, key.door)  # after the control: they share it, and the environment
    started = _exempt(cache, key, promise) if exempt else _started(cache, key, promise)
    reasons: tuple[Evidence, ...] = ()
    if promise.topic == START:
        reasons = (start_evidence(started, policy=key.policy, seen=seen[0], control=control[0]),)
    elif promise.topic in STANDING:
        reasons = (control_evidence(control[0], seen[0]),)
        reasons += canaries.evidence(cell, key.door, key.policy) if canaries else ()
    asks = asks_for_sandbox(key.policy)
    trial = RealTrial(
        key, promise, seen=seen, control=control, started=started, standing=reasons, asks_for_sandbox=asks
    )
    if promise.call is not None:
        trial.own_rows()
    return trial


def prefetch(cache: ObservationCache, key: Key) -> bool:
    """Begins what the trial of a key will need, in the background. Returns whether the caller may go on to the next
    key.

    An error is not raised here, because it is no error of the test that runs now. The trial of the key raises it.
    """
    try:
        return _foreseen(cache, key)
    except CodexSandboxError:
        return True


def _foreseen(cache: ObservationCache, key: Key) -> bool:
    promise, cell = cache.promises[key.promise], cache.cells[key.cell]
    if str(key) in cache.plan.not_applicable:
        return True
    if not cache.is_ready(cell):
        return False
    if cache.why_not_by_codex(promise, key):
        return True
    return cache.prefetch_call(cell, key.door, key.policy, _group(promise)) == "there"


def _group(promise: Promise) -> str:
    return SHARED if promise.topic in STANDING else promise.group


def _started(cache: ObservationCache, key: Key, promise: Promise) -> SandboxState:
    """Returns the sandbox state of the policy's battery; for a promise with its own call also of that call, where it
    can be known.

    A call may not start although the policy's battery did. For a promise of something that works, that is its own
    finding: `blocked` would be wrong, because the start itself is green. Without knowing whether a sandbox was on,
    evidence that held proves nothing; about a boundary, neither does evidence that did not hold.
    """
    cell = cache.cells[key.cell]
    shared = cache.sandbox_state(cell, key.door, key.policy)
    group = promise.group
    if group == SHARED or promise.topic in STANDING or shared.state in ("failed", "unknown"):
        return shared
    own = cache.sandbox_state(cell, key.door, key.policy, group)
    if own.state == "off" and shared.state == "on":
        return msgspec.structs.replace(own, alone=True)
    shared = msgspec.structs.replace(shared, another=own.another or shared.another)
    if own.state not in ("failed", "unknown"):
        return shared
    why = f"in this promise's own call: {own.why}"
    if promise.kind == "boundary":
        return msgspec.structs.replace(own, state="unknown", why=why)
    return msgspec.structs.replace(shared, doubt=why)


def _exempt(cache: ObservationCache, key: Key, promise: Promise) -> SandboxState:
    """Returns the state of a subject that restrains itself, without asking for marks of the kernel. An escape in its
    own call that the battery did not show counts as for any other subject."""
    cell, group = cache.cells[key.cell], promise.group

    def escapes(group: str) -> bool:
        return any(map(escaped, cache.observations(cell, key.door, key.policy, group)))

    if promise.topic not in STANDING and escapes(group) and not escapes(SHARED):
        return SandboxState(
            state="off", why="a write that no sandbox allows went through, seen from outside", alone=True
        )
    return SandboxState(state="on", why="exempt: a canary restrains itself")


def not_applicable_in_environment(promise: Promise, cache: ObservationCache, key: Key) -> str:
    """Returns why the promise does not apply in the environment, by its facts; "" if it does. Call it after a command
    ran there."""
    return why_not_there(promise, cache.pool.facts(cache.cells[key.cell].environment)) if promise.requires else ""


def missing_capability(promise: Promise, cache: ObservationCache, key: Key) -> str:
    """Returns the first capability that the promise needs and the binary lacks, by its probe; "" if none."""
    found = cache.codex_at(cache.cells[key.cell], key.door)
    return requirements.missing_capability(promise, found.able, found.door, key.policy)


def lost_capability(spec: SubjectSpec, missing: str) -> str:
    """Returns what the user's own build cannot do although the newest release before it could; "" if nothing."""
    release = newest_before(spec.as_version) if spec.path and missing else ""
    if not release or not has(capabilities()[release], missing):
        return ""
    return f"{spec.label} has no {missing} at this door, and Codex {release} has it"
