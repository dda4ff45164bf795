"""Report by generator: for each generator its counts by topic, its violations by reason, and the line for its README.
As text, as Markdown, as data."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import RED, Verdict
from pytest_codexsandbox.model.verdict import SIGNS as SIGNS_OF
from pytest_codexsandbox.reports import headlines, readme_block
from pytest_codexsandbox.reports.consequences import split, worst
from pytest_codexsandbox.reports.escape import ascii_only, clipped, markdown, markdown_block, markdown_code
from pytest_codexsandbox.reports.generator_tally import Measured, measured, tally
from pytest_codexsandbox.reports.readme_line import ASCII, NOT_TOLD, SIGNS, Summary, line, summaries
from pytest_codexsandbox.reports.terminal_style import Paint

SUITE: Final = "what Codex does"  # the suite of any cell, run with the generator's files
_COLUMNS: Final = (
    (Verdict.CONFORMS, "conforms"), (Verdict.UNCONFINED, "unconfined"), (Verdict.VIOLATES, "violates"),
    (Verdict.EXPECTED, "known"), (Verdict.STALE, "stale"), (Verdict.BLOCKED, "blocked"), (Verdict.BROKEN, "broken"),
    (Verdict.NOT_APPLICABLE, "n/a"),
)  # fmt: skip
_NONE: Final = "no generator was measured in this run: pytest --codex-matrix --codex-generator 'mytool --out @CONFIG@'"
_CASES: Final = 3
_PROMISES: Final = 2
_UNMEASURED: Final = 5
_DOUBT: Final = 300  # characters


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """A reason of violations, and the results that have it."""

    word: str
    direction: str
    records: tuple[Record, ...]
    following: tuple[Record, ...] = ()  # results of Codex that follow from the same fault

    @property
    def promises(self) -> list[str]:
        return list(dict.fromkeys(record.key.promise for record in self.records))

    @property
    def cases(self) -> list[str]:
        return list(dict.fromkeys(record.key.case for record in self.records if record.key.case))


class Table(msgspec.Struct, frozen=True, kw_only=True):
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class GeneratorBlock(msgspec.Struct, frozen=True, kw_only=True):
    """The report about one generator."""

    summary: Summary
    where: str
    table: Table
    reasons: tuple[Reason, ...]
    unmeasured: tuple[tuple[Verdict, str], ...]  # reasons why something was not measured, with counts


def blocks(journal: ReadJournal) -> list[GeneratorBlock]:
    states = journal.states()
    found = measured(journal, states)
    shown = summaries(journal, found, headlines.doubt(journal, states))
    return [_block(summary, [one for one in found if one.row.name == summary.name]) for summary in shown]


def _block(summary: Summary, cells: Sequence[Measured]) -> GeneratorBlock:
    return GeneratorBlock(
        summary=summary,
        where=_where(summary, cells),
        table=_table(cells),
        reasons=tuple(_reasons(cells)),
        unmeasured=tuple(_unmeasured(cells)),
    )


def _where(summary: Summary, cells: Sequence[Measured]) -> str:
    environments = headlines.shortened_list(dict.fromkeys(cell.cell.environment for cell in cells))
    confined = f"confined by {summary.confined}" if summary.confined else "UNCONFINED"
    cases = f"{summary.cases:,} of {summary.corpus:,} cases"
    return f"Codex {headlines.shortened_list(summary.codex, 8)} on {environments}; {confined}; {cases}; {summary.date}"


def _table(cells: Sequence[Measured]) -> Table:
    topics: dict[str, list[Record]] = {}
    for cell in cells:
        for topic, records in cell.topics().items():
            topics.setdefault(topic, []).extend(records)
    suite = [record for cell in cells for record in cell.suite]
    counted = {name: tally(records) for name, records in {**topics, SUITE: suite}.items() if records}
    shown = [(verdict, word) for verdict, word in _COLUMNS if any(one[verdict] for one in counted.values())]
    return Table(
        heads=("checks", *(word for _, word in shown)),
        rows=tuple(
            (name, f"{one.total:,}", *(_count(one[verdict], one.leaks, verdict) for verdict, _ in shown))
            for name, one in counted.items()
        ),
    )


def _count(count: int, leaks: int, verdict: Verdict) -> str:
    return f"{count:,} ({leaks:,} leak)" if verdict is Verdict.VIOLATES and leaks else f"{count:,}"


def _reasons(cells: Sequence[Measured]) -> Iterator[Reason]:
    """Yields the reasons: leaks first, then the most frequent ones."""
    found: dict[tuple[str, bool], list[Record]] = {}
    for cell in cells:
        for word, records in cell.reasons().items():
            for record in records:
                found.setdefault((word, record.direction == "leak"), []).append(record)
    order = sorted(found, key=lambda name: (not name[1], -len(found[name]), name))
    for word, leak in order:
        direct, following = split(found[word, leak], cells[0].suites)
        yield Reason(word=word, direction=worst(found[word, leak]), records=direct, following=following)


def _unmeasured(cells: Sequence[Measured]) -> Iterator[tuple[Verdict, str]]:
    found: dict[tuple[Verdict, str], int] = {}
    for cell in cells:
        for record in (*cell.records, *cell.suite):
            if record.verdict in (Verdict.BROKEN, Verdict.BLOCKED):
                name = (record.verdict, clipped(record.reason, 200))
                found[name] = found.get(name, 0) + 1
    yield from ((verdict, f"{count:,} {verdict.value}: {why}") for (verdict, why), count in found.items())


# ---- on the screen
def render(journal: ReadJournal, *, width: int, color: bool, ascii: bool) -> str:
    paint = Paint(width=max(width, 40), color=color, ascii=ascii)
    summary = blocks(journal)
    lines = [part for block in summary for part in (*_shown(block, paint), "")] or [_NONE]
    text = "\n".join(one.rstrip() for one in lines).rstrip("\n")
    return (ascii_only(text) if ascii else text) + "\n"


def _shown(block: GeneratorBlock, paint: Paint) -> Iterator[str]:
    summary = block.summary
    red = any(summary.counts.get(verdict.value) for verdict in RED) or bool(summary.doubt)
    head = paint.wrapped(f"{summary.name} {summary.version}".rstrip())
    yield from (paint.coloured(one, Verdict.VIOLATES) if red else paint.bold(one) for one in head)
    yield from paint.labelled("called", summary.spec)
    yield from paint.labelled("measured", block.where)
    if not summary.receives_request:
        yield from paint.labelled("given", NOT_TOLD)
    if summary.doubt:
        yield from paint.labelled("in doubt", clipped(summary.doubt, _DOUBT))
    yield from _aligned(block.table, paint)
    for reason in block.reasons:
        yield from paint.wrapped(
            f"{headlines.plural(len(reason.records), 'check')} {reason.direction}, {reason.word}: "
            f"{headlines.shortened_list(reason.promises, _PROMISES)}" + _in_cases(reason) + _follow(reason),
            first="   F ",
            indent=" " * 5,
        )
    for verdict, why in block.unmeasured[:_UNMEASURED]:
        yield from paint.wrapped(why, first=f"   {SIGNS_OF[verdict]} ", indent=" " * 5)
    yield from ("", line(summary, ASCII if paint.ascii else SIGNS))  # one line, however wide, because users copy it


def _in_cases(reason: Reason) -> str:
    return f" ({headlines.shortened_list(reason.cases, _CASES)})" if reason.cases else ""


def _follow(reason: Reason) -> str:
    return f"; {headlines.plural(len(reason.following), 'more check')} of Codex with it" if reason.following else ""


def _aligned(table: Table, paint: Paint) -> Iterator[str]:
    """Yields a table. If the screen is too narrow, each number is next to its column's name."""
    wide = [max(map(len, column)) for column in zip(("", *table.heads), *table.rows, strict=True)]
    if 3 + sum(wide) + 2 * len(table.heads) > paint.width:
        for name, *counts in table.rows:
            terms = (f"{count} {head}" for head, count in zip(table.heads, counts, strict=True) if count != "0")
            yield from paint.labelled(name, ", ".join(terms))
        return
    for name, *counts in (("", *table.heads), *table.rows):
        yield f"   {name:<{wide[0]}}" + "".join(
            f"  {paint.text(count):>{width}}" for count, width in zip(counts, wide[1:], strict=True)
        )


# ---- as Markdown
def markdown_of(journal: ReadJournal) -> str:
    summary = blocks(journal)
    if not summary:
        return f"{markdown(_NONE)}\n"
    return "\n".join(part for block in summary for part in marked(block)).rstrip() + "\n"


def marked(block: GeneratorBlock, level: str = "##") -> Iterator[str]:
    summary = block.summary
    yield f"{level} {markdown(f'{summary.name} {summary.version}'.rstrip())}"
    yield ""
    yield markdown_block(line(summary))
    yield ""
    yield f"- called: {markdown_code(clipped(summary.spec, 300))}"
    yield f"- measured: {markdown(block.where)}"
    if not summary.receives_request:
        yield f"- given: {markdown(NOT_TOLD)}"
    if summary.doubt:
        yield f"- **in doubt: {markdown(clipped(summary.doubt, 500))}**"
    yield ""
    yield f"| | {' | '.join(block.table.heads)} |"
    yield "|---|" + "--:|" * len(block.table.heads)
    yield from (f"| {' | '.join(map(markdown, row))} |" for row in block.table.rows)
    yield ""
    for reason in block.reasons:
        shown = f"{headlines.shortened_list(reason.promises, 4)}{_in_cases(reason)}{_follow(reason)}"
        yield f"- **F** {len(reason.records):,} {reason.direction}, {markdown_code(reason.word)}: {markdown(shown)}"
    yield from (f"- **{SIGNS_OF[verdict]}** {markdown(why)}" for verdict, why in block.unmeasured[:_UNMEASURED])
    yield ""


def readme_of(journal: ReadJournal) -> str:
    """Returns one block for each generator, which its author may paste into a README."""
    return "\n".join(readme_block.block(one.summary) for one in blocks(journal)) or f"{markdown(_NONE)}\n"


# ---- as data
def as_data(found: Sequence[GeneratorBlock]) -> list[dict[str, object]]:
    return [
        {
            **msgspec.to_builtins(block.summary),
            "line": line(block.summary),
            "reasons": [_reason(reason) for reason in block.reasons],
            "not_measured": [why for _, why in block.unmeasured],
        }
        for block in found
    ]


def _reason(reason: Reason) -> Mapping[str, object]:
    return {
        "reason": reason.word,
        "direction": reason.direction,
        "results": len(reason.records),
        "promises": reason.promises,
        "cases": reason.cases,
        "following": len(reason.following),
    }
