"""Real generators page: puts the results of a whole run over published tools into their page:

`python -m tools.real_page JOURNAL|FOLDER … [--beside "Node.js 20.20"]`, after `pytest --codex-matrix
--codex-generator=real -n 2`. Generators of a later journal replace those of the first one, and are named. A run that
was not complete, or in which something was broken, is refused.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Final

from pytest_codexsandbox.harness.durations import in_words
from pytest_codexsandbox.harness.replay import read
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.reports.generator_tally import Measured, measured, tally, word_of

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "reference" / "real-generators.md"
BEGIN: Final = "<!-- run: begin -->"
END: Final = "<!-- run: end -->"
POLICY: Final = ("effective.says-what-was-asked", "effective.does-what-was-asked")
_HEADS: Final = (
    "name",
    "version",
    "s a run",
    "checks",
    "conform",
    "red",
    "blocked",
    "known",
    "n/a",
    "policy as due",
    "what is red",
)


def text(journal: ReadJournal, *again: ReadJournal, beside: str = "") -> str:
    found = {one.row.name: one for one in measured(journal, journal.states())}
    later = {one.row.name: one for each in again for one in measured(each, each.states())}
    further = "".join(f" In a run of its own: `{name}`." for name in later)
    head = [*_head(journal, list(found.values()), beside), *([further.strip()] if further else [])]
    return "\n".join([*head, "", *_table(list((found | later).values()))])


def put(page: str, table: str) -> str:
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page has no {BEGIN} … {END}")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def why_not(journal: ReadJournal) -> str:
    """Returns why this run cannot be shown; "" if it can."""
    states = journal.states()
    broken = [key for key, one in states.items() if one.verdict is Verdict.BROKEN]
    if journal.end is None:
        return "the run did not come to its end"
    if journal.contradicted:
        return f"line {journal.contradicted[0].line} contradicts the journal: {journal.contradicted[0].why}"
    if broken:
        return f"{len(broken)} results are broken, the first: {broken[0]}"
    return ""


def rows(page: str) -> dict[str, str]:
    """Returns name → version of the table that the page has."""
    lines = page.partition(BEGIN)[2].partition(END)[0].splitlines()
    cells = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return {name: version for name, version, *_ in cells[2:]}


def _head(journal: ReadJournal, found: list[Measured], beside: str) -> Iterator[str]:
    states = journal.states()
    end = journal.end
    workers = len({one.worker for one in states.values() if one.worker}) or 1
    hands = f"{workers} workers" if workers > 1 else "one process"
    where = sorted({one.cell.axes.get("distro", one.cell.environment) for one in found})
    codex = ", ".join(sorted({f"Codex {one.codex}" for one in found}))
    took = in_words(end.seconds) if end is not None else "?"
    yield (
        f"One run of `pytest --codex-matrix --codex-generator=real`, {journal.run.started[:10]}: {codex}"
        f"{f', {beside}' if beside else ''}, {', '.join(where)}; {hands}, {took}."
    )
    whole = tally(states.values())
    yield (
        f"{len(found)} cells and {whole.total:,} checks: {whole[Verdict.CONFORMS]:,} conform, "
        f"{whole[Verdict.VIOLATES]:,} are red, {whole[Verdict.BLOCKED]:,} could not be checked for that reason, "
        f"{whole[Verdict.EXPECTED]:,} known, {whole[Verdict.NOT_APPLICABLE]:,} n/a, {whole[Verdict.BROKEN]:,} broken."
    )


def _table(found: list[Measured]) -> Iterator[str]:
    yield f"| {' | '.join(_HEADS)} |"
    yield "|---" * len(_HEADS) + "|"
    for one in found:
        yield f"| {' | '.join(_row(one))} |"


def _row(one: Measured) -> tuple[str, ...]:
    every = (*one.records, *one.suite, *one.trust)
    counts = tally(every)
    policy = tally(record for name in POLICY for record in one.about.get(name, ()))
    seconds = [run.seconds for case_line in one.stories.values() for run in case_line.runs]
    numbers = (
        counts[each]
        for each in (Verdict.CONFORMS, Verdict.VIOLATES, Verdict.BLOCKED, Verdict.EXPECTED, Verdict.NOT_APPLICABLE)
    )
    return (
        f"`{one.row.name}`",
        one.version or "the cell's",
        f"{median(seconds):.2f}" if seconds else "",
        f"{counts.total:,}",
        *(f"{number:,}" if number else "" for number in numbers),
        policy.held,
        ", ".join(_causes(every)),
    )


def _causes(every: tuple[Record, ...]) -> list[str]:
    counted = Counter(word_of(record) for record in every if record.verdict is Verdict.VIOLATES)
    return [f"{word} {count}" for word, count in counted.most_common()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("journal", type=Path, nargs="+")
    parser.add_argument("--beside", default="", help="what else is worth knowing of the machine")
    asked = parser.parse_args()
    journals = [read(path) for path in asked.journal]
    wrong = next(filter(None, map(why_not, journals)), "")
    if wrong:
        parser.error(wrong)
    PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), text(*journals, beside=asked.beside)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
