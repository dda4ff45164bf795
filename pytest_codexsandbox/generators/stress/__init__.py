"""Stress checks: what happens to a generator, and to the user's file, when runs are disturbed.

Another process reads while the generator writes; it is killed; two run at once; other programs write the same file; an
older release wrote it. Each stress check uses private folders of its own and returns rows of evidence with controls.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.generators.other_writers import WRITERS
from pytest_codexsandbox.generators.stress import (
    atomic_replace,
    concurrent_runs,
    crash_check,
    migration,
    other_writers_check,
)
from pytest_codexsandbox.generators.stress.setup import StressContext
from pytest_codexsandbox.matrix import generator_specs
from pytest_codexsandbox.model.generator import Finding
from pytest_codexsandbox.model.generator_spec import Generator

__all__ = ("STRESS_CHECKS", "StressCheck", "StressContext", "named")

StressCheck = Callable[[StressContext], tuple[Finding, ...]]
TRIES: Final = 3


def patient(check: StressCheck) -> StressCheck:
    """Repeats a stress check if an observer was too slow (on a busy machine): an observer that saw nothing proves
    nothing. A fault that was seen once stays, whatever a later attempt shows."""

    def played(context: StressContext) -> tuple[Finding, ...]:
        found = check(context)
        for _ in range(TRIES - 1):
            if all(one.control_held for one in found if not one.skipped):
                break
            found = _with_earlier(found, check(context))
        return found

    return played


def _with_earlier(earlier: Sequence[Finding], now: Sequence[Finding]) -> tuple[Finding, ...]:
    """Returns the newest attempt, and the faults that only the earlier one shows, under the newest controls."""
    shown = {(one.claim, one.reason) for one in now if not one.held}
    newest = {one.claim: one for one in now if not one.skipped}
    lost = [one for one in earlier if not one.held and not one.skipped and (one.claim, one.reason) not in shown]
    claims = {one.claim for one in lost}
    return (
        *(one for one in now if not (one.held and one.claim in claims)),
        *(_under(one, newest.get(one.claim, one)) for one in lost),
    )


def _under(fault: Finding, newest: Finding) -> Finding:
    return msgspec.structs.replace(fault, control=newest.control, control_held=newest.control_held)


STRESS_CHECKS: Final[Mapping[str, StressCheck]] = {
    name: patient(check)
    for name, check in (
        ("at-once", atomic_replace.at_once),
        ("killed", crash_check.killed),
        ("together", concurrent_runs.together),
        ("survives", other_writers_check.survives),
        ("keeps-theirs", other_writers_check.keeps_theirs),
        ("migrates", migration.migrates),
    )
}


def named(name: str, beside: Path | None = None) -> Generator:
    """Returns one of our writers, else a declared generator."""
    return WRITERS[name] if name in WRITERS else generator_specs.of_declaration(name, beside)
