"""`codexsandbox generator try`: a generator on a few cases, at once, on one screen."""

import argparse
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.commands.argument_types import filled
from pytest_codexsandbox.commands.generator_text import Case as Shown
from pytest_codexsandbox.commands.generator_text import Head, screen
from pytest_codexsandbox.commands.matrix_options import INSTALL
from pytest_codexsandbox.commands.scratch_dir import ToldEvents, workbench
from pytest_codexsandbox.diagnosis.explain import diagnose
from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.errors import InputError, os_errors_as
from pytest_codexsandbox.generators.required_paths import need_programs
from pytest_codexsandbox.harness.codex_resolver import CodexResolver
from pytest_codexsandbox.harness.generators import single_case
from pytest_codexsandbox.harness.generators.case_cache import CaseCache
from pytest_codexsandbox.harness.generators.factory import open_case_cache
from pytest_codexsandbox.harness.generators.trial import RealGeneratorTrial
from pytest_codexsandbox.harness.option_defaults import REPORT_DIR
from pytest_codexsandbox.harness.planned_cells import expand_cells
from pytest_codexsandbox.harness.planning_facts import gather_facts
from pytest_codexsandbox.harness.worker_resources import WorkerOptions, WorkerResources
from pytest_codexsandbox.matrix import decision_table, scenario_index
from pytest_codexsandbox.matrix.generator_cells import GeneratorSet, writers
from pytest_codexsandbox.matrix.load import INSTALLED, MatrixFile, load
from pytest_codexsandbox.matrix.suggestions import did_you_mean
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.generator import Case, Intent
from pytest_codexsandbox.model.generator_suite import TRAITS
from pytest_codexsandbox.model.journal_lines import ClaimLine, Line, StoryLine
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.story_log import anonymous
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.registry import cache_folder, data_folder
from pytest_codexsandbox.releases.known_releases import installed
from pytest_codexsandbox.releases.user_binaries import candidate
from pytest_codexsandbox.reports.terminal_style import Paint

EXAMPLES: Final = (
    "codexsandbox generator try -- mytool render --out @CONFIG@",
    "codexsandbox generator try --case 34-bom,71-version-empty -- py:mytool.codex:write",
    "codexsandbox generator try --config ~/copy-of-my.toml --wish roots,network -- good",
)
# The most frequent errors: a captured key below a table, lines like headers, a word that voids the policy.
TELLING: Final = ("02-ends-in-tui", "09-string-with-headers", "26-default-permissions-workspace")
CONTAINERS: Final = "pull-request"
OWN: Final = "your-own-file"
BROKEN: Final = 10
_INTENTS: Final[dict[str, dict[str, Any]]] = {
    "plain": {},
    "roots": {"roots": ("@ROOT0@",)},
    "network": {"network": True},
}
_WIDTH: Final = 100
Asked = tuple[tuple[Promise, Callable[..., object]], ...]


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--case", action="append", default=[], metavar="NAME[,NAME…]", help="try: these cases of the corpus"
    )
    parser.add_argument("--config", metavar="FILE", help="try: a configuration of your own, which is copied")
    parser.add_argument("--wish", metavar="WORD[,WORD…]", help="try: the intent: roots, network, or plain")
    parser.add_argument("--codex-release", type=filled, metavar="V", help="try: in place of the installed Codex")
    parser.add_argument(
        "--codex-bin", type=filled, metavar="[LABEL=]PATH[@AS-VERSION]", help="try: a binary of your own"
    )
    parser.add_argument(
        "--codex-generator-in", metavar="CELL", help="try: in this cell's container, where it cannot be confined here"
    )
    parser.add_argument(
        "--codex-matrix",
        metavar="PRESET|FILE",
        help=f"try: the matrix with the cell of --codex-generator-in ({CONTAINERS})",
    )
    parser.add_argument("--codex-generator-unconfined", action="store_true", help="try: without confinement")
    parser.add_argument("-v", "--verbose", action="store_true", help="try: every promise, the whole diff")


def run(options: argparse.Namespace) -> int:
    text = options.words[0] if len(options.words) == 1 else shlex.join(options.words)
    asked = writers([text], beside=None, base=Path.cwd())
    if len(asked.asked) != 1:
        raise InputError(f"{text!r} names {len(asked.asked)} generators", next_step="try one of them")
    if not options.codex_generator_in:
        need_programs(asked)
    corpus = len(asked.cases)
    asked = msgspec.structs.replace(asked, cases=_cases(options, asked))
    cell = Cell(environment=this_machine(), subject=_subject(options, asked.asked[0]))
    shown = _shown(cell, asked, unconfined=options.codex_generator_unconfined, inside=_inside(options))
    head = Head(
        name=asked.asked[0],
        codex=shown.codex,
        confined=shown.confined,
        corpus=corpus,
        spec=text,
        which=_which(options),
        matrix=(options.codex_matrix or CONTAINERS) if options.codex_generator_in else "",
    )
    print("\n".join(screen(head, shown.cases, _paint(), every=options.verbose)))
    verdicts = {record.verdict for case in shown.cases for record in case.records}
    return 1 if Verdict.VIOLATES in verdicts else BROKEN if Verdict.BROKEN in verdicts else 0


# ---- what is asked
def _cases(options: argparse.Namespace, asked: GeneratorSet) -> tuple[Case, ...]:
    names = [name for text in options.case for name in text.split(",") if name]
    intent = _intent(options.wish)
    own = decision_table.cases(
        asked.generators[asked.asked[0]].declaration, ""
    )  # the case cache decides which of them apply
    there = {case.id: case for case in (*asked.cases, *own)}
    for name in names:
        if name not in there:
            raise InputError(f"there is no case {name!r}", where="--case", why=did_you_mean(name, tuple(there)))
    chosen = [there[name] for name in names]
    chosen += [_own(Path(options.config))] if options.config else []
    chosen = chosen or [there[name] for name in TELLING]
    named = {case.id for case in own}  # a row is asked for what it speaks of
    return tuple(
        case if intent is None or case.id in named else msgspec.structs.replace(case, intent=intent) for case in chosen
    )


def _own(path: Path) -> Case:
    path = path.expanduser()
    real = Path(os.environ.get("CODEX_HOME") or "~/.codex").expanduser()
    if path.resolve().is_relative_to(real.resolve()):
        raise InputError(
            "your real Codex home is never read", where=str(path), next_step=f"cp {shlex.quote(str(path))} ./copy.toml"
        )
    with os_errors_as(InputError, "the file cannot be read", where=path):
        return Case(id=OWN, why=f"a copy of {path}", config=path.read_bytes(), group="own")


def _intent(text: str | None) -> Intent | None:
    if text is None:
        return None
    words = [word for word in text.split(",") if word]
    for word in words:
        if word not in _INTENTS:
            raise InputError(f"there is no intent {word!r}", where="--wish", why=f"known: {', '.join(_INTENTS)}")
    return Intent(**{name: value for word in words for name, value in _INTENTS[word].items()})


def _subject(options: argparse.Namespace, generator: str) -> SubjectSpec:
    if options.codex_bin and options.codex_release:
        raise InputError("--codex-bin and --codex-release name two Codexes", next_step="give one of them")
    if options.codex_bin:
        spec = candidate(options.codex_bin)
    elif options.codex_release:
        spec = SubjectSpec(label=options.codex_release, release=options.codex_release)
    else:
        found = installed()
        if found is None:
            raise InputError("no Codex is installed here", next_step=INSTALL)
        spec = found
    return msgspec.structs.replace(spec, generator=generator)


def _inside(options: argparse.Namespace) -> EnvironmentSpec | None:
    """Returns the container that generators run in, by the id of its cell or its own."""
    name = options.codex_generator_in
    if not name:
        return None
    if options.codex_generator_unconfined:
        raise InputError("--codex-generator-in and --codex-generator-unconfined exclude each other")
    matrix = load(options.codex_matrix or CONTAINERS)
    there = {
        one: cell.environment
        for cell in _cells(matrix)
        if cell.environment.backend != "local"
        for one in (cell.environment.id, cell.id)
    }
    if name not in there:
        ids = tuple(spec.id for spec in there.values())
        why = did_you_mean(name, ids) if ids else f"no cell of {matrix.preset} is in a container"
        raise InputError(
            f"generators cannot run in {name!r}",
            where="--codex-generator-in",
            why=why,
            next_step=f"codexsandbox plan {matrix.preset} -v names cells; --codex-matrix takes another file",
        )
    return there[name]


def _cells(matrix: MatrixFile) -> tuple[Cell, ...]:
    subjects = tuple(SubjectSpec(label=name, release=name) for name in matrix.releases if name != INSTALLED)
    subjects = subjects or (SubjectSpec(label=INSTALLED),)
    circumstances = gather_facts(matrix, Path(REPORT_DIR))
    return expand_cells(matrix, subjects, circumstances, pairs=None, hosts=()).cells


def _which(options: argparse.Namespace) -> tuple[str, ...]:
    given = {"--codex-bin": options.codex_bin, "--codex-release": options.codex_release}
    codex = next(((name, value) for name, value in given.items() if value), ())
    inside = options.codex_generator_in
    return (*codex, "--codex-generator-in", inside) if inside else codex


def _promises() -> Asked:
    return tuple(
        pair for pair in scenario_index.promises(data_folder("scenarios")) if single_case.is_asked_per_case(pair[0])
    )


# ---- what is done
class _Tried(msgspec.Struct, frozen=True, kw_only=True):
    codex: str
    confined: str
    cases: tuple[Shown, ...]


def _shown(cell: Cell, asked: GeneratorSet, *, unconfined: bool, inside: EnvironmentSpec | None) -> _Tried:
    promises = _promises()
    events = _KeptEvents()
    with workbench("try") as folder:
        options = WorkerOptions(folder=folder, cache=cache_folder(), generators_in=inside.id if inside else "")
        resolver = CodexResolver(cache_folder())
        with closing(WorkerResources((cell,), options, resolver=resolver, events=events)) as resources:
            cache = open_case_cache(
                resources, asked, folder=folder / "generators", unconfined=unconfined, inside=inside
            )
            try:
                trial = _Trial(resources, cache, cell, promises)
                cases = tuple(trial.case(case, events.lines) for case in asked.cases)
            finally:
                cache.close()
            codex = resources.programs.able(cell).version
    confined = next((line.confined for line in events.lines if isinstance(line, StoryLine)), "")
    return _Tried(codex=codex, confined=confined, cases=cases)


class _KeptEvents(ToldEvents):
    """Keeps the journal lines unchanged, with the full content of files."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[Line] = []

    def emit(self, line: Line) -> None:
        self.lines.append(line)


class _Trial:
    def __init__(self, resources: WorkerResources, cache: CaseCache, cell: Cell, promises: Asked) -> None:
        self._resources, self._cache, self._cell, self._promises = resources, cache, cell, promises

    def case(self, case: Case, lines: Sequence[Line]) -> Shown:
        records = tuple(self._records(case))
        case_line = next((one for one in lines if isinstance(one, StoryLine) and one.case == case.id), None)
        claim = next(
            (one for one in lines if isinstance(one, ClaimLine) and case_line and one.story == case_line.id), None
        )
        found = Shown(
            name=case.id, why=case.why, records=records, case_line=case_line, claim=claim.claim if claim else None
        )
        if case_line is None:
            return found
        world = self._cache.case_run(self._cell, case.id)[0].world
        return anonymous(found, world)

    def _records(self, case: Case) -> Iterator[Record]:
        facts = self._resources.pool.facts(self._cell.environment)
        known = {**facts, "codex": self._resources.programs.able(self._cell).version}
        for promise, function in self._promises:
            if promise.over == "inputs" and case.group not in ("inputs", "own"):
                continue
            yield single_case.record(
                self._cache, promise, function, cell=self._cell, case=case.id, facts=known, why=_explained
            )


def _explained(record: Record, writing: RealGeneratorTrial, facts: Mapping[str, Any]) -> Record:
    found = diagnose(record, writing.seen, facts, named=TRAITS.names_faults)
    return msgspec.structs.replace(record, diagnosis=found)


def _paint() -> Paint:
    columns = shutil.get_terminal_size((_WIDTH, 24)).columns
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return Paint(width=max(columns, 60), color=colour, ascii="utf" not in (sys.stdout.encoding or "").lower())
