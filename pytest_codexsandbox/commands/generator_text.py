"""Generator text: the output of `codexsandbox generator try`. Pure text."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.generators.checks.findings import difference
from pytest_codexsandbox.model.generator import CONFIG, Claim
from pytest_codexsandbox.model.journal_lines import StoryLine
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.story_log import SHOWN
from pytest_codexsandbox.model.suite_index import SuiteIndex
from pytest_codexsandbox.model.verdict import SIGNS, WORST_FIRST, Verdict
from pytest_codexsandbox.reports.consequences import split
from pytest_codexsandbox.reports.diff_lines import lines_of
from pytest_codexsandbox.reports.generator_tally import word_of
from pytest_codexsandbox.reports.headlines import plural, shortened_list
from pytest_codexsandbox.reports.html_generators import asked_of, claimed, ran, written_by
from pytest_codexsandbox.reports.terminal_style import Paint

_DIFF: Final = 16  # lines
_MARGIN: Final = 13
_NAMES: Final = 2
_WORDS: Final = {
    Verdict.CONFORMS: "hold",
    Verdict.BLOCKED: "blocked",
    Verdict.NOT_APPLICABLE: "not checked",
    Verdict.BROKEN: "unknown",
}


class Head(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    codex: str
    confined: str
    corpus: int  # cases that there are
    spec: str
    which: tuple[str, ...] = ()  # options: which Codex, where it is not the installed one; which container
    matrix: str = ""  # whose cell that container is of


class Case(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    why: str
    records: tuple[Record, ...]
    case_line: StoryLine | None  # None: the case could not be run at all
    claim: Claim | None


def screen(head: Head, cases: Sequence[Case], paint: Paint, *, every: bool) -> list[str]:
    confined = f"confined by {head.confined.partition(' /')[0]}" if head.confined else "WITHOUT confinement"
    lines = paint.wrapped(f"{head.name} · Codex {head.codex} · {confined}")
    for case in cases:
        lines += ["", *_case(case, paint, every=every)]
    whole = ("pytest", f"--codex-matrix{head.matrix and '='}{head.matrix}", *head.which, "--codex-generator", head.spec)
    shown = f"{len(cases)} of {plural(head.corpus, 'case')} shown, none with several writers, a crash or an older shape"
    return [*lines, "", *paint.wrapped(f"{shown}. The whole corpus:"), *paint.command("", whole)]


def _case(case: Case, paint: Paint, *, every: bool) -> Iterator[str]:
    head = paint.wrapped(f"case {case.name}: {case.why}")
    yield paint.bold(head[0])
    yield from head[1:]
    if case.case_line is not None:
        yield from paint.labelled("request", asked_of(case.case_line))
        for number, line in enumerate(_runs(case.case_line)):
            yield from paint.labelled("" if number else "did", line)
        yield from _diff(case.case_line, paint, every=every)
        yield from _said(case.case_line, paint)
    if case.claim is not None:
        yield from paint.labelled("codex", f"says: {claimed(case.claim)}")
    yield from _verdicts(case.records, paint, every=every)


def _runs(case_line: StoryLine) -> list[str]:
    """Yields the runs; joins the second and the third if they change nothing more."""
    first, *more = ran(case_line)
    code = case_line.runs[0].code if case_line.runs else None
    quiet = all(not written_by(run) and run.ended == "exit" and run.code == code for run in case_line.runs[1:])
    if not quiet or not more:
        return [first, *more]
    return [first, f"{'runs 2 and 3' if len(more) == 2 else 'run 2'}: the same, and nothing changes any more"]


def _diff(case_line: StoryLine, paint: Paint, *, every: bool) -> Iterator[str]:
    """Yields the diff of the user's file after the first run."""
    before = case_line.before.get(CONFIG)
    after = case_line.runs[0].changed.get(CONFIG) if case_line.runs else None
    if after is None:
        return
    texts = [(file.text if file is not None else "").encode("latin-1", "replace") for file in (before, after)]
    found = lines_of(difference(*texts))
    if not found:
        return
    limit = len(found) if every else _DIFF
    yield from paint.labelled("diff", "- the user's lines, + the generator's")
    yield from (paint.diff(kind, text, margin=_MARGIN) for kind, text in found[:limit])
    if len(found) > limit:
        yield f"{'':{_MARGIN}}  … {plural(len(found) - limit, 'more line')} (-v)"
    if any(file is not None and file.size > SHOWN for file in (before, after)):
        yield f"{'':{_MARGIN}}  of the first {SHOWN:,} bytes"


def _said(case_line: StoryLine, paint: Paint) -> Iterator[str]:
    run = case_line.runs[0] if case_line.runs else None
    if run is not None and (run.code or run.refused or run.ended != "exit") and (run.stderr or run.stdout).strip():
        yield from paint.labelled("output", (run.stderr.strip() or run.stdout.strip())[:400])


def _verdicts(records: Sequence[Record], paint: Paint, *, every: bool) -> Iterator[str]:
    """Yields violations in full, once for each cause; other records by name, or by reason if they could not be
    tested.
    """
    for alike in _by_cause(records):
        yield from _violated(alike, paint, every=every)
    by_reason: dict[tuple[Verdict, str], list[Record]] = {}
    for record in records:
        if record.verdict is not Verdict.VIOLATES:
            reason = "" if record.verdict is Verdict.CONFORMS else record.reason
            by_reason.setdefault((record.verdict, reason), []).append(record)
    for (verdict, reason), found in sorted(by_reason.items(), key=lambda item: WORST_FIRST.index(item[0][0])):
        yield from _told(verdict, reason, found, paint, every=every)


def _by_cause(records: Sequence[Record]) -> list[list[Record]]:
    """Groups violations by cause, leaks first."""
    found: dict[object, list[Record]] = {}
    for record in records:
        if record.verdict is Verdict.VIOLATES:
            cause = record.diagnosis.cause if record.diagnosis else record.key.promise
            found.setdefault((record.direction == "leak", cause), []).append(record)
    alike = [[one for part in split(records, SuiteIndex()) for one in part] for records in found.values()]
    return sorted(alike, key=lambda records: records[0].direction != "leak")


def _violated(alike: Sequence[Record], paint: Paint, *, every: bool) -> Iterator[str]:
    for record in alike:
        row = record.deciding
        head = f"{SIGNS[record.verdict]} {record.key.promise} {record.direction} ({word_of(record)})"
        yield paint.coloured(head, record.verdict)
        if row is not None and every:
            yield from paint.labelled("promised", row.claim)
            yield from paint.labelled("control", row.control)
        yield from paint.labelled("saw", row.saw if row is not None else record.reason)
    diagnosis = alike[0].diagnosis
    if diagnosis is not None:
        yield from paint.labelled("because", diagnosis.cause)
        yield from paint.labelled("try", diagnosis.remedy) if diagnosis.remedy else ()
        yield from paint.labelled("see", diagnosis.link) if diagnosis.link else ()


def _told(verdict: Verdict, reason: str, found: Sequence[Record], paint: Paint, *, every: bool) -> Iterator[str]:
    sign = f"{paint.sign(verdict)} "
    if every and verdict is Verdict.CONFORMS:
        for one in found:
            yield from paint.wrapped(f"{one.key.promise}: {one.reason}", first=sign)
        return
    names = [one.key.promise for one in found]
    shown = f": {shortened_list(names, len(names) if every else _NAMES)}" if reason else " (-v names them)"
    counted = f"{plural(len(found), 'promise')} {_WORDS.get(verdict, verdict.value)}{shown}"
    yield from paint.wrapped(f"{counted}{f': {reason}' if reason else ''}", first=sign)
