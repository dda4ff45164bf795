"""HTML report: one page without scripts or requests, which works from disk and in print.

Two steps protect every value in the template: invisible characters are spelled out, then Jinja escapes. The page's
content policy forbids everything but its one style sheet, so that a hole in both would still do nothing.
"""

import base64
import hashlib
import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import jinja2
from markupsafe import Markup, escape

from pytest_codexsandbox.model.ledger import ReadJournal, known_without_sandbox
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import RED, SIGNS, WORDS
from pytest_codexsandbox.reports import bare_tools, causes, coverage_text, headlines
from pytest_codexsandbox.reports.by_generator import blocks
from pytest_codexsandbox.reports.cause_scope import Locations, places
from pytest_codexsandbox.reports.escape import visible, visible_lines
from pytest_codexsandbox.reports.generator_tally import measured
from pytest_codexsandbox.reports.grid import Grid, grid
from pytest_codexsandbox.reports.html_evidence import block, flat, promise_texts
from pytest_codexsandbox.reports.html_generators import GeneratorText, texts
from pytest_codexsandbox.reports.html_matrix import CLASSES, headings, sign_of, topics
from pytest_codexsandbox.reports.terminal_causes import again
from pytest_codexsandbox.reports.text_file import write_text

_MACHINES: Final = 8
_PAGE: Final = Path(__file__).parent / "page"


class HtmlReporter:
    name, file_name = "html", "index.html"

    def render(self, journal: ReadJournal, out_dir: Path, *, run_dir: Path) -> None:
        write_text(out_dir / self.file_name, render(journal, run_dir))


def render(journal: ReadJournal, folder: Path | None) -> str:
    states = journal.states()
    table = grid(journal, states)
    where = places(journal.plan.cells, table)
    style = Markup((_PAGE / "style.css").read_text(encoding="utf-8"))
    return _template().render(
        style=style,
        style_hash=_hash(style),
        **_head(journal, states),
        **_told(journal, states, where, folder),
        **_matrix(journal, states, table, where),
        generators=_generators(journal, states),
        alone=_alone(journal, states),
    )


def _hash(style: str) -> str:
    return base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_PAGE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_spelled,
    )
    environment.filters["lines"] = _lines
    return environment.get_template("report.html.j2")


def _spelled(value: Any) -> Any:
    return visible(value) if type(value) is str else value


def _lines(text: str) -> Markup:
    """Returns a program's output with its line ends."""
    return Markup("\n").join(escape(line) for line in visible_lines(text.rstrip("\n")))


def _head(journal: ReadJournal, states: Mapping[Key, Record]) -> dict[str, Any]:
    red = sum(1 for record in states.values() if record.verdict in RED)
    missing = headlines.incomplete(journal, states)
    return {
        "product": journal.run.product or "codexsandbox",
        "started": journal.run.started,
        "run": journal.run,
        "incomplete": missing,
        "not_rejudged": headlines.not_rejudged(journal),
        "headline": _headline(journal, states, red, missing),
        "mood": "red" if red or (journal.end and journal.end.exit) or missing or journal.not_rejudged else "green",
        "codex": headlines.codex(journal),
        "plan": headlines.plan(journal).removeprefix("plan: "),
        "equation": headlines.counts(journal, states),
        "reasons": [reason.partition(" ")[::2] for reason in journal.end.reasons] if journal.end else [],
        "strict": headlines.strict(journal, states, len(states)),
        "posture": [*headlines.posture(journal), *headlines.believed(journal, states)],
        "again": shlex.join(again(journal.run.invocation, ())),
    }


def _headline(journal: ReadJournal, states: Mapping[Key, Record], red: int, missing: str) -> str:
    if missing:
        return "Not everything that was planned was measured"
    if red:
        return f"{headlines.plural(red, 'result')} need{'s' if red == 1 else ''} attention"
    if journal.end and journal.end.exit:
        return "No promise was violated, and yet this is not a success"
    if journal.not_rejudged:
        return "No result is red, and not every result was re-judged"
    known = journal.counts()["expected"]
    refused = len(known_without_sandbox(states.values()))
    if refused:
        cells = f"{refused:,} of {headlines.plural(len(journal.plan.cells), 'cell')}"
        return f"As promised, but for {headlines.plural(known, 'known deviation')}, and without any sandbox in {cells}"
    if known:
        return f"As promised, but for {headlines.plural(known, 'known deviation')}"
    return "Everything that was measured is as promised"


def _matrix(journal: ReadJournal, states: Mapping[Key, Record], table: Grid, where: Locations) -> dict[str, Any]:
    links = {
        id(record): f"cause-{number}"
        for number, cause in enumerate(causes.loud(states, table.suites), 1)
        for record in (*cause.records, *cause.starts)
    }
    anchors = _anchors(table)
    occurring = {record.verdict for record in states.values()}
    counted = {verdict: 0 for verdict in SIGNS if verdict in occurring}
    for record in states.values():
        counted[record.verdict] += 1
    return {
        "legend": [(sign_of(verdict), f"{count:,}", WORDS[verdict]) for verdict, count in counted.items()],
        "headings": headings(table, where),
        "topics": topics(table, links, anchors),
        "promises": promise_texts(journal, states, anchors, where),
        "classes": CLASSES,
    }


def _generators(journal: ReadJournal, states: Mapping[Key, Record]) -> list[GeneratorText]:
    found = measured(journal, states)
    return texts(journal, found, blocks(journal)) if found else []


def _alone(journal: ReadJournal, states: Mapping[Key, Record]) -> dict[str, Any] | None:
    found = bare_tools.view(journal, states)
    if found is None:
        return None
    return {"view": found, "headings": bare_tools.headings(found), "numbers": bare_tools.numbered(found.rows)}


def _anchors(table: Grid) -> dict[str, str]:
    names = dict.fromkeys(row.promise for row in table.rows)
    return {promise: f"promise-{number}" for number, promise in enumerate(names, 1)}


def _told(journal: ReadJournal, states: Mapping[Key, Record], where: Locations, folder: Path | None) -> dict[str, Any]:
    calls = causes.Calls(journal)
    found = causes.loud(states, where.suites)
    return {
        "blocks": [
            block(cause, number, calls=calls, places=where, journal=journal, folder=folder)
            for number, cause in enumerate(found, 1)
        ],
        "quiet": [
            (
                sign_of(cause.verdict),
                f"{len(cause.records):,}",
                cause.first,
                cause.promises,
                cause.measured,
            )
            for cause in causes.quiet(states, where.suites)
        ],
        "cells": [(where.names[cell.id], cell) for cell in journal.plan.cells],
        "machines": coverage_text.environments(journal, _MACHINES),
        "pairs_told": [*coverage_text.pairs(journal, states), *coverage_text.without_sandbox(journal, states)],
        "not_had": [*headlines.changed(journal), *coverage_text.not_had(journal)],
        "environments": [(line.spec, flat(line.facts)) for line in {e.spec: e for e in journal.environments}.values()],
        "subjects": [(line, flat(line.facts)) for line in {s.label: s for s in journal.subjects}.values()],
        "not_planned": journal.plan.not_planned,
        "leaks": journal.end.leaks if journal.end else (),
    }
