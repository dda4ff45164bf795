"""Single case: runs a scenario about generators on one case, without pytest."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from pytest_codexsandbox.diagnosis.judge import judge_trial
from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.harness.generators.case_cache import CaseCache
from pytest_codexsandbox.harness.generators.trial import RealGeneratorTrial
from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.generator_suite import AS_ASKED, DOOR, NAME
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict

OVER: Final = ("configs", "inputs")  # measured per case; the rest needs other writers, other files or strace


def is_asked_per_case(promise: Promise) -> bool:
    return promise.suite == NAME and promise.over in OVER


def record(
    cases: CaseCache,
    promise: Promise,
    function: Callable[..., object],
    *,
    cell: Cell,
    case: str,
    facts: Mapping[str, Any],
    why: Callable[[Record, RealGeneratorTrial, Mapping[str, Any]], Record],
) -> Record:
    """Returns the record of one promise for one case. `why`: adds the cause of a red result."""
    key = Key(cell=cell.id, door=DOOR, policy=AS_ASKED, promise=promise.id, case=case)
    writing = RealGeneratorTrial(key, promise, cell=cell, cases=cases)
    try:
        function(writing)
    except CodexSandboxError as fault:
        return Record(key=key, verdict=Verdict.BROKEN, reason="; ".join(filter(None, (fault.what, fault.why))))
    judged = judge_trial(writing, outcome="passed", message="")
    found = Record(
        key=key,
        verdict=judged.verdict,
        direction=judged.direction,
        reason=judged.reason,
        evidence=tuple(writing.rows),
        calls=tuple(seen.id for seen in writing.seen),
        blocked_by=judged.blocked_by,
    )
    return why(found, writing, facts)
