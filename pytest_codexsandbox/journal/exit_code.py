"""Exit code: computes the end of a run from records alone: attempts → one state for each key → expectations → exit
code. Pure."""

import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.diagnosis.judge import SANDBOX_WAS_OFF
from pytest_codexsandbox.matrix import expectations
from pytest_codexsandbox.matrix.combinations import UNAVAILABLE
from pytest_codexsandbox.matrix.expectations import Applied
from pytest_codexsandbox.matrix.where_clause import parse
from pytest_codexsandbox.model import ledger
from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.deviation import Deviation
from pytest_codexsandbox.model.journal_lines import EnvironmentLine, OtherFailures, PlanLine
from pytest_codexsandbox.model.machine import changes
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import DIRECTIONS, WORDS, Verdict

VIOLATED: Final = 1
BROKEN: Final = 10
LEDGER: Final = 11
STALE: Final = 12
LEAK: Final = 13
PYTEST_OWN: Final = {2: "pytest was interrupted", 3: "pytest had an internal error", 4: "pytest met a usage error"}
PRECEDENCE: Final = (2, 3, 4, VIOLATED, LEDGER, BROKEN, STALE, LEAK)
OVERRULED: Final = "failed outside the matrix: pytest itself or another plugin failed the run"
DESELECTED: Final = "deselected"  # kind of what -k or another plugin dropped from the plan
NO_END: Final = f"{LEDGER} the journal has no end: another plugin ended pytest before it was written"
NOTHING_COLLECTED: Final = 5  # pytest's own as well
SHOWN: Final = 3


class ExitResult(msgspec.Struct, frozen=True, kw_only=True):
    code: int
    reasons: tuple[str, ...]  # `code words`, all that apply; the first decides


def versions(cells: Iterable[Cell], measured: Mapping[str, str]) -> dict[str, str]:
    """Returns the version of each cell's Codex, by cell id: as the user says, else as the binary reports (label →
    version). An unavailable release has the version of its name."""
    places = {
        cell.id: cell.subject.as_version or measured.get(cell.subject.label, "") or cell.subject.release
        for cell in cells
    }
    return {cell: place for cell, place in places.items() if parse(place) is not None}


def without_plan(code: int, why: str = "") -> str:
    """Returns the reason of a run that ended before it had a plan, with the first line of `why`."""
    words = {**PYTEST_OWN, NOTHING_COLLECTED: "no test was selected, so nothing was measured"}
    meaning = words.get(code, "the run ended before anything was planned")
    return f"{code} {meaning}: {why.splitlines()[0]}" if why else f"{code} {meaning}"


def settle(
    plan: Plan,
    attempts: Iterable[Record],
    deviations: Iterable[Deviation],
    *,
    versions: Mapping[str, str],
    today: datetime.date,
) -> Applied:
    """Gives every planned key its state. Then marks known deviations, with the whole plan in view."""
    states = ledger.settle(plan.keys, tuple(attempts), plan.not_applicable)
    return expectations.apply(plan, states, deviations, versions=versions, today=today)


def of_run(
    plan: Plan | PlanLine,
    applied: Applied,
    others: OtherFailures,
    *,
    leaks: Sequence[str],
    environments: Sequence[EnvironmentLine],
    strict: bool,
) -> ExitResult:
    """Returns the exit code of a run that has ended: at its end, and from its journal."""
    changed = changes(environments)
    return exit_code(
        applied.records,
        planned=plan.keys,
        from_data=tuple(plan.not_applicable),
        pytest_code=others.pytest_code,
        other_failures=others.tests,
        overruled=others.overruled,
        stale=applied.stale,
        unmatched=applied.unmatched,
        disagreed=others.disagreed,
        leaks=leaks,
        changed=tuple(f"{spec}: {'; '.join(differing)}" for spec, differing in changed.items()),
        incomplete=others.incomplete,
        unwritten=others.unwritten,
        hooks=others.hooks,
        strict=strict,
        not_had=tuple(one.what for one in plan.not_planned if one.kind == UNAVAILABLE),
        dropped=tuple(dict.fromkeys(one.why for one in plan.not_planned if one.kind == DESELECTED)),
        unmeasured=tuple(one.what for one in plan.not_planned if one.required),
    )


def exit_code(
    records: Mapping[Key, Record],
    *,
    planned: Sequence[Key],
    from_data: Collection[str] = (),
    pytest_code: int = 0,
    other_failures: int = 0,
    overruled: bool = False,
    stale: Sequence[str] = (),
    unmatched: Sequence[str] = (),
    leaks: Sequence[str] = (),
    incomplete: str = "",
    unwritten: Sequence[str] = (),
    hooks: Sequence[str] = (),
    strict: bool = False,
    not_had: Sequence[str] = (),
    dropped: Sequence[str] = (),
    unmeasured: Sequence[str] = (),
    disagreed: Sequence[str] = (),
    changed: Sequence[str] = (),
) -> ExitResult:
    """Returns the exit code with all reasons.

    `from_data`: str(key) of the keys that data ruled out as n/a; `other_failures`: failed tests outside the matrix;
    `overruled`: pytest or another plugin ended the run with a code of another meaning; `incomplete`: why the journal is
    incomplete, if it is; `unwritten`: missing reports; `hooks`: failed hooks of other plugins; `not_had`: requested
    parts that are unavailable on this machine; `unmeasured`: those of them that no other cell measures; `dropped`: who
    dropped requested results from the plan; `disagreed`: differences between workers; `changed`: machines that changed
    while they were measured.
    """
    found = [
        (pytest_code, PYTEST_OWN.get(pytest_code, "")),
        (VIOLATED, _violated(records, other_failures)),
        (VIOLATED, OVERRULED if overruled else ""),
        (VIOLATED, _too_little(records, from_data) if strict else ""),
        (VIOLATED, f"strict: not available here: {_list(not_had)}" if strict and not_had else ""),
        (VIOLATED, f"strict: {'; '.join(dropped)}" if strict and dropped else ""),
        (LEDGER, _unbalanced(records, planned, incomplete)),
        (LEDGER, _unmeasured(records, planned)),
        (LEDGER, _never_on(records)),
        (LEDGER, f"the machine changed during the run: {_list(changed)}" if changed else ""),
        (LEDGER, f"requested and not measured: {_list(unmeasured)}" if unmeasured else ""),
        (LEDGER, f"the workers do not agree: {_list(disagreed)}" if disagreed else ""),
        (LEDGER, f"requested and not written: {_list(unwritten)}" if unwritten else ""),
        (LEDGER, f"hooks of other plugins failed: {_list(hooks)}" if hooks else ""),
        (BROKEN, _some(records, Verdict.BROKEN, "broken: the harness could not tell")),
        (STALE, _outdated(records, stale, unmatched)),
        (LEAK, f"left behind by the harness: {_list(leaks)}" if leaks else ""),
    ]
    reasons = sorted(((code, why) for code, why in found if why), key=lambda one: PRECEDENCE.index(one[0]))
    return ExitResult(code=reasons[0][0] if reasons else 0, reasons=tuple(f"{code} {why}" for code, why in reasons))


def _violated(records: Mapping[Key, Record], other_failures: int) -> str:
    violated = [record for record in records.values() if record.verdict is Verdict.VIOLATES]
    parts = []
    if violated:
        ways = [record.direction for record in violated]
        counted = ", ".join(f"{ways.count(way)} {way}" for way in DIRECTIONS if way in ways)
        parts.append(f"{len(violated)} violated" + (f" ({counted})" if counted else ""))
    if other_failures:
        parts.append(f"{other_failures} failed outside the matrix")
    return ", ".join(parts)


def _too_little(records: Mapping[Key, Record], from_data: Collection[str]) -> str:
    """Names what --codex-strict does not accept: the count of each verdict, and the first keys with their reasons."""
    keys = ledger.too_little(records, from_data)
    if not keys:
        return ""
    counts = ledger.count(records[key] for key in keys)
    found = ", ".join(f"{counts[verdict]} {word}" for verdict, word in ledger.STRICT_WORDS.items() if counts[verdict])
    return f"strict: {found}: {_list([f'{key} ({records[key].reason})' for key in keys])}"


def _unbalanced(records: Mapping[Key, Record], planned: Sequence[Key], incomplete: str) -> str:
    keys = set(planned)
    unknown, missing = records.keys() - keys, keys - records.keys()
    parts = []
    if incomplete:
        parts.append(f"the journal is incomplete: {incomplete}")
    if len(keys) != len(planned):
        parts.append(f"{len(planned) - len(keys)} keys planned twice")
    if missing:
        parts.append(f"{len(missing)} planned without a state")
    if unknown:
        parts.append(f"{len(unknown)} results that were not planned")
    if any(str(record.key) != str(key) for key, record in records.items()):
        parts.append("a result under another's key")
    return ", ".join(parts)


def _unmeasured(records: Mapping[Key, Record], planned: Sequence[Key]) -> str:
    """Names cells that were not measured. A cell in which no sandbox starts, as known, is accepted beside measured ones
    (see `_never_on`)."""
    if not planned:
        return "nothing was planned"
    measured = ledger.measured_cells(records.values())
    refused = ledger.known_without_sandbox(records.values())
    empty = list(dict.fromkeys(key.cell for key in planned if key.cell not in measured | refused))
    some = {record.key.cell for record in records.values() if ledger.measures(record)}
    cells_by_reason = {
        "nothing was measured in": [cell for cell in empty if cell not in some],
        "the state of the requested sandbox was not measured in": [cell for cell in empty if cell in some],
    }
    return "; ".join(f"{words} {_list(cells)}" for words, cells in cells_by_reason.items() if cells)


def _never_on(records: Mapping[Key, Record]) -> str:
    """Reports that sandboxes were requested and none was on in the whole run. Successes without a sandbox prove nothing
    about one. A red start is reported by its own verdict."""
    starts = [
        one
        for key, one in records.items()
        if key.promise.partition(".")[0] == ledger.START and POLICIES[key.policy].sandboxed
    ]
    if not starts or any(_is_told(one) or _was_on(one) for one in starts):
        return ""
    counts = ledger.count(starts)
    seen = ", ".join(f"{counts[verdict]} {WORDS[verdict]}" for verdict in Verdict if counts[verdict])
    return f"{SANDBOX_WAS_OFF} in the whole run (start checks: {seen})"


def _is_told(start: Record) -> bool:
    return start.verdict in (Verdict.VIOLATES, Verdict.BROKEN)


def _was_on(start: Record) -> bool:
    """Checks whether the sandbox was on. A deviation that is stale because the promise held counts too."""
    return start.verdict is Verdict.CONFORMS or (start.verdict is Verdict.STALE and not start.direction)


def _outdated(records: Mapping[Key, Record], stale: Sequence[str], unmatched: Sequence[str]) -> str:
    parts = [_some(records, Verdict.STALE, "stale")] if not stale else [f"stale: {_list(stale)}"]
    if unmatched:
        parts.append(f"expectations that match nothing: {_list(unmatched)}")
    return "; ".join(part for part in parts if part)


def _some(records: Mapping[Key, Record], verdict: Verdict, words: str) -> str:
    count = sum(record.verdict is verdict for record in records.values())
    return f"{count} {words}" if count else ""


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
