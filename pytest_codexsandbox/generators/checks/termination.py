"""Termination: checks that the generator ends by itself and stays inside its folders."""

from collections.abc import Iterator

import msgspec

from pytest_codexsandbox.generators.checks.findings import CheckFault, Control, all_hold, as_findings, listed, skipped
from pytest_codexsandbox.model.generator import CaseRun, Declaration, Finding, GeneratorRun

ENDS = "the generator ends by itself and leaves no process behind"
INSIDE = "the generator stays inside the folders that it received"
WALLS = "bubblewrap"  # only this confinement records what was written elsewhere


def ends_by_itself(case_run: CaseRun, declaration: Declaration) -> tuple[Finding, ...]:
    faults = [fault for number, run in enumerate(case_run.runs, start=1) for fault in unended(run, f"run {number}")]
    clean = msgspec.structs.replace(case_run.first, ended="exit", survivors=())
    controls = [
        Control(
            "a run that exceeds its time is noticed", any(unended(msgspec.structs.replace(clean, ended="timeout")))
        ),
        Control("a process that stays is noticed", any(unended(msgspec.structs.replace(clean, survivors=("sleep",))))),
        Control("one that ends passes", not any(unended(clean))),
    ]
    codes = ", ".join(str(run.code) for run in case_run.runs)
    return as_findings(ENDS, faults, control=all_hold(controls), saw=f"{len(case_run.runs)} runs ended with {codes}")


def unended(run: GeneratorRun, name: str = "the run") -> Iterator[CheckFault]:
    if run.ended != "exit":
        what = {"timeout": "exceeded its time limit", "signal": f"was ended by a signal ({run.code})"}
        saw = f"{name}: it {what.get(run.ended, 'did not start')}{': ' + run.error if run.error else ''}"
        yield CheckFault(reason=run.ended, saw=saw)
    if run.survivors:
        yield CheckFault(
            reason="processes-stay", saw=f"{name}: it left {listed(run.survivors)} running", direction="litter"
        )


def stays_inside(case_run: CaseRun, declaration: Declaration) -> tuple[Finding, ...]:
    if not case_run.confined.startswith(WALLS):
        where = f"it ran in {case_run.confined}" if case_run.confined else "it was not confined"
        return skipped(INSIDE, f"{where}: other accesses were not observed")
    faults = [fault for number, run in enumerate(case_run.runs, start=1) for fault in outside(run, f"run {number}")]
    clean = msgspec.structs.replace(case_run.first, strayed=())
    strayed = msgspec.structs.replace(clean, strayed=("/home/somebody/.codex",))
    held = any(outside(strayed)) and not any(outside(clean))
    saw = f"nothing outside was touched (confined by {case_run.confined})"
    return as_findings(INSIDE, faults, control=Control("an access outside is noticed", held), saw=saw)


def outside(run: GeneratorRun, name: str = "the run") -> Iterator[CheckFault]:
    if run.strayed:
        yield CheckFault(
            reason="reached-outside", saw=f"{name}: it tried to access {listed(run.strayed)}", direction="leak"
        )
