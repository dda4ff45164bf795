"""Rows of a result are made again from its calls, as the run made them."""

from pathlib import Path

import msgspec

from pytest_codexsandbox.harness.trial import RealTrial
from pytest_codexsandbox.matrix.scenario_index import promises
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.record import OUTLIVES
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.registry import data_folder
from tests.unit.journal import builders

OWN_CALL = "process.exit-code-kept"


def test_a_process_that_outlived_a_call_is_a_row_of_the_result(tmp_path: Path) -> None:
    found = builders.lines("promises")
    line = builders.results(found, "conforms", OWN_CALL)[0]
    calls = [each for each in found if each["line"] == "call" and each["id"] in line["record"]["calls"]]
    for call in calls:
        call["observation"]["survivors"] = [] if call.get("control") else ["sleep: 4711"]
    seen, control = (
        tuple(msgspec.convert(each["observation"], Observation) for each in calls if each.get("control", False) is side)
        for side in (False, True)
    )
    promise = next(one for one, _ in promises(data_folder("scenarios")) if one.id == OWN_CALL)
    trial = RealTrial(builders.key_of(line), promise, seen=seen, control=control)
    trial.nothing_outlives()
    rows = [*map(msgspec.to_builtins, trial.rows), *line["record"]["evidence"]]
    assert rows[0]["reason"] == OUTLIVES
    builders.say(line, "violates", "leak", evidence=rows)
    journal = builders.read(builders.ended(found), tmp_path / "j.ndjson")
    assert journal.contradicted == ()
    assert journal.states()[builders.key_of(line)].verdict is Verdict.VIOLATES

    builders.say(line, "violates", "leak", evidence=[rows[0] | {"reason": ""}, *rows[1:]])
    journal = builders.read(builders.ended(found), tmp_path / "j.ndjson")
    assert [wrong.key for wrong in journal.contradicted] == [builders.key_of(line)]

    builders.say(line, "conforms", evidence=rows[1:])
    journal = builders.read(builders.ended(found), tmp_path / "j.ndjson")
    assert [wrong.key for wrong in journal.contradicted] == [builders.key_of(line)]
