"""Result files of pytest (JUnit XML) and Allure: reads them after a run and writes what the journal says into them."""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import msgspec

from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.reports import allure_results, junit
from pytest_codexsandbox.reports.text_file import put
from pytest_codexsandbox.reports.writer import WrittenReport

NO_RUN: Final = "none"  # name of the run in results of a command that never started a run
_READING: Final = (OSError, ElementTree.ParseError, StopIteration, ValueError)


class ResultFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The paths that other options of pytest name; "" if an option is not given."""

    junit: str = ""
    allure: str = ""

    def complete(self, run: str, journal: ReadJournal | None, reasons: Sequence[str]) -> Iterator[WrittenReport]:
        """Yields each file or folder that could not be brought in line with the journal, and why."""
        if self.junit:
            path = _path(self.junit)
            yield from _tried(path, lambda: _junit(path, journal, reasons))
        if self.allure:
            folder = Path(self.allure).absolute()
            yield from _tried(folder, lambda: _allure(folder, run, journal, reasons))

    def refuse(self, reason: str) -> None:
        """Adds the exit code of a run that never had a plan to the files that pytest and Allure wrote.

        An error in a file that cannot be changed is ignored: the exit code already says that the run failed.
        """
        there = msgspec.structs.replace(
            self,
            junit=self.junit if _path(self.junit).is_file() else "",
            allure=self.allure if Path(self.allure).is_dir() else "",
        )
        for _ in there.complete(NO_RUN, None, (reason,)):
            pass


def _path(given: str) -> Path:
    """Returns the file that pytest writes for --junit-xml."""
    return Path(os.path.expandvars(given)).expanduser().absolute()


def _tried(path: Path, write: Callable[[], None]) -> Iterator[WrittenReport]:
    try:
        write()
    except _READING as fault:
        why = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
        yield WrittenReport(path=path, fault=f"does not say what the journal says: {type(fault).__name__}: {why}")


def _junit(path: Path, journal: ReadJournal | None, reasons: Sequence[str]) -> None:
    put(path, junit.completed(path.read_bytes(), journal, reasons).decode())


def _allure(folder: Path, run: str, journal: ReadJournal | None, reasons: Sequence[str]) -> None:
    results = {}
    failed_before = False
    for path in sorted(folder.glob("*-result.json")):
        text = path.read_text(encoding="utf-8")
        if run not in text and f'"{allure_results.RUN}"' not in text:  # a folder may hold the results of many runs
            continue
        result = json.loads(text)
        if allure_results.label(result, allure_results.RUN) == run:
            results[path.name] = result
        elif allure_results.label(result, allure_results.KEY) == allure_results.RUN:
            failed_before = True
    shown = allure_results.changed(results, run, journal, reasons, at=_ended(journal), failed_before=failed_before)
    for name, result in shown:
        put(folder / name, json.dumps(result, ensure_ascii=False, indent=1))


def _ended(journal: ReadJournal | None) -> int:
    """Returns the end of a run in milliseconds since 1970; now for a run without a journal."""
    if journal is None or journal.end is None:
        return int(time.time() * 1000)
    return int(datetime.fromisoformat(journal.end.finished).timestamp() * 1000)
