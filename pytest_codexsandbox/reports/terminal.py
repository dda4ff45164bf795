"""Terminal report: the closing screen of a run: head, matrix, legend, counts, then one block for each cause. Pure
text."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import RED, SIGNS, WORDS, Verdict
from pytest_codexsandbox.reports import bare_tools, causes, coverage_text, headlines, terminal_bare_tools
from pytest_codexsandbox.reports.cause_scope import places
from pytest_codexsandbox.reports.escape import ascii_only, clipped
from pytest_codexsandbox.reports.generator_tally import measured, paste
from pytest_codexsandbox.reports.grid import grid
from pytest_codexsandbox.reports.readme_line import ASCII, summaries
from pytest_codexsandbox.reports.readme_line import SIGNS as SIGNS_OF_ANSWERS
from pytest_codexsandbox.reports.readme_line import line as readme_line
from pytest_codexsandbox.reports.terminal_causes import CauseBlocks, again
from pytest_codexsandbox.reports.terminal_matrix import matrix
from pytest_codexsandbox.reports.terminal_style import LONGEST, Paint

NARROWEST: Final = 40
_MACHINES: Final = 4
_NAMED: Final = 3
_REASONS: Final = 5
_STRICT: Final = 8  # promises named for each reason that a strict run does not accept
_GREY_LINES: Final = 8  # reasons shown for what does not apply
_GREY: Final = 160  # characters of a reason that needs no action


def render(
    journal: ReadJournal, *, width: int, color: bool, ascii: bool, verbosity: int = 0, folder: Path | None = None
) -> str:
    """Returns the closing screen. `folder`: of the run's files, for the paths that are printed."""
    paint = Paint(width=max(width, NARROWEST), color=color, ascii=ascii)
    states = journal.states()
    table = grid(journal, states)
    teller = CauseBlocks(
        paint=paint,
        calls=causes.Calls(journal),
        places=places(journal.plan.cells, table),
        titles={promise.id: promise.title for promise in journal.plan.promises},
        again=journal.run.invocation,
        folder=folder,
        verbosity=verbosity,
        keys=journal.plan.keys,
        paste=partial(paste, journal),
    )
    found = causes.loud(states, table.suites)
    lines = [
        *_head(journal, states, paint, verbosity),
        *matrix(table, journal.plan.cells, paint, verbosity=verbosity),
        "",
        *_legend(states, paint),
        *_counts(journal, states, paint),
        *_generators(journal, states, paint),
        *_breadth(journal, states, paint),
        *_posture(journal, paint),
        *_grey(causes.quiet(states, table.suites), teller),
        *_attempts(journal, paint),
        *teller.blocks(found),
        *terminal_bare_tools.block(bare_tools.view(journal, states), paint, verbosity=verbosity),
        *_foot(journal, states, found, paint, folder, every=verbosity > 0),
    ]
    text = "\n".join(line.rstrip() for line in lines)
    return (ascii_only(text) if ascii else text) + "\n"


def _head(journal: ReadJournal, states: Mapping[Key, Record], paint: Paint, verbosity: int) -> list[str]:
    wrong = filter(None, (headlines.incomplete(journal, states), headlines.not_rejudged(journal)))
    lines = [paint.coloured(line, Verdict.BROKEN) for words in wrong for line in paint.wrapped(words)]
    lines += paint.wrapped(f"{journal.run.product or 'codexsandbox'} · {headlines.codex(journal)}")
    lines += [line for words in headlines.believed(journal, states) for line in paint.wrapped(words)]
    for machine in headlines.machines(journal) if verbosity else coverage_text.environments(journal, _MACHINES):
        lines += paint.wrapped(machine)
    lines += [
        paint.coloured(line, Verdict.BROKEN) for shown in headlines.changed(journal) for line in paint.wrapped(shown)
    ]
    return [*lines, *paint.wrapped(headlines.plan(journal))]


def _legend(states: Mapping[Key, Record], paint: Paint) -> list[str]:
    """Returns the legend with only the signs that occur."""
    occurring = {record.verdict for record in states.values()}
    words = [f" {sign} {WORDS[verdict]}" for verdict, sign in SIGNS.items() if verdict in occurring]
    return paint.wrapped(["legend", *words], indent=" " * 7)


def _counts(journal: ReadJournal, states: Mapping[Key, Record], paint: Paint) -> list[str]:
    return [paint.bold(line) for line in paint.wrapped(headlines.counts(journal, states))]


def _generators(journal: ReadJournal, states: Mapping[Key, Record], paint: Paint) -> list[str]:
    """Returns a line for each generator that was checked, as its README may have it."""
    every = summaries(journal, measured(journal, states), headlines.doubt(journal, states))
    shown = [one for one in every if one.counts]
    return [
        line for one in shown for line in paint.wrapped(readme_line(one, ASCII if paint.ascii else SIGNS_OF_ANSWERS))
    ]


def _breadth(journal: ReadJournal, states: Mapping[Key, Record], paint: Paint) -> list[str]:
    wide = (*coverage_text.pairs(journal, states), *coverage_text.without_sandbox(journal, states))
    lines = [line for shown in wide for line in paint.wrapped(shown)]
    missing = [line for shown in coverage_text.not_had(journal) for line in paint.wrapped(shown)]
    return [*lines, *(paint.coloured(line, Verdict.BROKEN) for line in missing)]


def _posture(journal: ReadJournal, paint: Paint) -> list[str]:
    return [line for way in headlines.posture(journal) for line in paint.wrapped(f"sandbox: {way}")]


def _grey(found: list[causes.Cause], teller: CauseBlocks) -> list[str]:
    """Returns known deviations and what does not apply: one line for each reason."""
    lines: list[str] = []
    known = [cause for cause in found if cause.verdict is Verdict.EXPECTED]
    others = [cause for cause in found if cause.verdict is not Verdict.EXPECTED]
    limit = len(others) if teller.verbosity or len(others) <= _GREY_LINES else _GREY_LINES
    shown = others if limit == len(others) else sorted(others, key=lambda cause: -len(cause.records))[:limit]
    for cause in (*known, *shown):
        name = f" [{cause.first.deviation}]" if cause.first.deviation else ""
        promises = headlines.shortened_list(cause.promises, len(cause.promises) if teller.verbosity else 2)
        word = "known" if cause.verdict is Verdict.EXPECTED else "n/a"
        whole = cause.first.reason or "no reason given"
        reason = clipped(whole, LONGEST) if teller.verbosity else clipped(whole.partition("; promised: ")[0], _GREY)
        text = f"{len(cause.records):,} {word}{name}: {promises}: {reason}"
        lines += teller.paint.wrapped(text, first=f"{SIGNS[cause.verdict]} ")
        for because in cause.measured if teller.verbosity else ():
            lines += teller.paint.labelled("because", because)
    more = len(others) - limit
    count = sum(len(cause.records) for cause in others) - sum(len(cause.records) for cause in shown)
    return [*lines, f"- {count:,} more n/a, for {headlines.plural(more, 'other reason')} (-v)"] if more else lines


def _attempts(journal: ReadJournal, paint: Paint) -> list[str]:
    """Returns keys that were measured more than once with different verdicts, because only the worst counts. A result
    that the end of the run made stale was not measured again."""
    verdicts: dict[Key, list[str]] = {}
    for record in journal.records:
        if record.verdict is not Verdict.STALE:
            verdicts.setdefault(record.key, []).append(record.verdict.value)
    changing = {key: shown for key, shown in verdicts.items() if len(set(shown)) > 1}
    lines: list[str] = []
    for key, shown in list(changing.items())[:5]:
        lines += paint.wrapped(f"attempts differ, the worst counts: {key}: {', '.join(shown)}")
    return [*lines, f"and {len(changing) - 5:,} more keys whose attempts differ"] if len(changing) > 5 else lines


def _foot(
    journal: ReadJournal,
    states: Mapping[Key, Record],
    found: list[causes.Cause],
    paint: Paint,
    folder: Path | None,
    *,
    every: bool,
) -> list[str]:
    lines = [""]
    for shown in coverage_text.left_out(journal, _REASONS, every=every):
        lines += paint.wrapped(shown)
    end = journal.end
    for leak in end.leaks if end else ():
        lines += paint.wrapped(f"left behind by codexsandbox itself: {leak}")
    if end and end.leaks:
        lines += paint.wrapped("try to remove it: codexsandbox sweep")
    for place, reason in enumerate(end.reasons if end else ()):
        code, _, words = reason.partition(" ")
        lines += paint.wrapped(f"{'also' if place else 'exit'} {code}: {words}")
    for shown in headlines.strict(journal, states, len(states) if every else _STRICT):
        lines += paint.wrapped(shown)
    lines += [f"evidence: {paint.text(str(folder))}"] if folder else []  # one line, however wide, because users copy it
    red = [promise for cause in found if cause.verdict in RED for promise in cause.promises]
    if not red:
        return lines
    narrowed = () if end is None else _few(red)
    return [
        *lines,
        *paint.command("again:", again(journal.run.invocation, narrowed, keys=journal.plan.keys), margin=""),
    ]


def _few(promises: list[str]) -> tuple[str, ...]:
    """Returns a selection that a person can read: the promises, or their topics if there are many."""
    names = tuple(dict.fromkeys(promises))
    return names if len(names) <= _NAMED else tuple(dict.fromkeys(f"{name.partition('.')[0]}.*" for name in names))
