"""What happens to a generator, and to the user's file, when things do not go one after the other in peace.

Somebody reads while it writes, it is killed, two of them run at once, others write the same file, an older release
wrote it. Each strain plays on a stage of its own and gives rows of evidence, each with its control.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from pytest_codexsandbox.generators.strain import at_once, killed, others, shapes, together
from pytest_codexsandbox.generators.strain.bench import StrainBench
from pytest_codexsandbox.generators.writers import WRITERS
from pytest_codexsandbox.matrix import generator_specs
from pytest_codexsandbox.model.generator import Finding
from pytest_codexsandbox.model.generator_spec import Generator

__all__ = ("STRAINS", "Strain", "StrainBench", "named")

Strain = Callable[[StrainBench], tuple[Finding, ...]]
TRIES: Final = 3


def patient(strain: Strain) -> Strain:
    """Where everything held and a witness was not awake (a busy machine), it is played once more: what was not held is
    told at once, and nothing holds by a witness who slept."""

    def played(bench: StrainBench) -> tuple[Finding, ...]:
        found = strain(bench)
        for _ in range(TRIES - 1):
            asked = [one for one in found if not one.skipped]
            if not all(one.held for one in asked) or all(one.control_held for one in asked):
                break
            found = strain(bench)
        return found

    return played


STRAINS: Final[Mapping[str, Strain]] = {
    name: patient(strain)
    for name, strain in (
        ("at-once", at_once.at_once), ("killed", killed.killed), ("together", together.together),
        ("survives", others.survives), ("keeps-theirs", others.keeps_theirs), ("migrates", shapes.migrates),
    )
}  # fmt: skip


def named(name: str, beside: Path | None = None) -> Generator:
    """A writer of ours, else a declared generator."""
    return WRITERS[name] if name in WRITERS else generator_specs.of_declaration(name, beside)
