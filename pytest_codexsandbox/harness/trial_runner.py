"""Trial runner: runs promises without pytest, for canaries and the selftest. The pytest fixture makes its trials here
too."""

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

import msgspec

from pytest_codexsandbox.diagnosis.judge import Judged, judge
from pytest_codexsandbox.diagnosis.sandbox_state import escaped
from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.harness.baseline_checks import STANDING, START, TRUST, control_evidence, start_evidence
from pytest_codexsandbox.harness.batteries import SHARED
from pytest_codexsandbox.harness.codex_resolver import OneSubject
from pytest_codexsandbox.harness.event_sink import EventSink
from pytest_codexsandbox.harness.observation_cache import ObservationCache, open_observations
from pytest_codexsandbox.harness.trial import RealTrial
from pytest_codexsandbox.harness.worker_resources import WorkerOptions
from pytest_codexsandbox.matrix.requirements import why_not_applicable, why_not_there
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Evidence, Record
from pytest_codexsandbox.model.sandbox_state import SandboxState
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.protocols import Door, Subject
from pytest_codexsandbox.releases.known_releases import capabilities, newest_before
from pytest_codexsandbox.suite_protocols import SuiteTrial

FULL_ACCESS: Final = "full-access"


class CanarySource(Protocol):
    def evidence(self, cell: Cell, door: str, policy: str) -> tuple[Evidence, ...]: ...
    def need(self, cell: Cell, door: str) -> None:
        """Raises HarnessError where a canary was misjudged."""


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
    return RealTrial(key, promise, seen=seen, control=control, started=started, reasons=reasons)


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
    if not_applicable_reason(promise, cache, key):
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


def run_promise(trial: SuiteTrial, function: Callable[..., object]) -> Judged:
    """Calls the scenario's function as pytest would, and judges the trial."""
    outcome, message = "passed", ""
    try:
        function(trial)
    except Exception as fault:  # noqa: BLE001 - whatever a scenario raises can only make its verdict worse
        outcome, message = "failed", f"{type(fault).__name__}: {fault}"
    return judge_trial(trial, outcome=outcome, message=message)


def judge_trial(trial: SuiteTrial, *, outcome: str, message: str) -> Judged:
    never = next((seen.error for seen in trial.seen if seen.never_started), "")
    if never:  # what a program that never started did not do is no finding
        return Judged(verdict=Verdict.BROKEN, direction="", reason=f"a call was never started: {never}")
    return judge(
        trial.promise,
        outcome=outcome,  # type: ignore[arg-type]
        message=message,
        evidence=tuple(trial.rows),
        started=trial.started,
        sandboxed=trial.asks_for_sandbox,
        unconfined=trial.unconfined_words,
    )


def run_promises(
    promises: Iterable[tuple[Promise, Callable[..., object]]],
    policies: Iterable[str],
    subject: Subject,
    *,
    environment: EnvironmentSpec,
    options: WorkerOptions,
    door: str,
    exempt_from_start: bool = False,
    parent: ObservationCache | None = None,
    wanted: Callable[[Key], bool] = lambda key: True,
    events: EventSink | None = None,
) -> dict[Key, Record]:
    """Runs every (promise, policy) against one subject, without pytest. `exempt_from_start`: for subjects that restrain
    themselves. `wanted` leaves keys out, while the acts, and with them the controls of `parent`, stay the same."""
    pairs = list(promises)
    chosen = set(policies)
    spec = SubjectSpec(label=subject.spec.label, path=subject.binary, source="subject")
    cell = Cell(environment=environment, subject=spec)
    keys = tuple(
        Key(cell=cell.id, door=door, policy=policy, promise=promise.id, case=case)
        for promise, _ in pairs
        for policy in promise.policies
        if policy in chosen
        for case in promise.cases
        if wanted(Key(cell=cell.id, door=door, policy=policy, promise=promise.id, case=case))
    )
    plan = Plan(preset="rehearsal", cells=(cell,), promises=tuple(promise for promise, _ in pairs), keys=keys)
    functions = {promise.id: function for promise, function in pairs}
    if parent is not None:
        own = parent.child(plan, subject, options)
        return {key: _record(own, key, functions, exempt=exempt_from_start) for key in keys}
    with open_observations(plan, options, resolver=OneSubject(subject), events=events or EventSink()) as own:
        return {key: _record(own, key, functions, exempt=exempt_from_start) for key in keys}


def _record(
    cache: ObservationCache, key: Key, functions: Mapping[str, Callable[..., object]], *, exempt: bool
) -> Record:
    promise = cache.promises[key.promise]
    unmet = why_not_applicable(promise, cache.cells[key.cell].environment, platform=sys.platform)
    if missing := unmet or not_applicable_reason(promise, cache, key):
        return Record(key=key, verdict=Verdict.NOT_APPLICABLE, reason=missing)
    try:
        trial = make_trial(cache, key, exempt=exempt and promise.topic != START)
    except CodexSandboxError as fault:
        return Record(key=key, verdict=Verdict.BROKEN, reason=str(fault))
    if missing := not_applicable_in_environment(promise, cache, key):
        return Record(key=key, verdict=Verdict.NOT_APPLICABLE, reason=missing)
    verdict = run_promise(trial, functions[promise.id])
    return Record(
        key=key,
        verdict=verdict.verdict,
        direction=verdict.direction,
        reason=verdict.reason,
        evidence=tuple(trial.rows),
        calls=tuple(observation.id for observation in trial.seen),
        blocked_by=verdict.blocked_by,
    )


def not_applicable_reason(promise: Promise, cache: ObservationCache, key: Key) -> str:
    """Returns why the probed binary or the door rules the promise out; "" if it does not. The plan checks what data
    rules out."""
    able, door = cache.programs.able(cache.cells[key.cell]), cache.resources.door(key.door)
    if missing := _missing(promise, able, door, key.policy):
        return f"by probe: Codex {able.version} has no {missing} at this door"
    return door.lacks(able)


def not_applicable_in_environment(promise: Promise, cache: ObservationCache, key: Key) -> str:
    """Returns why the promise does not apply in the environment, by its facts; "" if it does. Call it after a command
    ran there."""
    return why_not_there(promise, cache.pool.facts(cache.cells[key.cell].environment)) if promise.requires else ""


def missing_capability(promise: Promise, cache: ObservationCache, key: Key) -> str:
    """Returns the first capability that the promise needs and the binary lacks, by its probe; "" if none."""
    able, door = cache.programs.able(cache.cells[key.cell]), cache.resources.door(key.door)
    return _missing(promise, able, door, key.policy)


def _missing(promise: Promise, able: Capabilities, door: Door, policy: str) -> str:
    return next((word for word in wanted_capabilities(promise, door, policy) if not has(able, word)), "")


def wanted_capabilities(promise: Promise, door: Door, policy: str) -> list[str]:
    """Returns the capabilities that a promise, a door and a policy need. A door that does not probe `full-access` does
    not need that one: every release can be asked for it there."""
    words = [word.removeprefix("capability:") for word in promise.requires if word.startswith("capability:")]
    needed = [*words, *door.needs]
    if not door.probes_full_access:
        return [word for word in needed if word != FULL_ACCESS]
    return [*needed, FULL_ACCESS] if policy == "danger-full-access" else needed


def has(capabilities: Capabilities, word: str) -> bool:
    return bool(getattr(capabilities, word.replace("-", "_"), False))


def lost_capability(spec: SubjectSpec, missing: str) -> str:
    """Returns what the user's own build cannot do although the newest release before it could; "" if nothing."""
    release = newest_before(spec.as_version) if spec.path and missing else ""
    if not release or not has(capabilities()[release], missing):
        return ""
    return f"{spec.label} has no {missing} at this door, and Codex {release} has it"
