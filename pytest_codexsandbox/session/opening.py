"""Opens the workshop of generators: none of them runs before it is proved that they are confined."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from pytest_codexsandbox.generators.proof import Proof, confined
from pytest_codexsandbox.matrix.generated import Writers
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec
from pytest_codexsandbox.model.generator import Finding
from pytest_codexsandbox.model.journal import Line
from pytest_codexsandbox.session import known_generators
from pytest_codexsandbox.session.asking_codex import RealAsking
from pytest_codexsandbox.session.bench import Bench
from pytest_codexsandbox.session.tellers import RealTeller
from pytest_codexsandbox.session.workshop import RealWorkshop, Told


def open_workshop(
    bench: Bench, writers: Writers, *, folder: Path, unconfined: bool, emit: Callable[[Line], None],
    inside: EnvironmentSpec | None = None,
) -> RealWorkshop:  # fmt: skip
    """CannotConfine where nothing confines and nobody has said that it need not. `inside`: where generators run."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    confinement, proof = confined(folder, unconfined=unconfined or inside is not None)
    teller = RealTeller(bench, writers, folder=folder, confinement=confinement, inside=inside)
    bench.before_end(teller.leave)

    @cache
    def known() -> tuple[Finding, ...]:
        """Once for each worker: neither the walls nor these generators depend on a cell."""
        return (*_walls(proof), *known_generators.findings(teller.tell))

    def told(cell: Cell) -> Told:
        return Told(findings=known(), by=f"known-generators-{cell.subject.label}")

    return RealWorkshop(bench, writers, teller=teller, asking=RealAsking(bench), known=told, emit=emit)


def _walls(proof: Proof) -> Iterator[Finding]:
    """Nothing where the user has said that there are none: that stands with each story, and is no evidence."""
    for row in proof.rows:
        yield Finding(
            claim=f"a generator cannot {row.act}", saw=row.inside or "it was done", held=row.inside != "",
            control=row.excuse or row.outside or "outside it was done", control_held=row.held or row.inside == "",
            direction="" if row.inside else "leak",
        )  # fmt: skip
