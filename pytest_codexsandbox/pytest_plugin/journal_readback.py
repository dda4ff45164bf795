"""Journal read-back: reads the journal of a run as a reader would, compares it with the run's results, and completes
result files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pytest_codexsandbox.diagnosis.explain import with_bare_tools
from pytest_codexsandbox.diagnosis.fingerprint import Fingerprint
from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.harness.replay import read
from pytest_codexsandbox.journal.exit_code import without_plan
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.reports.path_masking import private
from pytest_codexsandbox.reports.result_files import ResultFiles


def read_back(
    path: Path, records: Mapping[Key, Record], fingerprints: Sequence[Fingerprint]
) -> tuple[ReadJournal | None, str]:
    """Returns the journal, and how it differs from what the run found ("" where it does not)."""
    try:
        done = with_bare_tools(private(read(path)), fingerprints=fingerprints)
    except CodexSandboxError as fault:
        return None, f"{fault.what}: {fault.why} ({fault.where})"
    if done.contradicted:
        first = done.contradicted[0]
        return done, f"line {first.line} contradicts the journal: {first.why} ({len(done.contradicted)} in all)"
    states = done.states()
    differ = [key for key, one in records.items() if key not in states or states[key].verdict is not one.verdict]
    return done, f"{len(differ)} results are not those of the run, the first: {differ[0]}" if differ else ""


def result_files(config: pytest.Config) -> ResultFiles:
    """Returns where pytest's --junit-xml and allure-pytest write; these plugins may be missing."""
    return ResultFiles(
        junit=config.getoption("xmlpath", None) or "", allure=config.getoption("allure_report_dir", None) or ""
    )


def refuse(config: pytest.Config, code: int, why: str = "") -> None:
    """Writes the exit code of a run that has no end into the result files of pytest and Allure."""
    result_files(config).refuse(without_plan(code, why))
