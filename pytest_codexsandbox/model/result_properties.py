"""Result properties: the fields of a result by which pytest's reports and other programs sort and find it. Pure."""

from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict


def properties(record: Record) -> dict[str, str]:
    """Returns the fields of a result by which other programs sort and find it."""
    key = record.key
    always = {
        "cell": key.cell,
        "door": key.door,
        "policy": key.policy,
        "promise": key.promise,
        "verdict": record.verdict.value,
        "direction": record.direction,
        "fingerprint": record.diagnosis.fingerprint if record.diagnosis else "",
        "repro": record.repro,
    }
    sometimes = {"case": key.case, "deviation": record.deviation, "blocked_by": blocked_by(record)}
    return {**always, **{name: value for name, value in sometimes.items() if value}}


def blocked_by(record: Record) -> str:
    """Returns the start record that blocks a result, or another blocker."""
    key = record.key
    if record.verdict is not Verdict.BLOCKED or "." not in record.blocked_by:
        return record.blocked_by
    return f"{record.blocked_by} · {key.cell} · {key.door} · {key.policy}"
