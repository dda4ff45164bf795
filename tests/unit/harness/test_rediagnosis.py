"""The cause of a start that failed is derived from what its call printed, and not from the words of its row."""

from pathlib import Path

import msgspec

from pytest_codexsandbox.diagnosis.match import match
from pytest_codexsandbox.harness.rediagnosis import Rediagnosis
from pytest_codexsandbox.matrix.shipped_promises import declared
from pytest_codexsandbox.model.record import Diagnosis, Started
from tests.unit.journal import builders

START = "start.sandbox-is-on"
PRINTED = "no known words"
FORGED = "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted"


def test_words_of_a_row_name_no_cause_of_a_start(tmp_path: Path) -> None:
    forged_cause = match(FORGED)
    assert forged_cause is not None
    cause = forged_cause.fingerprint
    journal = builders.read(builders.lines("promises"), tmp_path / "j.ndjson")
    record = next(one for one in journal.records if one.key.promise == START and one.direction == "leak")
    assert record.basis is not None
    calls = {line.id: line for line in journal.calls}
    lines = [calls[name] for name in record.calls]
    control = tuple(line.observation for line in lines if line.control)
    seen = tuple(
        msgspec.structs.replace(
            line.observation, ready=False, ended="exit", code=1, rows={}, after={}, readings=(), stderr=PRINTED
        )
        for line in lines
        if not line.control
    )
    row = msgspec.structs.replace(record.evidence[0], saw=FORGED, reason="", direction="denied")
    basis = msgspec.structs.replace(record.basis, started=Started(state="failed", call=seen[0].id))
    forged = msgspec.structs.replace(
        record, direction="denied", evidence=(row,), basis=basis, diagnosis=Diagnosis(fingerprint=cause, cause="")
    )
    rediagnosis, promise = Rediagnosis(journal), declared()[START]
    why = rediagnosis.fault(forged, promise, (seen, control), forged.evidence)
    assert cause in why
    named = msgspec.structs.replace(forged, diagnosis=Diagnosis(fingerprint="", cause=""))
    assert rediagnosis.fault(named, promise, (seen, control), forged.evidence) == ""
