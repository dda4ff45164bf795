"""Generator reasons: derives again why the declaration of a generator rules a promise out. Pure.

A journal keeps the text by which a generator was requested, and no declaration. Shipped declarations are read again. A
command without a declaration rules out nothing by itself. Another declaration is not here.
"""

from collections.abc import Mapping

from pytest_codexsandbox.matrix import generator_cells, generator_files, generator_specs
from pytest_codexsandbox.matrix.generator_cells import GeneratorSet
from pytest_codexsandbox.matrix.shipped_promises import declared
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.generator_spec import SCHEMES, Generator, Spec
from pytest_codexsandbox.model.journal_lines import CellRow, PlanLine
from pytest_codexsandbox.model.plan_key import Key


def reason(plan: PlanLine, row: CellRow, key: Key) -> str | None:
    """Returns why a promise about a generator is not asked; "" if it is, None where the declaration is not here."""
    promise, name = declared().get(key.promise), row.axes.get("generator", "")
    generator = _generator({one.name: one.spec for one in plan.generators}, name)
    if promise is None or generator is None:
        return None
    writers = GeneratorSet(generators={name: generator}, asked=(name,), cases=(), others=())
    subject = SubjectSpec(label=row.subject, release=row.release, as_version=row.as_version, generator=name)
    cell = Cell(environment=EnvironmentSpec(id=row.environment, backend="", distro=""), subject=subject)
    return generator_cells.ruled_out(writers, key, promise, cell)


def _generator(specs: Mapping[str, str], name: str) -> Generator | None:
    """Returns a requested generator: one of a shipped declaration, or a command without one."""
    text = specs.get(name, "")
    declaration = text.removeprefix(f"{name}=")
    if declaration in generator_files.files():
        return generator_specs.of_declaration(declaration)
    scheme, colon, words = text.partition(":")
    known = next((one for one in SCHEMES if one == scheme), None)
    if not colon or known is None:
        return None
    return Generator(name=name, spec=Spec(scheme=known, text=words))
