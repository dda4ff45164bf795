"""HTML evidence: the texts below the matrix of the HTML page: causes, promises with evidence, machines. It decides
nothing."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.model.journal_lines import CallLine, PromiseRow
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Diagnosis, Evidence, Record
from pytest_codexsandbox.model.verdict import WORST_FIRST, Verdict
from pytest_codexsandbox.reports.cause_scope import Locations
from pytest_codexsandbox.reports.causes import Calls, Cause
from pytest_codexsandbox.reports.diff_lines import SIGNS, WORDS, lines_of
from pytest_codexsandbox.reports.escape import clipped
from pytest_codexsandbox.reports.generator_tally import paste
from pytest_codexsandbox.reports.headlines import plural, shortened_list
from pytest_codexsandbox.reports.html_matrix import Sign, sign_of
from pytest_codexsandbox.reports.terminal_causes import again

TEXT: Final = 4_000  # characters of one text; the journal has all of it
_DIFF: Final = 40  # lines
_WIDE: Final = 300  # characters of one line
_ROWS: Final = 8  # rows of evidence of one result
_CASES: Final = 12
_RESULTS: Final = 25  # different stories of one promise


class DiffLine(msgspec.Struct, frozen=True):
    """One line of a diff, with its author as a style, a sign and a word."""

    style: str
    sign: str
    word: str
    text: str


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """One row of evidence with its control."""

    claim: str
    control: str
    control_held: bool
    saw: str
    held: bool
    diff: tuple[DiffLine, ...] = ()


class ToldCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of Codex or of a control."""

    name: str
    command: str
    cwd: str
    ended: str
    stdout: str
    stderr: str


class EvidenceBlock(msgspec.Struct, frozen=True, kw_only=True):
    anchor: str
    sign: Sign
    heading: str
    promises: tuple[str, ...]
    where: tuple[str, ...]
    reason: str
    pairs: tuple[Pair, ...]
    diagnosis: Diagnosis | None
    link: str
    repro: str
    again: str
    calls: tuple[ToldCall, ...]
    cases: str = ""  # for a generator: the cases


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """Results of one promise with the same evidence."""

    sign: Sign
    where: tuple[str, ...]
    reason: str
    pairs: tuple[Pair, ...]


class PromiseText(msgspec.Struct, frozen=True, kw_only=True):
    row: PromiseRow
    anchor: str
    link: str
    stories: tuple[Story, ...]
    more: int


def block(
    cause: Cause, number: int, *, calls: Calls, places: Locations, journal: ReadJournal, folder: Path | None
) -> EvidenceBlock:
    record = (*cause.starts, cause.first)[0]
    script = record.repro or next((call.repro for call in calls.all_of(record) if call.repro), "")
    alone = again(journal.run.invocation, cause.promises[:3], keys=journal.plan.keys)
    words = alone if cause.verdict is not Verdict.BLOCKED else ()
    words = (paste(journal, record) or words) if words else words
    diagnosis = cause.diagnosis
    return EvidenceBlock(
        anchor=f"cause-{number}",
        sign=sign_of(Verdict.VIOLATES if cause.starts else cause.verdict),
        heading=_heading(cause),
        promises=cause.promises,
        where=tuple(places.of(cause.records)[:20]),
        reason=clipped(record.reason, TEXT),
        pairs=pairs(record.evidence),
        diagnosis=diagnosis,
        link=web(diagnosis.link) if diagnosis else "",
        repro=f"sh {shlex.quote(str(folder / script if folder else script))}" if script else "",
        again=shlex.join(words),
        calls=tuple(told_call(call) for call in calls.all_of(record)[:4]),
        cases=shortened_list(cause.cases, _CASES),
    )


def _heading(cause: Cause) -> str:
    count = plural(len(cause.records), "result")
    if cause.verdict is Verdict.BLOCKED:
        return f"{cause.what_blocks}: {count} blocked"
    if cause.first.attempt == 0:
        return f"planned and never run: {count}"
    return f"{cause.direction or cause.verdict.value}: {f'{cause.word}, ' if cause.word else ''}{cause.counted}"


def pairs(rows: Sequence[Evidence]) -> tuple[Pair, ...]:
    """Returns rows of evidence; the rows that decided come first."""
    order = sorted(rows, key=lambda row: row.held and row.control_held)
    return tuple(
        Pair(
            claim=clipped(row.claim, TEXT),
            control=clipped(row.control, TEXT) or "there was no control",
            control_held=row.control_held,
            saw=clipped(row.saw or row.reason, TEXT),
            held=row.held,
            diff=diff_lines(row),
        )
        for row in order[:_ROWS]
    )


def diff_lines(row: Evidence) -> tuple[DiffLine, ...]:
    """Returns a bounded number of lines; the journal has all of them."""
    found = lines_of(row.diff)
    shown = [DiffLine(kind, SIGNS[kind], WORDS[kind], clipped(text, _WIDE)) for kind, text in found[:_DIFF]]
    more = len(found) - len(shown)
    return (*shown, DiffLine("place", " ", "", f"… {plural(more, 'more line')}")) if more > 0 else tuple(shown)


def told_call(call: CallLine) -> ToldCall:
    seen = call.observation
    name = f"without a sandbox ({seen.door})" if call.control else f"{seen.door} under {seen.policy}"
    ended = f"{seen.ended} {seen.code}" if seen.ended in ("exit", "signal") else f"{seen.ended} {seen.error}".strip()
    return ToldCall(
        name=name,
        command=clipped(shlex.join(seen.argv), TEXT),
        cwd=clipped(seen.cwd, TEXT),
        ended=f"{ended}, {seen.seconds:.2f} s",
        stdout=clipped(seen.stdout, TEXT),
        stderr=clipped(seen.stderr, TEXT),
    )


def promise_texts(
    journal: ReadJournal, states: Mapping[Key, Record], anchors: Mapping[str, str], places: Locations
) -> dict[str, list[PromiseText]]:
    """Returns the promises by topic. A promise without results is left out."""
    records: dict[str, list[Record]] = {}
    for key, record in states.items():
        records.setdefault(key.promise, []).append(record)
    rows = {row.id: row for row in journal.plan.promises}
    found: dict[str, list[PromiseText]] = {}
    for promise in anchors:
        row = rows.get(promise) or _unknown(promise)
        stories, more = _stories(records.get(promise, []), places)
        text = PromiseText(row=row, anchor=anchors[promise], link=web(row.source), stories=tuple(stories), more=more)
        found.setdefault(promise.partition(".")[0], []).append(text)
    return found


def _unknown(promise: str) -> PromiseRow:
    return PromiseRow(id=promise, title="", kind="claim", severity="low", needs="", source="")


def _stories(records: Iterable[Record], places: Locations) -> tuple[list[Story], int]:
    """Returns the stories to show, worst first, and how many more there are."""
    alike: dict[object, list[Record]] = {}
    for record in records:
        rows = tuple((row.claim, row.control, row.saw, row.held) for row in record.evidence)
        alike.setdefault((record.verdict, "" if rows else record.reason, rows), []).append(record)
    members = sorted(alike.values(), key=lambda same: WORST_FIRST.index(same[0].verdict))
    shown = [
        Story(
            sign=sign_of(same[0].verdict),
            where=tuple(_where(same, places)),
            reason=clipped(same[0].reason, TEXT),
            pairs=pairs(same[0].evidence),
        )
        for same in members[:_RESULTS]
    ]
    return shown, len(members) - len(shown)


def _where(records: Sequence[Record], places: Locations) -> list[str]:
    named = (record.key for record in records if record.key.case and places.suites.stands_alone(record.key))
    cases = dict.fromkeys(key.case for key in named)
    shown = [f"{plural(len(cases), 'case')}: {shortened_list(cases, _CASES)}"] if cases else []
    return [*places.of(records)[:6], *shown]


def web(link: str) -> str:
    """Returns an address that is safe to link; "" for any other text."""
    return link if link.startswith(("https://", "http://")) and not any(sign.isspace() for sign in link) else ""


def flat(facts: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Returns facts as lines; nested names are joined by dots."""
    lines: list[tuple[str, str]] = []
    for name, value in facts.items():
        if isinstance(value, Mapping):
            lines += flat(value, f"{prefix}{name}.")
        else:
            words = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            lines.append((f"{prefix}{name}", clipped(words, TEXT)))
    return lines
