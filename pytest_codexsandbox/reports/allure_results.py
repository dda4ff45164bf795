"""Allure results: brings the files that allure-pytest wrote in line with the journal. Pure."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.reports.outcomes import Outcome, of_run, outcomes

RUN: Final = "codexsandbox-run"  # label: the run that a result belongs to
TITLE: Final = "the run's exit code"  # name of the result of the whole run
KEY: Final = "codexsandbox-key"  # label: the planned result
STATUS: Final = {"passed": "passed", "failure": "failed", "error": "broken", "skipped": "skipped"}
Result = dict[str, Any]


def changed(
    results: Mapping[str, Result],
    run: str,
    journal: ReadJournal | None,
    reasons: Sequence[str],
    *,
    at: int = 0,
    failed_before: bool = False,
) -> Iterator[tuple[str, Result]]:
    """Yields name and content of each result file that has to be written. `results` are those of this run.

    `at`: the end of the run in milliseconds, by which Allure finds the newest of several results.
    `failed_before`: another run wrote its exit code to this folder; then a run that passes writes its own too.
    """
    states = {} if journal is None else journal.states()
    by_key: dict[str, list[str]] = {}
    for name, result in results.items():
        by_key.setdefault(label(result, KEY), []).append(name)
    for key, outcome in outcomes(journal).items() if journal is not None else ():
        names = by_key.get(str(key), [])
        if not names:
            yield _made(run, str(key), key.promise, outcome, at)
        verdict = states[key].verdict.value
        for name in names:  # every attempt: Allure shows one of them
            if results[name].get("status") != STATUS[outcome.kind] or verdict not in _tags(results[name]):
                yield name, _settled(results[name], outcome, verdict)
    whole = of_run(states, reasons)
    if whole is None and failed_before:
        whole = Outcome(kind="passed", message="no reason beside the results")
    if whole is not None:
        yield _made(run, RUN, TITLE, whole, at)


def label(result: Result, name: str) -> str:
    return next((str(one.get("value", "")) for one in result.get("labels", ()) if one.get("name") == name), "")


def _tags(result: Result) -> set[str]:
    return {str(one.get("value")) for one in result.get("labels", ()) if one.get("name") == "tag"}


def _settled(result: Result, outcome: Outcome, verdict: str) -> Result:
    labels = [*result.get("labels", ()), {"name": "tag", "value": verdict}]
    return {**result, "labels": labels, **_status(outcome)}


def _made(run: str, key: str, name: str, outcome: Outcome, at: int) -> tuple[str, Result]:
    """Makes a result without a test. Its file name depends only on run and key, so writing it again replaces it."""
    identity = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{run} {key}"))
    labels = [{"name": RUN, "value": run}, {"name": KEY, "value": key}, {"name": "framework", "value": "pytest"}]
    made: Result = {
        "uuid": identity,
        "name": name,
        "fullName": f"codexsandbox {key}",
        "labels": labels,
        "historyId": uuid.uuid5(uuid.NAMESPACE_OID, key).hex,
        "parameters": [],
        "start": at,
        "stop": at,
        **_status(outcome),
    }
    return f"{identity}-result.json", made


def _status(outcome: Outcome) -> Result:
    return {
        "status": STATUS[outcome.kind],
        "statusDetails": {"message": outcome.message, "trace": outcome.details},
    }
