"""Generator tally: each generator in each cell of a journal, promise by promise over the corpus. Pure."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.model.generator import ROW, is_row
from pytest_codexsandbox.model.journal_lines import CallLine, CellRow, ClaimLine, GeneratorRow, StoryLine
from pytest_codexsandbox.model.ledger import HARNESS, ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.suite_index import SuiteIndex
from pytest_codexsandbox.model.verdict import RED, Verdict

_OURS: Final = "generator-"  # prefix of fingerprints of generators' faults
_AXIS: Final = "generator"  # the axis of a cell
ROWS: Final = "rows of its own"  # group of cases from its declaration's decision matrix
UNGROUPED: Final = "on their own"  # group of cases without a user's file: other writers, older shapes, or none


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """Counts results by verdict."""

    counts: Mapping[Verdict, int]
    leaks: int = 0

    def __getitem__(self, verdict: Verdict) -> int:
        return self.counts.get(verdict, 0)

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def asked(self) -> int:
        """Returns the number of results, without those that do not apply."""
        return self.total - self[Verdict.NOT_APPLICABLE]

    @property
    def held(self) -> str:
        """Returns a text like `188 of 204`."""
        return f"{self[Verdict.CONFORMS] + self[Verdict.UNCONFINED]:,} of {self.asked:,}"


def tally(records: Iterable[Record]) -> Tally:
    records = tuple(records)
    leaks = sum(one.verdict is Verdict.VIOLATES and one.direction == "leak" for one in records)
    return Tally(counts=Counter(one.verdict for one in records), leaks=leaks)


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one generator in one cell."""

    cell: CellRow
    row: GeneratorRow
    codex: str  # the release that Codex reports
    about: Mapping[str, tuple[Record, ...]]  # promise → its results, one for each case
    suite: tuple[Record, ...]  # what Codex does with its files, measured as in any cell
    trust: tuple[Record, ...]  # whether the harness can be believed here
    stories: Mapping[str, StoryLine]  # by case
    claims: Mapping[str, ClaimLine]  # by case
    calls: Mapping[str, CallLine]  # by id
    groups: Mapping[str, tuple[str, ...]]  # group → its cases that were checked
    corpus: int  # number of cases in the corpus
    suites: SuiteIndex

    @property
    def records(self) -> tuple[Record, ...]:
        return tuple(record for found in self.about.values() for record in found)

    @property
    def cases(self) -> int:
        """Returns how many cases of the corpus were checked."""
        return len(self._corpus)

    @property
    def _corpus(self) -> frozenset[str]:
        return frozenset(
            case for group, cases in self.groups.items() if group not in (ROWS, UNGROUPED) for case in cases
        )

    @property
    def declined(self) -> frozenset[str]:
        """Returns the cases in which the first run declined and changed nothing. They show nothing of what it
        writes."""
        return frozenset(
            case
            for case, case_line in self.stories.items()
            for run in case_line.runs[:1]
            if run.ended == "exit" and (run.refused or run.code)
        )

    @property
    def declined_of_corpus(self) -> int:
        """Counts declined cases of the corpus. Rows of its own matrix are left out, because they may require a
        refusal."""
        return len(self.declined & self._corpus)

    def why(self, case: str) -> str:
        """Returns the reason of a row of its decision matrix; "" for other cases."""
        place = int(case.removeprefix(ROW)) if is_row(case) else 0
        return self.row.rows[place - 1] if 0 < place <= len(self.row.rows) else ""

    @property
    def confined(self) -> str:
        """Returns what confined the generator; "" if one of its runs was unconfined."""
        shown = {case_line.confined for case_line in self.stories.values()}
        if "" in shown or any(one.verdict is Verdict.UNCONFINED for one in self.trust):
            return ""
        proved = any(one.verdict is Verdict.CONFORMS for one in self.trust)
        return ", ".join(sorted(shown)) or ("confinement, proved first" if proved else "")

    @property
    def version(self) -> str:
        return self.row.version if self.row.version not in self.row.name else ""

    def topics(self) -> dict[str, list[Record]]:
        found: dict[str, list[Record]] = {}
        for promise, records in self.about.items():
            found.setdefault(promise.partition(".")[0], []).extend(records)
        return found

    def reasons(self) -> dict[str, list[Record]]:
        """Returns reason → violations, the most frequent reason first."""
        found: dict[str, list[Record]] = {}
        for record in self.records:
            if record.verdict is Verdict.VIOLATES:
                found.setdefault(word_of(record), []).append(record)
        return dict(sorted(found.items(), key=lambda pair: -len(pair[1])))

    def red_cases(self) -> Iterator[tuple[str, list[Record]]]:
        """Yields the cases that need attention, with their results."""
        found: dict[str, list[Record]] = {}
        for record in self.records:
            if record.verdict in RED or record.verdict is Verdict.EXPECTED:
                found.setdefault(record.key.case, []).append(record)
        yield from found.items()


def word_of(record: Record) -> str:
    """Returns the name of a violation's cause; without one, the check's word or the errno."""
    known = record.diagnosis.fingerprint if record.diagnosis else ""
    row = record.deciding
    if known.startswith(_OURS) or row is None or not row.reason:
        return known.removeprefix(_OURS) or "not named"
    return row.reason


def measured(journal: ReadJournal, states: Mapping[Key, Record]) -> list[Measured]:
    """Returns every cell with a generator, in the order of the plan."""
    return _Reader(journal, states).cells()


class _Reader:
    def __init__(self, journal: ReadJournal, states: Mapping[Key, Record]) -> None:
        self._journal = journal
        self._by_cell: dict[str, list[Record]] = {}
        for key, record in states.items():
            self._by_cell.setdefault(key.cell, []).append(record)
        self._rows = {row.name: row for row in journal.plan.generators}
        self._versions = {line.label: line.version for line in journal.subjects}
        self._groups = {case.id: case.group for case in journal.plan.cases}
        self._suites = journal.plan.suite_index()

    def cells(self) -> list[Measured]:
        return [self._cell(cell) for cell in self._journal.plan.cells if cell.axes.get(_AXIS)]

    def _cell(self, cell: CellRow) -> Measured:
        records = self._by_cell.get(cell.id, [])
        name = cell.axes[_AXIS]
        about: dict[str, list[Record]] = {}
        for record in records:
            if judges_generator(record, self._suites) and not _of_harness(record):
                about.setdefault(record.key.promise, []).append(record)
        stories = {line.id: line for line in self._journal.stories if line.cell == cell.id}
        return Measured(
            cell=cell,
            row=self._rows.get(name) or GeneratorRow(name=name, spec=name),
            codex=cell.as_version or self._versions.get(cell.subject, cell.subject),
            about={promise: tuple(found) for promise, found in about.items()},
            suite=tuple(one for one in records if not judges_generator(one, self._suites) and not _of_harness(one)),
            trust=tuple(one for one in records if _of_harness(one)),
            stories={line.case: line for line in stories.values()},
            claims={stories[line.story].case: line for line in self._journal.claims if line.story in stories},
            calls={line.id: line for line in self._journal.calls if line.cell == cell.id},
            groups=self._grouped(record.key.case for found in about.values() for record in found),
            corpus=len(self._groups),
            suites=self._suites,
        )

    def _grouped(self, asked: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Returns group → cases in the order of the corpus; other cases come last."""
        found: dict[str, dict[str, None]] = {group: {} for group in dict.fromkeys(self._groups.values())}
        for case in dict.fromkeys(asked):
            own = ROWS if is_row(case) else UNGROUPED
            found.setdefault(self._groups.get(case, own), {})[case] = None
        order = {case: place for place, case in enumerate(self._groups)}
        return {
            group: tuple(sorted(cases, key=lambda case: order.get(case, 0))) for group, cases in found.items() if cases
        }


def judges_generator(record: Record, suites: SuiteIndex) -> bool:
    """Checks whether a result is about the generator of its cell, and not about Codex."""
    return suites.of(record.key).judges == _AXIS


def _of_harness(record: Record) -> bool:
    return record.key.promise.partition(".")[0] == HARNESS


def paste(journal: ReadJournal, record: Record) -> tuple[str, ...]:
    """Returns the command that repeats one case of a generator; nothing for any other result."""
    name = next((one.axes.get(_AXIS) for one in journal.plan.cells if one.id == record.key.cell), "")
    cases = {case.id for case in journal.plan.cases}
    known = record.key.case in cases or is_row(record.key.case)
    if not name or not judges_generator(record, journal.plan.suite_index()) or not known:
        return ()
    row = next((row for row in journal.plan.generators if row.name == name), None)
    return (
        "codexsandbox",
        "generator",
        "try",
        "--case",
        record.key.case,
        *_which_codex(journal, record),
        "--",
        *_words(row.spec if row else name),
    )


def _words(spec: str) -> Sequence[str]:
    """Returns the words of a command as its user types it; another spec is one word."""
    scheme, _, text = spec.partition(":")
    try:
        return shlex.split(text) if scheme == "cmd" else (spec,)
    except ValueError:
        return (spec,)


def _which_codex(journal: ReadJournal, record: Record) -> tuple[str, ...]:
    cell = next(one for one in journal.plan.cells if one.id == record.key.cell)
    subject = next((one for one in journal.subjects if one.label == cell.subject), None)
    if subject is None or subject.source == "installed":
        return ()
    if subject.source == "path":
        at = f"@{cell.as_version}" if cell.as_version else ""
        return ("--codex-bin", f"{subject.label}={subject.binary}{at}")
    return ("--codex-release", cell.subject)
