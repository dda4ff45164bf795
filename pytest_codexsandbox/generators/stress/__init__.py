"""What happens to a generator, and to the user's file, when things do not go one after the other in peace.

Somebody reads while it writes, it is killed, two of them run at once, others write the same file, an older release
wrote it. Each strain plays on a stage of its own and gives rows of evidence, each with its control.
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

__all__ = ("STRAINS", "Strain", "StressContext", "named")

Strain = Callable[[StressContext], tuple[Finding, ...]]
TRIES: Final = 3


def patient(strain: Strain) -> Strain:
    """Where a witness was not awake (a busy machine), it is played once more: nothing holds, and nobody is blamed, by a
    witness who slept. What was seen to go wrong meanwhile stays said, whatever a later play shows."""

    def played(bench: StressContext) -> tuple[Finding, ...]:
        found = strain(bench)
        for _ in range(TRIES - 1):
            if all(one.control_held for one in found if not one.skipped):
                break
            found = _with_earlier(found, strain(bench))
        return found

    return played


def _with_earlier(earlier: Sequence[Finding], now: Sequence[Finding]) -> tuple[Finding, ...]:
    """The newest play, and the faults of the one before it that it does not show, under the newest controls."""
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


STRAINS: Final[Mapping[str, Strain]] = {
    name: patient(strain)
    for name, strain in (
        ("at-once", atomic_replace.at_once),
        ("killed", crash_check.killed),
        ("together", concurrent_runs.together),
        ("survives", other_writers_check.survives),
        ("keeps-theirs", other_writers_check.keeps_theirs),
        ("migrates", migration.migrates),
    )
}


def named(name: str, beside: Path | None = None) -> Generator:
    """A writer of ours, else a declared generator."""
    return WRITERS[name] if name in WRITERS else generator_specs.of_declaration(name, beside)
