"""Outcomes of results for formats that know only passed, failed, error and skipped (JUnit, Allure). Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

import msgspec

from pytest_codexsandbox.model.ledger import ReadJournal, known_without_sandbox, measured_cells, too_little
from pytest_codexsandbox.model.machine import changes
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.redact import redact
from pytest_codexsandbox.model.result_properties import blocked_by
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.reports.escape import visible

Kind = Literal["passed", "failure", "error", "skipped"]
_KINDS: Final[dict[Verdict, Kind]] = {
    Verdict.CONFORMS: "passed", Verdict.UNCONFINED: "passed", Verdict.VIOLATES: "failure", Verdict.STALE: "failure",
    Verdict.BROKEN: "error", Verdict.BLOCKED: "skipped", Verdict.NOT_APPLICABLE: "skipped",
    Verdict.EXPECTED: "skipped",
}  # fmt: skip
_SHOWN_BY: Final = {"1": Verdict.VIOLATES, "10": Verdict.BROKEN, "12": Verdict.STALE}  # exit code → verdict
_FAILURES: Final = ("1", "12")  # exit codes about Codex or an expectation; the others are errors


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    kind: Kind
    message: str  # one line
    details: str = ""


def outcomes(journal: ReadJournal) -> dict[Key, Outcome]:
    """Returns the outcome of each planned result. A blocked result is an error if it changes the exit code."""
    states = journal.states()
    fine = measured_cells(states.values()) | known_without_sandbox(states.values())
    strict = set(too_little(states, journal.plan.not_applicable)) if journal.run.strict else set()
    return {key: _outcome(one, deciding=key.cell not in fine, strict=key in strict) for key, one in states.items()}


def of_run(states: Mapping[Key, Record], reasons: Sequence[str]) -> Outcome | None:
    """Returns the outcome of the run itself if its exit code has a reason that no single result shows."""
    found = {record.verdict for record in states.values()}
    codes: set[str] = set()
    left: list[str] = []
    for reason in reasons:
        code = reason.partition(" ")[0]
        if code in codes or _SHOWN_BY.get(code) not in found:
            left.append(reason)
        codes.add(code)
    if not left:
        return None
    kind: Kind = "failure" if left[0].partition(" ")[0] in _FAILURES else "error"
    shown = [f"{'exit' if one is reasons[0] else 'also'} {_clean(one).replace(' ', ': ', 1)}" for one in left]
    return Outcome(kind=kind, message=shown[0], details="\n".join(shown))


def machine_changed(journal: ReadJournal) -> dict[str, str]:
    """Returns cell id → what changed in its machine during the run. Results before the change hold for the machine as
    it was."""
    found = changes(journal.environments)
    return {cell.id: "; ".join(found[cell.environment]) for cell in journal.plan.cells if cell.environment in found}


def _outcome(record: Record, *, deciding: bool, strict: bool) -> Outcome:
    kind = _KINDS[record.verdict]
    if record.verdict is Verdict.BLOCKED and (deciding or strict):
        kind = "error"
    elif strict:
        kind = "failure"
    return Outcome(kind=kind, message=_message(record, strict=strict), details="\n".join(_details(record)))


def _message(record: Record, *, strict: bool) -> str:
    direction = f" ({record.direction})" if record.direction else ""
    known = f" [{record.deviation}]" if record.deviation else ""
    blocker = f" (blocked by {blocked_by(record)})" if record.verdict is Verdict.BLOCKED else ""
    word = "strict: " if strict else ""
    return _clean(f"{word}{record.verdict.value}{direction}{known}: {record.reason}{blocker}")


def _details(record: Record) -> Iterator[str]:
    for row in record.evidence:
        if not (row.held and row.control_held):
            yield from map(_clean, (f"promised  {row.claim}", f"saw       {row.saw}", f"control   {row.control}"))
    if record.diagnosis is not None:
        yield _clean(f"because   {record.diagnosis.cause}")
        if record.diagnosis.remedy:
            yield _clean(f"try       {record.diagnosis.remedy}")
    if record.repro:
        yield _clean(f"repro     sh {record.repro}   (in the run's folder)")


def _clean(text: str) -> str:
    return redact(visible(text))
