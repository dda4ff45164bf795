"""Markdown report for an issue, a pull request or a job summary on GitHub. Program output cannot act as Markdown in
it."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from pytest_codexsandbox.model.ledger import ReadJournal, known_without_sandbox
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.suite_index import SuiteIndex
from pytest_codexsandbox.model.verdict import RED, SIGNS, WORDS, Verdict
from pytest_codexsandbox.reports import causes, coverage_text, headlines
from pytest_codexsandbox.reports.bare_tools import UNKNOWN, BareToolRow, Note, View, headings, numbered, token, view
from pytest_codexsandbox.reports.by_generator import blocks, marked
from pytest_codexsandbox.reports.cause_scope import Locations, places
from pytest_codexsandbox.reports.cell_groups import FEW
from pytest_codexsandbox.reports.escape import clipped, markdown, markdown_block, markdown_code
from pytest_codexsandbox.reports.generator_tally import measured
from pytest_codexsandbox.reports.grid import Grid, Group, grid
from pytest_codexsandbox.reports.html_evidence import EvidenceBlock, block
from pytest_codexsandbox.reports.html_generators import CaseText, GeneratorText, GroupField, texts
from pytest_codexsandbox.reports.html_matrix import CLASSES
from pytest_codexsandbox.reports.row_folding import FoldedRow, folded
from pytest_codexsandbox.reports.text_file import write_text

_MACHINES: Final = 6
WIDEST: Final = 12  # columns of signs in one table
_TEXT: Final = 1_500  # characters of one text
_CASES: Final = 3  # cases of one generator
_RED: Final = frozenset(CLASSES[verdict] for verdict in RED)
_IN_FULL: Final = 20  # causes
_ENVIRONMENTS: Final = 30  # rows
_REFUSES: Final = 2  # last rank of a row in which anything is refused


class MarkdownReporter:
    name, file_name = "markdown", "report.md"

    def render(self, journal: ReadJournal, out_dir: Path, *, run_dir: Path) -> None:
        write_text(out_dir / self.file_name, render(journal, run_dir))


def render(journal: ReadJournal, folder: Path | None) -> str:
    states = journal.states()
    table = grid(journal, states)
    where = places(journal.plan.cells, table)
    found = causes.loud(states, table.suites)
    parts = [
        *_head(journal, states),
        *_matrix(table, where),
        *_legend(states),
        *_causes(journal, found, where, folder),
        *_generators(journal, states),
        *_alone(view(journal, states)),
        *_quiet(states, table.suites),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _head(journal: ReadJournal, states: Mapping[Key, Record]) -> Iterator[str]:
    red = sum(1 for record in states.values() if record.verdict in RED)
    missing = headlines.incomplete(journal, states)
    failed = journal.end is not None and journal.end.exit != 0
    sign = "❌" if red or missing or failed else "❔" if journal.not_rejudged else "✅"
    yield f"## {sign} Codex sandbox: {_headline(journal, states, red)}"
    yield ""
    for words in filter(None, (missing, headlines.not_rejudged(journal))):
        yield f"**{_text(words)}**"
        yield ""
    yield f"**{_text(' '.join(headlines.counts(journal, states)))}**"
    yield ""
    wide = (
        *coverage_text.pairs(journal, states),
        *coverage_text.without_sandbox(journal, states),
        *headlines.posture(journal),
    )
    for line in [
        headlines.codex(journal),
        *coverage_text.environments(journal, _MACHINES),
        headlines.plan(journal),
        *wide,
    ]:
        yield f"- {_text(line)}"
    for line in (*headlines.changed(journal), *headlines.believed(journal, states), *coverage_text.not_had(journal)):
        yield f"- **{_text(line)}**"
    for place, reason in enumerate(journal.end.reasons if journal.end else ()):
        code, _, words = reason.partition(" ")
        yield f"- {'also' if place else 'exit'} {_text(code)}: {_text(words)}"
    for line in headlines.strict(journal, states, len(states)):
        yield f"- {_text(line)}"
    yield ""


def _headline(journal: ReadJournal, states: Mapping[Key, Record], red: int) -> str:
    if red:
        return f"{headlines.plural(red, 'result')} of {len(states):,} need{'s' if red == 1 else ''} attention"
    refused = len(known_without_sandbox(states.values()))
    again = f"; {len(journal.not_rejudged):,} of them not re-judged" if journal.not_rejudged else ""
    more = f"; no sandbox in {refused:,} of {headlines.plural(len(journal.plan.cells), 'cell')}" if refused else ""
    return f"{headlines.plural(len(states), 'result')}, none of them red{again}{more}"


def _matrix(table: Grid, where: Locations) -> Iterator[str]:
    columns = [(group.first, side) for group in table.groups for side in table.sides]
    for start in range(0, len(columns), WIDEST):
        part = columns[start : start + WIDEST]
        yield "| | " + " | ".join(_column(table, where, cell, where.side(side)) for cell, side in part) + " |"
        yield "|---|" + ":-:|" * len(part)
        for name, rows in table.topics().items():
            for line in folded(rows, part):
                yield _row(name, line)
        yield ""
    for number, group in enumerate(table.groups, 1):
        if len(group.cells) > 1:
            ids = [cell.id for cell in group.cells]
            names = ", ".join(where.names[cell] for cell in ids)
            alike = f"{where.alike.described(ids)}: {names}" if _many(group, where) else names
            title = _title(group, number, where)
            yield f"{_text(title)} means {len(ids)} cells alike: {_text(alike)}"
            yield ""


def _many(group: Group, where: Locations) -> bool:
    return len(group.cells) > FEW and where.alike.speaks


def _title(group: Group, number: int, where: Locations) -> str:
    """Returns the first cell's name for a few cells; for many a number, which the text below explains."""
    return f"cells {number}" if _many(group, where) else where.names[group.first]


def _column(table: Grid, where: Locations, cell: str, side: str) -> str:
    number, group = next((place, one) for place, one in enumerate(table.groups, 1) if one.first == cell)
    more = f" (+{len(group.cells) - 1})" if len(group.cells) > 1 and not _many(group, where) else ""
    return f"{_text(_title(group, number, where))}{more}<br>{_text(side)}"


def _row(topic: str, line: FoldedRow) -> str:
    signs = " | ".join(_sign(verdict) for verdict in line.signs)
    return f"| **{_text(topic)}** {_text(line.label)} | {signs} |"


def _sign(verdict: Verdict | None) -> str:
    if verdict is None:
        return " "
    sign = markdown(SIGNS[verdict])
    return f"**{sign}**" if verdict in RED else sign


def _legend(states: Mapping[Key, Record]) -> Iterator[str]:
    occurring = {record.verdict for record in states.values()}
    words = [f"{_sign(verdict)} {WORDS[verdict]}" for verdict in SIGNS if verdict in occurring]
    yield ", ".join(words)
    yield ""


def _causes(
    journal: ReadJournal, found: Sequence[causes.Cause], where: Locations, folder: Path | None
) -> Iterator[str]:
    calls = causes.Calls(journal)
    for number, cause in enumerate(found[:_IN_FULL], 1):
        yield from _cause(block(cause, number, calls=calls, places=where, journal=journal, folder=folder))
    for cause in found[_IN_FULL:]:
        yield f"- {_sign(cause.verdict)} {_text(cause.direction)} {_text(headlines.shortened_list(cause.promises))}"
    if len(found) > _IN_FULL:
        yield ""


def _cause(block: EvidenceBlock) -> Iterator[str]:
    heading, promises = _text(block.heading), _text(headlines.shortened_list(block.promises, 3))
    yield f"### {markdown(block.sign.sign)} {heading}: {promises}"
    yield ""
    yield f"- where: {_text('; '.join(block.where))}"
    yield from (f"- cases: {_text(block.cases)}",) if block.cases else ()
    for pair in block.pairs[:2]:
        yield f"- promised: {_text(pair.claim)}"
        yield f"- saw: {_text(pair.saw)}"
        yield f"- control{'' if pair.control_held else ' (did not hold)'}: {_text(pair.control)}"
    if block.reason and not block.pairs:
        yield f"- saw: {_text(block.reason)}"
    if block.diagnosis is not None:
        named = f"{markdown_code(block.diagnosis.fingerprint)}: " if block.diagnosis.fingerprint else ""
        yield f"- because: {named}{_text(block.diagnosis.cause)}"
        if block.diagnosis.remedy:
            yield f"- try: {_text(block.diagnosis.remedy)}"
        yield from (f"- way: {_text(way)}" for way in block.diagnosis.ways)
        if block.link:
            yield f"- see: <{block.link}>" if _plain(block.link) else f"- see: {_text(block.link)}"
    yield ""
    if block.repro or block.again:
        yield markdown_block(block.repro or block.again)
        yield ""


def _plain(link: str) -> bool:
    """Checks for an address that Markdown's angle brackets can hold."""
    return link.isascii() and link.isprintable() and not set(link) & set("<>\"'` \\|")


def _generators(journal: ReadJournal, states: Mapping[Key, Record]) -> Iterator[str]:
    shown = measured(journal, states)
    found = blocks(journal) if shown else []
    for block_ in found:
        yield from marked(block_, level="###")
    for text in texts(journal, shown, found) if shown else ():
        yield from _by_case(text)


def _by_case(text: GeneratorText) -> Iterator[str]:
    """Yields promises over groups of cases, and the first red cases with their diffs."""
    yield f"{_text(text.name)} on {_text(text.where)}:"
    yield ""
    yield f"| cases in which the promise held | {' | '.join(map(_text, text.groups))} |"
    yield "|---|" + ":-:|" * len(text.groups)
    for line in text.lines:
        yield f"| {_text(line.promise)} | {' | '.join(map(_field, line.fields))} |"
    yield ""
    for case in text.cases[:_CASES]:
        yield from _case(case)
    more = len(text.cases) - _CASES + text.more
    if more > 0:
        yield f"and {headlines.plural(more, 'more case')} in which something needs attention"
        yield ""


def _field(field: GroupField | None) -> str:
    if field is None:
        return " "
    shown = f"{field.sign.sign} {field.text}".rstrip()
    return f"**{markdown(shown)}**" if field.sign.style in _RED else markdown(shown)


def _case(case: CaseText) -> Iterator[str]:
    yield f"#### {_text(case.name)}: {_text(case.why)}"
    yield ""
    yield f"- request: {_text(case.asked)}"
    yield from (f"- did: {_text(run)}" for run in case.runs[:1])
    yield from (f"- Codex says: {_text(case.claim)}",) if case.claim else ()
    for row in case.found:
        yield f"- {markdown(row.sign.sign)} {_text(row.promise)} {markdown_code(row.word)}: {_text(row.saw)}"
    yield ""
    shown = next((row.diff for row in case.found if row.diff), ())
    if shown:
        yield markdown_block(
            "\n".join(line.text if line.style == "place" else f"{line.sign}{line.text}" for line in shown), info="diff"
        )
        yield ""
    if case.again:
        yield markdown_block(case.again)
        yield ""


def _alone(found: View | None) -> Iterator[str]:
    """Yields the table of bare tools, if anything is refused in any environment."""
    if found is None or not any(row.rank <= _REFUSES for row in found.rows):
        return
    rows = found.rows[:_ENVIRONMENTS]
    numbers = numbered(rows)
    heads = [*headings(found), *(f"Codex {side}" for side in found.sides)]
    yield "### By themselves: bubblewrap and unshare without Codex, then Codex"
    yield ""
    yield f"| | {' | '.join(map(_text, heads))} | asked directly |"
    yield "|---|" + ":-:|" * len(heads) + "---|"
    for row in rows:
        fields = [*(token(field, numbers) for field in row.tried), *_starts(row, numbers)]
        yield f"| {_text(', '.join(row.names))} | {' | '.join(map(markdown, fields))} | {_text(row.asked)} |"
    yield ""
    for note, number in numbers.items():
        cause = f": {_text(note.cause)}" if note.cause else ""
        yield f"- {number}: {markdown_code(clipped(note.words, _TEXT))}, {_text(note.fingerprint or UNKNOWN)}{cause}"
    if len(found.rows) > len(rows):
        yield f"- and {headlines.plural(sum(len(row.names) for row in found.rows[len(rows) :]), 'more environment')}"
    yield ""


def _starts(row: BareToolRow, numbers: Mapping[Note, int]) -> list[str]:
    return [" ".join(token(field, numbers) for field in side) or " " for side in row.codex]


def _quiet(states: Mapping[Key, Record], suites: SuiteIndex) -> Iterator[str]:
    for cause in causes.quiet(states, suites):
        deviation = f" [{cause.first.deviation}]" if cause.first.deviation else ""
        shown = f"{cause.first.reason or 'no reason given'}{deviation}: {headlines.shortened_list(cause.promises)}"
        yield f"- {_sign(cause.verdict)} {len(cause.records):,}: {_text(shown)}"
        yield from (f"  - because {_text(because)}" for because in cause.measured)


def _text(text: str) -> str:
    return markdown(clipped(text, _TEXT))
