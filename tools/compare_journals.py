"""Compares the results of two runs key by key: `python -m tools.compare_journals A B [--at-least N]`.

A and B are journals, or folders of runs of which the newest counts. Cells, verdicts, directions, fingerprints and the
exit code must be equal. Exits with 1 and names each difference otherwise. It does so too if a journal has no end or
contradicts itself.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pytest_codexsandbox.harness.replay import read
from pytest_codexsandbox.journal.store import FILE
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.reports.headlines import contradiction, not_rejudged

_SHOWN: Final = 40  # most differences shown


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("journals", nargs=2, type=Path, metavar="JOURNAL|FOLDER")
    parser.add_argument("--at-least", type=int, default=1, metavar="N", help="results that each run must have")
    options = parser.parse_args()
    one, two = (read(newest(path)) for path in options.journals)
    found = [*unsound("first", one), *unsound("second", two), *differences(one, two)]
    for words in filter(None, map(not_rejudged, (one, two))):
        print(words)
    print("\n".join(found[:_SHOWN]))
    count = len(one.states())
    if count < options.at_least:
        print(f"the first run has {count} results, not {options.at_least}")
        return 1
    print(f"{count} results, {len(found)} differences" if found else f"{count} results, the same in both runs")
    return 1 if found else 0


def newest(path: Path) -> Path:
    """Returns the journal itself, or the newest one of a folder of runs."""
    if path.is_file():
        return path
    found = sorted(path.rglob(FILE), key=lambda journal: journal.stat().st_mtime)
    if not found:
        sys.exit(f"there is no {FILE} below {path}")
    return found[-1]


def unsound(which: str, journal: ReadJournal) -> Iterator[str]:
    """Yields why a journal shows nothing, even if the other one is equal."""
    if why := contradiction(journal, journal.states()):
        yield f"the {which} journal: {why}"


def differences(one: ReadJournal, two: ReadJournal) -> Iterator[str]:
    """Yields one line for each key, and for the end of the runs, where they differ."""
    left, right = _results(one), _results(two)
    for key in sorted({*left, *right}, key=str):
        if left.get(key) != right.get(key):
            yield f"{key}: {left.get(key, 'not there')} | {right.get(key, 'not there')}"
    ends = [journal.end.exit if journal.end else None for journal in (one, two)]
    if ends[0] != ends[1]:
        yield f"exit code: {ends[0]} | {ends[1]}"


def _results(journal: ReadJournal) -> dict[Key, tuple[str, ...]]:
    return {
        key: (record.verdict.value, record.direction, record.diagnosis.fingerprint if record.diagnosis else "")
        for key, record in journal.states().items()
    }


if __name__ == "__main__":
    sys.exit(main())
