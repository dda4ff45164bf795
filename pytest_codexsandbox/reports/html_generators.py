"""HTML generators: what the HTML page and the Markdown show about generators: promises × cases, and each red case with
its evidence."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Final

import msgspec

from pytest_codexsandbox.model.contents import is_of_codex
from pytest_codexsandbox.model.generator import Claim, Intent
from pytest_codexsandbox.model.journal_lines import StoryLine
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.record import Evidence, Record
from pytest_codexsandbox.model.story_log import LoggedRun
from pytest_codexsandbox.model.verdict import RED, Verdict
from pytest_codexsandbox.reports.by_generator import GeneratorBlock
from pytest_codexsandbox.reports.escape import clipped
from pytest_codexsandbox.reports.generator_tally import Measured, Tally, paste, tally, word_of
from pytest_codexsandbox.reports.grid import worst_of
from pytest_codexsandbox.reports.headlines import shortened_list
from pytest_codexsandbox.reports.html_evidence import DiffLine, ToldCall, diff_lines, told_call
from pytest_codexsandbox.reports.html_matrix import Sign, sign_of
from pytest_codexsandbox.reports.readme_line import NOT_TOLD, line

CASES_IN_FULL: Final = 40  # cases shown of one generator in one cell
TEXT: Final = 1_500
_ROWS: Final = 6  # rows of one case
_CALLS: Final = 2
_DOUBT: Final = 300
_PLAIN: Final = frozenset({Verdict.CONFORMS, Verdict.NOT_APPLICABLE})


class GroupField(msgspec.Struct, frozen=True, kw_only=True):
    """One promise over the cases of a group."""

    sign: Sign
    text: str  # `29`, `27 of 29`


class PromiseLine(msgspec.Struct, frozen=True, kw_only=True):
    promise: str
    title: str
    fields: tuple[GroupField | None, ...]


class Wide(msgspec.Struct, frozen=True, kw_only=True):
    """The cases of a group one by one, for promises that do not hold in all of them."""

    anchor: str
    group: str
    cases: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Sign | None, ...]], ...]


class CaseFinding(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one promise in one case."""

    sign: Sign
    promise: str
    word: str
    claim: str
    saw: str
    control: str
    diff: tuple[DiffLine, ...]


class CaseText(msgspec.Struct, frozen=True, kw_only=True):
    anchor: str
    name: str
    why: str
    asked: str
    runs: tuple[str, ...]
    said: tuple[tuple[str, str], ...]  # (stream, text)
    claim: str
    found: tuple[CaseFinding, ...]
    calls: tuple[ToldCall, ...]
    again: str


class GeneratorText(msgspec.Struct, frozen=True, kw_only=True):
    anchor: str
    name: str
    sign: Sign
    line: str
    where: str
    doubt: str
    groups: tuple[str, ...]
    lines: tuple[PromiseLine, ...]
    wide: tuple[Wide, ...]
    cases: tuple[CaseText, ...]
    more: int  # number of red cases that only the journal shows


def texts(journal: ReadJournal, found: Sequence[Measured], blocks: Sequence[GeneratorBlock]) -> list[GeneratorText]:
    by_name = {block.summary.name: block for block in blocks}
    maker = _Maker(journal)
    return [maker.text(one, by_name[one.row.name]) for one in found]


class _Maker:
    """Builds the texts, and numbers the anchors over the whole page."""

    def __init__(self, journal: ReadJournal) -> None:
        self._journal = journal
        self._why = {case.id: case.why for case in journal.plan.cases}
        self._titles = {row.id: row.title for row in journal.plan.promises}
        self._numbers = {name: count(1) for name in ("generator", "group", "case")}

    def text(self, found: Measured, block: GeneratorBlock) -> GeneratorText:
        red = list(found.red_cases())
        shown = red[:CASES_IN_FULL]
        anchors = {case: self._anchor("case") for case, _ in shown}
        wide = tuple(self._wide(found, anchors))
        confined = f"confined by {found.confined}" if found.confined else "UNCONFINED"
        return GeneratorText(
            anchor=self._anchor("generator"),
            name=f"{found.row.name} {found.version}".rstrip(),
            sign=sign_of(worst_of(found.records) if found.records else Verdict.BROKEN),
            line=line(block.summary),
            where=f"{found.cell.id}, Codex {found.codex}, {confined}",
            doubt=clipped(block.summary.doubt, _DOUBT),
            groups=tuple(found.groups),
            lines=tuple(self._lines(found, {one.group: one for one in wide})),
            wide=wide,
            cases=tuple(self._case(found, case, records, anchors[case]) for case, records in shown),
            more=len(red) - len(shown),
        )

    def _anchor(self, name: str) -> str:
        return f"{name}-{next(self._numbers[name])}"

    def _lines(self, found: Measured, wide: Mapping[str, Wide]) -> Iterator[PromiseLine]:
        for promise, records in found.about.items():
            by_case = {record.key.case: record for record in records}
            fields = tuple(
                _field([by_case[case] for case in cases if case in by_case], wide.get(group))
                for group, cases in found.groups.items()
            )
            yield PromiseLine(promise=promise, title=self._titles.get(promise, ""), fields=fields)

    def _wide(self, found: Measured, anchors: Mapping[str, str]) -> Iterator[Wide]:
        for group, cases in found.groups.items():
            shown = ((promise, _signs(records, cases, anchors)) for promise, records in found.about.items())
            rows = tuple((promise, signs) for promise, signs in shown if signs)
            if rows:
                yield Wide(anchor=self._anchor("group"), group=group, cases=cases, rows=rows)

    def _case(self, found: Measured, case: str, records: Sequence[Record], anchor: str) -> CaseText:
        case_line, claim = found.stories.get(case), found.claims.get(case)
        again = paste(self._journal, records[0])
        return CaseText(
            anchor=anchor,
            name=case or "without a case",
            why=clipped(self._why.get(case, "") or found.why(case), TEXT),
            asked=asked_of(case_line),
            runs=tuple(ran(case_line)),
            said=tuple(_said(case_line)),
            claim=clipped(claimed(claim.claim), TEXT) if claim else "",
            found=tuple(map(_found, records[:_ROWS])),
            calls=tuple(_calls(found, records)),
            again=shlex.join(again),
        )


def _field(records: Sequence[Record], wide: Wide | None) -> GroupField | None:
    """Returns a field. If the promise does not hold everywhere, the field links to its cases one by one."""
    if not records:
        return None
    counted = tally(records)
    one_by_one = wide is not None and any(promise == records[0].key.promise for promise, _ in wide.rows)
    sign = sign_of(worst_of(records), wide.anchor if wide is not None and one_by_one else "")
    return GroupField(sign=sign, text=_short(counted))


def _short(counted: Tally) -> str:
    """Returns `29` if all cases held, else `27 of 29`."""
    held = counted[Verdict.CONFORMS] + counted[Verdict.UNCONFINED]
    return "" if not counted.asked else f"{held:,}" if held == counted.asked else counted.held


def _signs(records: Sequence[Record], cases: Sequence[str], anchors: Mapping[str, str]) -> tuple[Sign | None, ...]:
    """Returns the signs of all cases; nothing if the promise holds in all of them."""
    by_case = {record.key.case: record for record in records}
    if all(by_case[case].verdict in _PLAIN for case in cases if case in by_case):
        return ()
    return tuple(_sign(by_case.get(case), anchors) for case in cases)


def _sign(record: Record | None, anchors: Mapping[str, str]) -> Sign | None:
    if record is None:
        return None
    leads = record.verdict in RED or record.verdict is Verdict.EXPECTED
    return sign_of(record.verdict, anchors.get(record.key.case, "") if leads else "")


def _found(record: Record) -> CaseFinding:
    row = record.deciding or next((row for row in record.evidence if not row.held), None)
    return CaseFinding(
        sign=sign_of(record.verdict),
        promise=record.key.promise,
        word=" ".join(part for part in (record.direction, word_of(record) if record.deciding else "") if part),
        claim=clipped(row.claim, TEXT) if row else "",
        saw=clipped(row.saw if row else record.reason, TEXT),
        control=clipped(row.control, TEXT) if row else "",
        diff=diff_lines(row) if row else (),
    )


# ---- a case in words
def asked_of(case_line: StoryLine | None) -> str:
    if case_line is None:
        return ""
    intent = case_line.wish
    if not case_line.told:
        return clipped(", ".join([NOT_TOLD, *_more(intent)]), TEXT)
    network = {True: "on", False: "off", None: "not mentioned"}[intent.network]
    said = [f"roots {', '.join(intent.roots) or 'none'}", f"network {network}", *_more(intent)]
    return clipped(", ".join(said), TEXT)


def _more(intent: Intent) -> list[str]:
    more = [f"platform {intent.platform}"] if intent.platform != "linux" else []
    more += [f"approval {intent.approval}"] if intent.approval else []
    more += [f"Codex {intent.version or 'without a version'}"] if intent.version is not None else []
    more += [f"{name}={'yes' if able else 'no'}" for name, able in intent.capabilities.items()]
    return more


def ran(case_line: StoryLine | None) -> Iterator[str]:
    for number, run in enumerate(case_line.runs if case_line else (), 1):
        yield clipped(f"run {number}: {_ended(run)}", TEXT)


def written_by(run: LoggedRun) -> list[str]:
    """Returns the files that a run changed, without those that each call of Codex makes."""
    return [path for path in run.changed if not is_of_codex(path)]


def _ended(run: LoggedRun) -> str:
    ended = f"exit {run.code}" if run.ended == "exit" else f"{run.ended} {run.error}".rstrip()
    parts = [f"{ended}{' (declined)' if run.refused else ''}, {1000 * run.seconds:.0f} ms"]
    changed = written_by(run)
    parts += [f"changed {', '.join(changed[:6])}" if changed else "changed nothing"]
    parts += [f"arguments {shlex.join(run.argv)}"] if run.argv else []
    calls = list(dict.fromkeys(shlex.join(("codex", *one.argv)) for one in run.launches))
    parts += [f"ran {shortened_list(calls, _CALLS)}"] if calls else []
    parts += [f"reached for {', '.join(run.strayed)}"] if run.strayed else []
    return "; ".join(parts)


def _said(case_line: StoryLine | None) -> Iterator[tuple[str, str]]:
    if case_line is not None and case_line.runs:
        run = case_line.runs[0]
        for name, text in (("standard error", run.stderr), ("standard output", run.stdout)):
            if text.strip():
                yield name, clipped(text, TEXT)


def claimed(claim: Claim) -> str:
    if not claim.loads:
        return f"it starts no thread: {claim.error}"
    network = {True: "on", False: "off", None: "not reported"}[claim.network]
    parts = [claim.sandbox or "no mode", f"network {network}", f"roots {', '.join(claim.roots) or 'none'}"]
    parts += [f"approval {claim.approval}"] if claim.approval else []
    parts += [f"profile {claim.profile}"] if claim.profile else []
    return "; ".join([", ".join(parts), *(f"it warns: {words}" for words in claim.warnings[:3])])


def _calls(found: Measured, records: Sequence[Record]) -> Iterator[ToldCall]:
    names = dict.fromkeys(name for one in records for name in (*one.calls, *map(_call, one.evidence)))
    calls = [found.calls[name] for name in names if name in found.calls]
    yield from map(told_call, calls[:_CALLS])


def _call(row: Evidence) -> str:
    return row.call
