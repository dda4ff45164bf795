"""Trial runner: runs promises without pytest, for canaries and the selftest."""

import sys
from collections.abc import Callable, Iterable, Mapping

from pytest_codexsandbox.diagnosis.judge import Judged, Outcome, judge_trial
from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.harness.baseline_checks import START
from pytest_codexsandbox.harness.codex_resolver import OneSubject
from pytest_codexsandbox.harness.event_sink import EventSink
from pytest_codexsandbox.harness.observation_cache import ObservationCache, open_observations
from pytest_codexsandbox.harness.sandbox_runner import (
    make_trial,
    not_applicable_in_environment,
)
from pytest_codexsandbox.harness.worker_resources import WorkerOptions
from pytest_codexsandbox.matrix.requirements import why_not_applicable
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.protocols import Subject
from pytest_codexsandbox.suite_protocols import SuiteTrial


def run_promise(trial: SuiteTrial, function: Callable[..., object]) -> Judged:
    """Calls the scenario's function as pytest would, and judges the trial."""
    outcome: Outcome = "passed"
    message = ""
    try:
        function(trial)
    except Exception as fault:  # noqa: BLE001 - whatever a scenario raises can only make its verdict worse
        outcome, message = "failed", f"{type(fault).__name__}: {fault}"
    return judge_trial(trial, outcome=outcome, message=message)


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
    if missing := unmet or cache.why_not_by_codex(promise, key):
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
