"""JSON report: one document of a run, for programs: every planned key once, with its final state.

The journal has more (every call, every attempt). This document has what a dashboard needs, versioned by `schema`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.model.journal_lines import PromiseRow
from pytest_codexsandbox.model.ledger import ReadJournal, count, known_without_sandbox, too_little
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.suite_index import SuiteIndex
from pytest_codexsandbox.reports import bare_tools, causes, coverage_text, headlines
from pytest_codexsandbox.reports.by_generator import as_data, blocks
from pytest_codexsandbox.reports.text_file import write_text

SCHEMA: Final = 1


class Result(msgspec.Struct, frozen=True, kw_only=True):
    cell: str
    door: str
    policy: str
    promise: str
    case: str
    synthetic: bool  # in a cell whose refusal is manufactured: it says nothing about a kernel
    rejudged: bool  # False: an earlier version wrote it, without what the judge had
    verdict: str
    direction: str
    attempt: int  # 0: planned and never run
    reason: str
    evidence: Any
    diagnosis: Any
    deviation: str
    seconds: float
    repro: str


class JsonReporter:
    name, file_name = "json", "report.json"

    def render(self, journal: ReadJournal, out_dir: Path, *, run_dir: Path) -> None:
        write_text(out_dir / self.file_name, render(journal, run_dir))


def render(journal: ReadJournal, folder: Path | None) -> str:
    states = journal.states()
    synthetic = {cell.id for cell in journal.plan.cells if cell.synthetic}
    unsure = frozenset(journal.not_rejudged)
    document = {
        "schema": SCHEMA,
        "kind": "codexsandbox-report",
        "run": journal.run,
        "folder": str(folder or "").encode("utf-8", "backslashreplace").decode(),  # its name may not be UTF-8
        "complete": not headlines.incomplete(journal, states),
        "incomplete": headlines.incomplete(journal, states),
        "contradicted": journal.contradicted,
        "not_rejudged": len(journal.not_rejudged),
        "not_replayed": journal.not_replayed,
        "own_deviations": headlines.excused_by_own(journal, states),
        "exit": journal.end.exit if journal.end else None,
        "reasons": journal.end.reasons if journal.end else (),
        "strict_fails": too_little(states, journal.plan.not_applicable) if journal.run.strict else [],
        "finished": journal.end.finished if journal.end else "",
        "planned": len(states),
        "counts": count(states.values()),
        "counts_synthetic": count(headlines.synthetic(journal, states)),
        "cells": journal.plan.cells,
        "cells_without_sandbox": sorted(known_without_sandbox(states.values())),  # known: nothing was measured there
        "promises": _promises(journal),
        "environments": journal.environments,
        "machine_changed": headlines.changed(journal),
        "by_itself": bare_tools.as_data(journal, states),
        "subjects": journal.subjects,
        "posture": headlines.posture(journal),
        "not_planned": journal.plan.not_planned,
        "coverage": _coverage(journal, states),
        "causes": _causes(states, journal.plan.suite_index()),
        "generators": as_data(blocks(journal)),
        "results": [
            _result(record, synthetic=record.key.cell in synthetic, rejudged=record.key not in unsure)
            for record in states.values()
        ],
    }
    data: bytes = msgspec.json.format(msgspec.json.encode(document), indent=1)
    return data.decode() + "\n"


def _promises(journal: ReadJournal) -> list[PromiseRow]:
    """Returns the promises with their suites, which journals of earlier versions do not name."""
    suites = journal.plan.suite_index()
    named = {key.promise: suites.of(key).name for key in journal.plan.keys}
    return [msgspec.structs.replace(row, suite=named.get(row.id, row.suite)) for row in journal.plan.promises]


def _coverage(journal: ReadJournal, states: Mapping[Key, Record]) -> dict[str, Any] | None:
    """Returns the coverage of pairs (triples) of axis values; None if cells were not picked by them."""
    asked = journal.plan.coverage
    if asked is None:
        return None
    planned, measured = coverage_text.counted(journal, states)
    return {
        "strength": asked.strength,
        "coverable": asked.coverable,
        "planned": planned,
        "measured": measured,
        "combinations": asked.combinations,
        "cells": len(journal.plan.cells),
        "axes": asked.axes,
        "uncoverable": asked.uncoverable,
    }


def _result(record: Record, *, synthetic: bool, rejudged: bool) -> Result:
    key = record.key
    return Result(
        cell=key.cell,
        door=key.door,
        policy=key.policy,
        promise=key.promise,
        case=key.case,
        synthetic=synthetic,
        rejudged=rejudged,
        verdict=record.verdict.value,
        direction=record.direction,
        attempt=record.attempt,
        reason=record.reason,
        evidence=record.evidence,
        diagnosis=record.diagnosis,
        deviation=record.deviation,
        seconds=record.seconds,
        repro=record.repro,
    )


def _causes(states: Mapping[Key, Record], suites: SuiteIndex) -> list[dict[str, Any]]:
    return [
        {
            "verdict": cause.verdict.value,
            "direction": cause.direction,
            "results": len(cause.records),
            "promises": cause.promises,
            "diagnosis": cause.diagnosis,
            "cases": cause.cases,
            "measured": cause.measured,
            "following": len(cause.following),
        }
        for cause in (*causes.loud(states, suites), *causes.quiet(states, suites))
    ]
