"""README line: one line that a maintainer may paste into a README: counts, and a sign for each question of users. Pure.

A sign is good only if everything that was checked for it was measured and held. What was not measured is never good.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

import msgspec

from pytest_codexsandbox.model.ledger import HARNESS, ReadJournal
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.suite_index import SuiteIndex
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.reports.escape import visible
from pytest_codexsandbox.reports.generator_tally import Measured, Tally, judges_generator, tally
from pytest_codexsandbox.reports.headlines import plural, shortened_list

Answer = Literal["yes", "no", "unknown", "not asked"]
SIGNS: Final[dict[Answer, str]] = {"yes": "✔", "no": "✘", "unknown": "?", "not asked": "–"}
ASCII: Final[dict[Answer, str]] = {"yes": "yes", "no": "NO", "unknown": "?", "not asked": "-"}
NOT_TOLD: Final = (
    "nothing about roots and network: its command has no placeholder for them, and its program reads no CXG_ variable"
)
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "loads": ("generator.parses", "generator.config-loads"),
    "keeps": (
        "generator.user-keys-keep-their-values", "generator.comments-stay", "generator.line-ends-stay",
        "generator.mode-owner-links-stay", "generator.leaves-nothing-behind",
    ),
    "idempotent": (
        "generator.second-run-changes-nothing", "generator.third-run-changes-nothing", "generator.does-not-grow",
        "generator.means-the-same-again", "generator.second-run-touches-nothing",
    ),
    "effective": ("effective.", "generator.keys-at-their-own-place"),
    "shares": ("managed-block.",),
    "robust": ("generator.",),  # all promises that no other word takes
}  # fmt: skip
_KNOWN: Final = (Verdict.EXPECTED, Verdict.STALE)
_BELIEVED: Final = (Verdict.CONFORMS, Verdict.UNCONFINED, Verdict.NOT_APPLICABLE)
_SHOWN: Final = (Verdict.CONFORMS, Verdict.UNCONFINED)  # known generators were judged correctly; second: unconfined
_NOT_MEASURED: Final = (Verdict.BROKEN, Verdict.BLOCKED)


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one generator in all its cells."""

    name: str
    version: str
    spec: str
    product: str
    codex: tuple[str, ...]
    date: str
    counts: dict[str, int]  # verdict → results about the generator itself
    leaks: int
    suite: dict[str, int]  # verdict → results of what Codex does with its files
    answers: dict[str, Answer]
    cases: int  # cases of the corpus that were checked
    corpus: int
    declined: int  # most declined cases in one cell
    confined: str  # "" if any run was unconfined
    doubt: str  # why none of this can be trusted; "" if it can
    receives_request: bool = True  # False: it gets no roots and no network, so it was not checked for them


def summaries(journal: ReadJournal, found: Sequence[Measured], incomplete: str) -> list[Summary]:
    """Returns the summaries in the requested order. `incomplete`: what is missing of the run."""
    by_name: dict[str, list[Measured]] = {}
    for one in found:
        by_name.setdefault(one.row.name, []).append(one)
    return [_summary(journal, cells, incomplete) for cells in by_name.values()]


def _summary(journal: ReadJournal, cells: Sequence[Measured], incomplete: str) -> Summary:
    first = cells[0]
    records = [record for cell in cells for record in cell.records]
    doubt = incomplete or _doubt([record for cell in cells for record in cell.trust], first.suites)
    counted = tally(records)
    return Summary(
        name=first.row.name,
        version=first.version,
        spec=first.row.spec,
        product=journal.run.product or "codexsandbox",
        codex=tuple(dict.fromkeys(cell.codex for cell in cells)),
        date=journal.run.started[:10],
        counts=_by_word(counted),
        leaks=counted.leaks,
        suite=_by_word(tally(record for cell in cells for record in cell.suite)),
        answers=_answers(records, journal.plan.of_generators, doubt, unseen=_unseen(cells)),
        cases=min(cell.cases for cell in cells),
        corpus=first.corpus,
        declined=max(cell.declined_of_corpus for cell in cells),
        confined=", ".join(sorted({cell.confined for cell in cells})) if all(cell.confined for cell in cells) else "",
        doubt=doubt,
        receives_request=first.row.told,
    )


def _by_word(counted: Tally) -> dict[str, int]:
    return {verdict.value: counted[verdict] for verdict in Verdict if counted[verdict]}


def _doubt(trust: Sequence[Record], suites: SuiteIndex) -> str:
    """Returns why the harness cannot be trusted about generators; "" if it proved that it can. Without proof no sign is
    good."""
    wrong = next((one for one in trust if one.verdict not in _BELIEVED), None)
    if wrong is not None:
        return f"{wrong.key.promise}: {wrong.reason}"
    shown = any(judges_generator(one, suites) and one.verdict in _SHOWN for one in trust)
    return "" if shown else "no check proved that the harness judges generators correctly (trust.*)"


def _unseen(cells: Iterable[Measured]) -> set[str]:
    """Returns promises without any measured case, mostly because the generator declined: it has not kept them."""
    return {
        promise
        for cell in cells
        for promise, records in cell.about.items()
        if all(one.verdict is Verdict.NOT_APPLICABLE for one in records)
        and 2 * sum(one.key.case in cell.declined for one in records) > len(records)
    }


def _answers(
    records: Iterable[Record], every: Iterable[str], doubt: str, *, unseen: Iterable[str]
) -> dict[str, Answer]:
    """Returns the answer for each word. `every`: all promises; a word with an unchecked promise cannot be good."""
    by_word: dict[str, list[Record]] = {word: [] for word in _WORDS}
    asked: set[str] = set()
    for record in records:
        by_word[word_for(record.key.promise)].append(record)
        asked.add(record.key.promise)
    not_asked = {promise for promise in every if promise not in asked and not promise.startswith(f"{HARNESS}.")}
    left_out = {word_for(promise) for promise in (*not_asked, *unseen)}
    return {word: _answer(tally(found), doubt or word in left_out) for word, found in by_word.items()}


def word_for(promise: str) -> str:
    return next((word for word, names in _WORDS.items() if promise.startswith(names)), "robust")


def _answer(counted: Tally, doubt: str | bool) -> Answer:
    if counted[Verdict.VIOLATES] or any(counted[verdict] for verdict in _KNOWN):
        return "no"
    if any(counted[verdict] for verdict in _NOT_MEASURED):
        return "unknown"
    if not counted.asked:
        return "not asked"
    return "unknown" if doubt else "yes"


def line(summary: Summary, signs: Mapping[Answer, str] = SIGNS) -> str:
    """Returns a line like `mytool 1.2 · codexsandbox 0.1.0, Codex 0.163.0, 2026-11-18: 3,812 of 4,020 checks conform,
    …`"""
    name = f"{summary.name} {summary.version}".rstrip()
    codex = f"Codex {shortened_list(summary.codex, 6)}" if summary.codex else "no Codex"
    doubt = "NOT TRUSTWORTHY, " if summary.doubt else ""
    answers = " ".join(f"{word} {signs[answer]}" for word, answer in summary.answers.items())
    return visible(
        f"{name} · {summary.product}, {codex}, {summary.date}: {doubt}{', '.join(_terms(summary))} — {answers}"
    )


def _terms(summary: Summary) -> list[str]:
    counts = summary.counts
    leaks = f" ({summary.leaks:,} leak)" if summary.leaks else ""
    terms = [f"{counts.get('conforms', 0):,} of {plural(sum(counts.values()), 'check')} conform"]
    terms += [f"{counts['violates']:,} violate{leaks}"] if "violates" in counts else []
    words = {"expected": "known to deviate", "stale": "stale", "n/a": "n/a", "blocked": "blocked", "broken": "broken"}
    terms += [f"{counts[verdict]:,} {word}" for verdict, word in words.items() if verdict in counts]
    terms += [f"declined in {summary.declined:,} of {plural(summary.cases, 'case')}"] if summary.declined else []
    terms += [f"{summary.cases:,} of {summary.corpus:,} cases only"] if summary.cases < summary.corpus else []
    return [*terms, "unconfined"] if not summary.confined else terms
