"""Generator cells: what a cell with a generator is measured for. Pure.

Two suites measure such a cell. The suite of every other cell runs through a door that reads configuration files, under
the policies that the generator produces. The harness chooses the intent; the author's declaration says which policy
must result. The second suite holds the promises about generators themselves, case by case.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.matrix import decision_table, generator_files, generator_specs
from pytest_codexsandbox.matrix.request_channels import UNTOLD, is_told
from pytest_codexsandbox.matrix.select import is_standing
from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.door_traits import DoorTraits
from pytest_codexsandbox.model.generator import Case, DecisionRow, Declaration, ExpectedPolicy, Intent, expected, is_row
from pytest_codexsandbox.model.generator_spec import Generator
from pytest_codexsandbox.model.journal_lines import CaseRow, GeneratorRow
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import POLICIES, Policy
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.suite_protocols import Side

NONE: Final = "none"  # value of --codex-generator for the cell without one
INPUTS: Final = "inputs"
OF_ROWS: Final = ("effective.says-what-was-asked", "effective.does-what-was-asked", "generator.exit-and-refusal-agree")
OURS: Final = (  # the shipped other writers of the same file (generators/other_writers)
    "reserialises",
    "saves-crlf",
    "appends-a-server",
    "table-inside",
    "key-inside",
    "uncomments-marks",
    "loses-end",
    "loses-marks",
)
INTENTS: Final[dict[str, Intent]] = {
    "plain": Intent(),
    "roots": Intent(roots=("@ROOT0@",)),
    "network": Intent(network=True),
}


class GeneratorSet(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a plan knows about generators."""

    generators: Mapping[str, Generator]  # by name
    asked: tuple[str, ...]
    cases: tuple[Case, ...]
    others: tuple[str, ...]  # names of programs that write the same file

    def generator(self, cell: Cell) -> Generator:
        return self.generators[cell.subject.generator]

    def declaration(self, cell: Cell) -> Declaration:
        return self.generator(cell).declaration

    def row(self, cell: Cell, intent: Intent, version: str = "") -> DecisionRow | None:
        """Returns the row of the decision matrix that decides. `version`: as Codex reports it; "": as the plan knows
        it."""
        found = decision_table.row(self.declaration(cell), intent, version or release_of(cell))
        return found if found is not None or self.generator(cell).told else UNTOLD

    def expected(self, cell: Cell, intent: Intent, version: str = "") -> ExpectedPolicy:
        return expected(self.declaration(cell), intent, self.row(cell, intent, version))

    def intents(self, cell: Cell) -> dict[str, Intent]:
        """Returns policy → the first intent that leads to it."""
        found: dict[str, Intent] = {}
        for intent in INTENTS.values():
            policy = policy_of(self.expected(cell, intent))
            if policy:
                found.setdefault(policy, intent)
        return found

    def case(self, cell: Cell, name: str, version: str = "") -> Case:
        own = decision_table.cases(self.declaration(cell), version or release_of(cell)) if is_row(name) else ()
        return next(case for case in (*own, *self.cases) if case.id == name)

    def ruled_out(self, cell: Cell, case: str, version: str) -> str:
        """Returns why a row of the decision matrix never applies to this Codex; "" if it does."""
        return decision_table.ruled_out(self.declaration(cell), case, version)


def writers(texts: Sequence[str], *, beside: Path | None, base: Path) -> GeneratorSet:
    """Returns the requested generators, and all declared ones, because chains and declarations may name those."""
    from pytest_codexsandbox.matrix.corpus import (
        shipped_cases,  # two hundred folders: read where a generator is asked for
    )

    asked = generator_specs.asked([text for text in texts if text.strip() != NONE], beside=beside, base=base)
    there = {name: generator_specs.of_declaration(name, beside) for name in generator_files.files(beside)}
    named = {one.name: msgspec.structs.replace(one, told=is_told(one)) for one in asked}
    return GeneratorSet(
        generators={**there, **named},
        asked=tuple(named),
        cases=shipped_cases(),
        others=(*OURS, *(name for name, one in there.items() if one.declaration.second_writer)),
    )


def axis(texts: Sequence[str], known: GeneratorSet) -> tuple[str, ...]:
    """Returns the values of the generator axis. "" is the cell without a generator."""
    without = ("",) if any(text.strip() == NONE for text in texts) else ()
    return (*without, *known.asked)


def release_of(cell: Cell) -> str:
    """Returns the release of a cell's Codex, as far as a plan knows it."""
    return cell.subject.as_version or cell.subject.release


def policy_of(expect: ExpectedPolicy) -> str:
    """Returns our policy that equals the expected one; "" if none does, or if no policy is expected."""
    if expect.refuses or "sandbox" in expect.kept:
        return ""
    return next((policy.id for policy in POLICIES.values() if _stands_for(policy, expect)), "")


def _stands_for(policy: Policy, expect: ExpectedPolicy) -> bool:
    if policy.mode != expect.sandbox or policy.exclude_slash_tmp or policy.exclude_tmpdir:
        return False
    if policy.mode != "workspace-write":
        return policy.mode == "danger-full-access" or not expect.network
    return policy.network == bool(expect.network) and policy.roots == tuple(expect.roots or ())


def tools(plan: Plan, writers: GeneratorSet) -> tuple[Generator, ...]:
    """Returns the generators of a plan that a registry provides. They must be installed before they can run."""
    others = {promise.id for promise in plan.promises if promise.over in ("writers", "shapes")}
    named = [cell.subject.generator for cell in plan.cells]
    named += [key.case for key in plan.keys if key.promise in others]
    found = [writers.generators[name] for name in dict.fromkeys(named) if name in writers.generators]
    whole = [part for one in found for part in (one.spec.parts or (one,))]
    return tuple({one.name: one for one in whole if one.declaration.install}.values())


def add_cases(plan: Plan, writers: GeneratorSet, promises: Iterable[Promise]) -> Plan:
    """Adds to the plan what a reader of its journal must know about generators and the corpus. `promises`: all promises
    about generators."""
    asked = tuple(_row(writers.generators[name]) for name in writers.asked)
    cases = tuple(CaseRow(id=case.id, group=case.group, why=case.why) for case in writers.cases)
    every = tuple(promise.id for promise in promises)
    return msgspec.structs.replace(plan, generators=asked, cases=cases, about_generators=every)


def _row(generator: Generator) -> GeneratorRow:
    declaration = generator.declaration
    pinned = [name.rpartition("==")[2] for name in declaration.install.values() if "==" in name]
    why = tuple(case.why for case in decision_table.cases(declaration, ""))
    return GeneratorRow(
        name=generator.name,
        spec=generator.as_asked,
        rows=why,
        version=pinned[0] if len(pinned) == 1 else "",
        told=generator.told or bool(declaration.semantics),
    )


def led_to(
    writers: GeneratorSet, cell: Cell, *, doors: Sequence[DoorTraits], policies: Sequence[str], for_files: DoorTraits
) -> tuple[Side, ...]:
    """Returns where Codex is measured with a generator's files. `doors` and `policies` are the matrix file's.
    `for_files`: the door for the case that no door of the matrix file reads configuration files."""
    through = doors if any(door.reads_config_files for door in doors) else (for_files,)
    intents = writers.intents(cell)
    return tuple((door.name, policy) for door in through for policy in policies if policy in intents)


def cases_of(writers: GeneratorSet, promise: Promise, cell: Cell) -> Sequence[str]:
    """Returns the cases of a promise about generators in a cell."""
    return tuple(_found(writers, promise, cell)) or ("",)


def ruled_out(writers: GeneratorSet, key: Key, promise: Promise, cell: Cell) -> str:
    """Returns why a key does not apply, as far as the declaration shows. Other reasons appear when the generator
    runs."""
    if is_standing(promise.id):
        return ""
    declaration = writers.declaration(cell)
    if release_of(cell) and (why := writers.ruled_out(cell, key.case, release_of(cell))):
        return why
    if promise.over == "shapes" and not key.case:
        return "its declaration names no older shape that it takes over (migrates_from)"
    if declaration.kind == "argv" and promise.over in ("writers", "once"):
        return "it writes no file: it gives arguments"
    return ""


def _found(writers: GeneratorSet, promise: Promise, cell: Cell) -> Iterator[str]:
    if promise.id in OF_ROWS:
        yield from map(decision_table.name_of, range(len(writers.declaration(cell).semantics)))
    match promise.over:
        case "configs":
            yield from (case.id for case in writers.cases)
        case "inputs":
            yield from (case.id for case in writers.cases if case.group == INPUTS)
        case "writers":
            yield from (name for name in writers.others if name != cell.subject.generator)
        case "shapes":
            yield from writers.declaration(cell).migrates_from
