"""Allure: reports an item's axes as parameters, its verdict as status and its evidence as attachment.

Allure takes two results with one name and equal parameters for retries of each other, and shows only the last one. With
the axes as parameters, every cell has its own history. Imported only while allure-pytest is active.
"""

from collections.abc import Mapping
from typing import Any, Final

import allure
import msgspec
import pytest
from allure_commons.model2 import Status, StatusDetails

from pytest_codexsandbox.api import declared
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.redact import redact
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.reports.allure_results import KEY, RUN
from pytest_codexsandbox.reports.escape import visible

LISTENER: Final = "allure_listener"  # as allure-pytest registers it
_STATUS: Final[dict[Verdict, str]] = {
    Verdict.CONFORMS: Status.PASSED,
    Verdict.UNCONFINED: Status.PASSED,
    Verdict.VIOLATES: Status.FAILED,
    Verdict.STALE: Status.FAILED,
    Verdict.BROKEN: Status.BROKEN,
    Verdict.BLOCKED: Status.SKIPPED,
    Verdict.NOT_APPLICABLE: Status.SKIPPED,
    Verdict.EXPECTED: Status.SKIPPED,
}
_SEVERITY: Final = {
    "critical": allure.severity_level.BLOCKER,
    "high": allure.severity_level.CRITICAL,
    "medium": allure.severity_level.NORMAL,
    "low": allure.severity_level.MINOR,
}


def attach(item: pytest.Item, record: Record, *, axes: Mapping[str, str] | None = None, run: str = "") -> None:
    """Adds a record to the item's result. Call it while the item's report is made, before Allure closes the item."""
    dynamic: Any = allure.dynamic
    for name, value in parameters(record, axes or {}).items():
        dynamic.parameter(name, value)
    topic = record.key.promise.partition(".")[0]
    dynamic.feature(topic)
    dynamic.story(record.key.promise)
    dynamic.tag(record.verdict.value)
    dynamic.label(RUN, run)
    dynamic.label(KEY, str(record.key))
    promise = declared(getattr(item, "function", None))
    if promise is not None:
        dynamic.severity(_SEVERITY[promise.severity])
    allure.attach(evidence_text(record), name="evidence", attachment_type=allure.attachment_type.TEXT)
    as_json = redact(msgspec.json.format(msgspec.json.encode(record), indent=1).decode())
    allure.attach(as_json, name="record", attachment_type=allure.attachment_type.JSON)
    _say_verdict(item, record)
    _leave_only_axes(item)


def parameters(record: Record, axes: Mapping[str, str]) -> dict[str, str]:
    """Returns everything that distinguishes this result from the same promise elsewhere, and nothing that changes from
    run to run."""
    key = record.key
    named = {"door": key.door, "policy": key.policy, "case": key.case, **axes, "cell": key.cell}
    return {name: value for name, value in named.items() if value}


def evidence_text(record: Record) -> str:
    lines = [f"{record.verdict.value}{f' ({record.direction})' if record.direction else ''}: {record.reason}"]
    for row in record.evidence:
        lines += [
            "",
            f"promised  {row.claim}",
            f"saw       {row.saw}{'' if row.held else '   (did not hold)'}",
            f"control   {row.control or 'none'}{'' if row.control_held else '   (did not hold)'}",
        ]
    if record.diagnosis is not None:
        lines += ["", f"because   {record.diagnosis.cause}"]
        lines += [f"try       {record.diagnosis.remedy}"] if record.diagnosis.remedy else []
        lines += [f"way       {way}" for way in record.diagnosis.ways]
    lines += ["", f"repro     sh {record.repro}   (in the run's folder)"] if record.repro else []
    return redact("\n".join(visible(line) for line in lines)) + "\n"


def _say_verdict(item: pytest.Item, record: Record) -> None:
    """Sets the verdict as the status. A scenario does not raise when a promise is broken, so Allure would call every
    violation passed."""
    result = _result(item)
    if result is not None:
        result.status = _STATUS[record.verdict]
        message = f"{record.verdict.value}: {record.reason}" if record.reason else record.verdict.value
        result.statusDetails = StatusDetails(message=redact(visible(message)))


def _leave_only_axes(item: pytest.Item) -> None:
    """Removes the parameter that allure-pytest adds for the key, under the name of its fixture."""
    result = _result(item)
    params = getattr(getattr(item, "callspec", None), "params", {})
    keys = {name for name, value in params.items() if isinstance(value, Key)}
    if result is not None:
        result.parameters = [one for one in result.parameters if one.name not in keys]


def _result(item: pytest.Item) -> Any:
    listener: Any = item.config.pluginmanager.getplugin(LISTENER)
    return listener.allure_logger.get_test(None) if listener is not None else None
