"""Forged deviations: each excuses a violation of its own cause alone, and reports name those that are not shipped."""

import copy
import json
from pathlib import Path

import pytest

from pytest_codexsandbox.cli import main
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.verdict import Verdict
from tests.unit.journal import builders
from tests.unit.journal.builders import Line, ended, one, results, say, sealed

START, OTHER_CAUSE = "start.sandbox-is-on", "descriptors-not-closed"


def _cover(found: list[Line]) -> Key:
    """Covers the leak of a Codex without a sandbox by a deviation of the plan's own."""
    line = results(found, "violates", START, "-fake")[0]
    plan, key = one(found, "plan"), builders.key_of(line)
    own = copy.deepcopy(plan["expectations"][0])
    own |= {"id": "mine", "promise": START, "direction": "leak", "fingerprint": "no-sandbox-was-on"}
    own |= {"where": {"codex": "fake", "policy": key.policy}, "case": []}
    plan["expectations"].append(own)
    diagnosis = line["record"]["diagnosis"]
    say(line, "expected", "leak", deviation="mine")
    line["record"]["diagnosis"], line["diagnosis"] = diagnosis, diagnosis["fingerprint"]
    return key


def test_deviations_that_are_not_shipped_are_counted_in_every_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, path = builders.lines("promises"), tmp_path / "j.ndjson"
    assert builders.read(found, path).own_deviations == ()
    key = _cover(found)
    journal = builders.read(ended(sealed(found)), path)
    assert (journal.contradicted, journal.own_deviations) == ((), ("mine",))
    assert journal.states()[key].verdict is Verdict.EXPECTED
    words = "1 of 6 known by deviations of the run's own, which are not shipped (mine)"
    for word in ("terminal", "markdown", "html"):
        capsys.readouterr()
        assert main(["report", str(path), "--format", word]) == 0
        assert words in " ".join(capsys.readouterr().out.replace("&#39;", "'").split())
    assert main(["report", str(path), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["own_deviations"] == {"mine": 1}
    assert main(["diagnose", str(path)]) == 0
    assert words in " ".join(capsys.readouterr().out.split())


def test_a_shipped_deviation_that_was_changed_is_one_of_the_runs_own(tmp_path: Path) -> None:
    found, path = builders.lines("promises"), tmp_path / "j.ndjson"
    known = one(found, "plan")["expectations"]
    known[2]["where"] = {}
    assert builders.read(sealed(found), path).own_deviations == (known[2]["id"],)


@pytest.mark.parametrize("promise", [START, "filesystem.pipe-outside-refused"])
def test_a_changed_cause_of_an_expected_violation_is_found(promise: str, tmp_path: Path) -> None:
    """The deviation and the result name the same cause, and the calls show another one."""
    found, path = builders.lines("promises"), tmp_path / "j.ndjson"
    if promise == START:
        _cover(found)
    line = results(found, "expected", promise)[0]
    known = next(one for one in one(found, "plan")["expectations"] if one["id"] == line["record"]["deviation"])
    known["fingerprint"] = line["diagnosis"] = line["record"]["diagnosis"]["fingerprint"] = OTHER_CAUSE
    for other in results(found, "expected", promise):
        other["diagnosis"] = other["record"]["diagnosis"]["fingerprint"] = OTHER_CAUSE
    wrong = builders.read(ended(sealed(found)), path).contradicted
    assert wrong and wrong[0].key == builders.key_of(line) and OTHER_CAUSE in wrong[0].why


@pytest.mark.parametrize("how", ["another version", "a fingerprint of the user", "redacted"])
def test_a_cause_that_may_have_been_another_one_is_not_re_judged(how: str, tmp_path: Path) -> None:
    found, path = builders.lines("promises"), tmp_path / "j.ndjson"
    lines = results(found, "expected", "filesystem.pipe-outside-refused")
    name = "mine" if how == "a fingerprint of the user" else OTHER_CAUSE
    known = next(one for one in one(found, "plan")["expectations"] if one["id"] == lines[0]["record"]["deviation"])
    known["fingerprint"] = name
    for line in lines:
        line["diagnosis"] = line["record"]["diagnosis"]["fingerprint"] = name
    if how == "another version":
        one(found, "run")["product"] = "codexsandbox 0.2.1"
    elif how == "redacted":
        for call in found:
            if call["line"] == "call":
                call["observation"]["stdout"] += "[redacted]"
    journal = builders.read(ended(sealed(found)), path)
    assert journal.contradicted == ()
    assert set(journal.not_rejudged) == {builders.key_of(line) for line in lines}


def test_a_place_of_the_run_that_rewrites_words_explains_nothing(tmp_path: Path) -> None:
    """Its rows cannot be made again, so the journal's own words are all that is left to explain it."""
    found, path = builders.lines("promises"), tmp_path / "j.ndjson"
    line, plan = results(found, "violates", "user.")[0], one(found, "plan")
    own = copy.deepcopy(plan["expectations"][0])
    own |= {"id": "mine", "promise": line["promise"], "direction": "denied", "fingerprint": "permission-denied"}
    plan["expectations"].append(own | {"where": {}, "case": []})
    diagnosis = line["record"]["diagnosis"] | {"fingerprint": "permission-denied"}
    say(line, "expected", "denied", deviation="mine")
    line["record"]["diagnosis"], line["diagnosis"] = diagnosis, "permission-denied"
    one(found, "run")["places"]["AssertionError"] = "Permission denied (os error 13)"
    journal = builders.read(ended(sealed(found)), path)
    assert (journal.contradicted, journal.not_rejudged) == ((), (builders.key_of(line),))


def test_a_release_has_the_version_of_its_name(tmp_path: Path) -> None:
    found = builders.lines("promises")
    one(found, "plan")["cells"][0]["as_version"] = "0.80.0"
    assert "0.80.0" in builders.read(sealed(found), tmp_path / "j.ndjson").contradicted[0].why


def test_an_expected_result_of_an_environment_that_is_not_there_is_found(tmp_path: Path) -> None:
    """Without the facts of its machine, no cause could be derived."""
    found, path = builders.lines("promises"), tmp_path / "j.ndjson"
    line = results(found, "expected")[0]
    line["environment"] = line["record"]["environment"] = f"{line['record']['environment']}@gw9"
    (wrong,) = builders.read(sealed(found), path).contradicted
    assert wrong.key == builders.key_of(line) and "@gw9" in wrong.why


def test_a_strict_run_says_that_it_was_strict(tmp_path: Path) -> None:
    found, path = builders.lines("promises"), tmp_path / "j.ndjson"
    one(found, "run")["invocation"].append("--codex-strict")
    (wrong,) = builders.read(found, path).contradicted
    assert "--codex-strict" in wrong.why and wrong.line == len(found)
