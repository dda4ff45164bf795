"""Reading is judging again: every way of bending a result of a real run is found, although the end was made to fit."""

import copy
import datetime
import json
import re
from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.cli import main
from pytest_codexsandbox.harness import replay
from pytest_codexsandbox.journal.rejudge import NO_BASIS
from pytest_codexsandbox.journal.run_checks import PLAN_CHANGED
from pytest_codexsandbox.journal.store import JournalWriter
from pytest_codexsandbox.model import journal_lines
from pytest_codexsandbox.model.verdict import Verdict
from tests.unit.journal import builders
from tests.unit.journal.builders import Edit, Line, ended, one, results, say

OUTSIDE = "filesystem.outside-change-refused"


@pytest.mark.parametrize("name", builders.NAMES)
def test_a_run_as_it_was_written_contradicts_nothing(name: str, tmp_path: Path) -> None:
    journal = builders.read(builders.lines(name), tmp_path / "j.ndjson")
    assert journal.contradicted == ()
    assert journal.not_rejudged == ()


def test_the_runs_have_every_verdict_that_is_bent_here(tmp_path: Path) -> None:
    both = [builders.read(builders.lines(name), tmp_path / "j.ndjson") for name in builders.NAMES]
    found = {record.verdict.value for journal in both for record in journal.states().values()}
    assert found == {verdict.value for verdict in Verdict} - {"stale"}


# ---- edits of `promises`; each makes a result greener
def _leaky(found: list[Line]) -> Line:
    """Returns a violation that its own rows show, under a sandbox that was on."""
    return results(found, "violates", "user.")[0]


def _leak(found: list[Line]) -> Line:
    return next(line for line in results(found, "blocked", OUTSIDE) if line["record"]["evidence"])


def flip_the_verdict(found: list[Line]) -> None:
    say(_leaky(found), "conforms")


def flip_the_start(found: list[Line]) -> None:
    say(results(found, "violates", "start.")[0], "conforms")


def hold_every_row(line: Line) -> None:
    for row in line["record"]["evidence"]:
        row |= {"held": True, "control_held": True, "direction": ""}


def flip_the_rows_of_the_start(found: list[Line]) -> None:
    line = results(found, "violates", "start.")[0]
    hold_every_row(line)
    line["record"]["basis"]["started"]["state"] = "on"
    say(line, "conforms")


def flip_the_row_of_a_users_test(found: list[Line]) -> None:
    line = _leaky(found)
    hold_every_row(line)
    line["record"]["basis"] |= {"outcome": "passed", "message": ""}
    say(line, "conforms")


def say_that_the_sandbox_was_on(found: list[Line]) -> None:
    line = _leak(found)
    hold_every_row(line)
    line["record"]["basis"]["started"]["state"] = "on"
    say(line, "conforms", blocked_by="")


def take_away_the_red_row(found: list[Line]) -> None:
    line = _leaky(found)
    line["record"]["evidence"] = [row for row in line["record"]["evidence"] if row["held"]]
    line["record"]["basis"] |= {"outcome": "passed", "message": ""}
    line["record"]["calls"] = line["record"]["calls"][:1] + line["record"]["calls"][2:]
    say(line, "conforms")


def name_another_policy(found: list[Line]) -> None:
    line = _leak(found)
    for place in (line, line["record"]["key"]):
        place["policy"] = "danger-full-access"
    line["record"]["basis"] |= {"asks_for_sandbox": False}
    say(line, "unconfined", blocked_by="")


def ask_for_no_sandbox(found: list[Line]) -> None:
    line = _leak(found)
    hold_every_row(line)
    line["record"]["basis"] |= {"asks_for_sandbox": False, "unconfined_words": "no sandbox, as asked"}
    say(line, "unconfined", blocked_by="")


def expect_it_by_no_deviation(found: list[Line]) -> None:
    say(_leaky(found), "expected", "denied", deviation="")


def expect_it_by_a_made_up_deviation(found: list[Line]) -> None:
    say(_leaky(found), "expected", "denied", deviation="made-up")


def expect_it_by_another_deviation(found: list[Line]) -> None:
    say(_leaky(found), "expected", "denied", deviation=one(found, "plan")["expectations"][0]["id"])


def expect_it_by_a_wider_deviation(found: list[Line]) -> None:
    known = one(found, "plan")["expectations"][0]
    known |= {"promise": "user.*", "direction": "denied", "fingerprint": "", "where": {}, "case": []}
    say(_leaky(found), "expected", "denied", deviation=known["id"])


def take_an_expectation_for_kept(found: list[Line]) -> None:
    say(results(found, "expected")[0], "conforms", deviation="")


def take_out_the_result(found: list[Line]) -> None:
    found.remove(_leaky(found))


def take_out_the_result_and_its_key(found: list[Line]) -> None:
    line = _leaky(found)
    one(found, "plan")["keys"].remove(line["record"]["key"])
    found.remove(line)


def name_the_calls_of_a_sound_codex(found: list[Line]) -> None:
    line = _leak(found)
    sound = results(found, "conforms", OUTSIDE)[0]["record"]
    line["record"] |= {name: copy.deepcopy(sound[name]) for name in ("evidence", "calls", "basis")}
    say(line, "conforms", blocked_by="")


def exchange_two_observations(found: list[Line]) -> None:
    calls = {line["id"]: line for line in found if line["line"] == "call"}
    line, sound = _leak(found)["record"], results(found, "conforms", OUTSIDE)[0]["record"]
    first, other = calls[line["calls"][0]], calls[sound["calls"][0]]
    first["observation"], other["observation"] = other["observation"], first["observation"]
    name_the_calls_of_a_sound_codex(found)


def take_out_its_control(found: list[Line]) -> None:
    line = _leak(found)
    control = line["record"]["calls"][-1]
    found[:] = [each for each in found if each.get("id") != control or each["line"] != "call"]
    hold_every_row(line)
    say(line, "conforms", blocked_by="")


def say_that_it_cannot_be_measured(found: list[Line]) -> None:
    line = _leaky(found)
    basis = {"how": "ruled-out"}
    say(line, "n/a", basis=basis, evidence=[], calls=[])
    line["record"]["reason"] = "by probe: Codex 0.163.0 has no sandbox at this door"


def say_that_the_plan_rules_it_out(found: list[Line]) -> None:
    line = _leaky(found)
    key = line["record"]["key"]
    words = f"{key['promise']} · {key['cell']} · {key['door']} · {key['policy']}"
    one(found, "plan")["not_applicable"][words] = "needs a neighbour"
    say(line, "n/a", basis={"how": "ruled-out"}, evidence=[], calls=[])
    line["record"]["reason"] = "needs a neighbour"


def forgive_a_fault(found: list[Line]) -> None:
    line = results(found, "broken")[0]
    sound = results(found, "conforms", "user.")[0]["record"]
    line["record"] |= {name: copy.deepcopy(sound[name]) for name in ("evidence", "calls", "basis")}
    say(line, "conforms")


def take_an_earlier_attempt_out(found: list[Line]) -> None:
    line = _leaky(found)
    again = copy.deepcopy(results(found, "conforms", "user.")[0])
    again["record"] |= {"key": line["record"]["key"], "attempt": 2}
    again |= {name: line[name] for name in ("cell", "door", "policy", "promise", "case")} | {"attempt": 2}
    found[found.index(line)] = again


def ask_another_kind_of_promise(found: list[Line]) -> None:
    line = _leak(found)
    for row in one(found, "plan")["promises"]:
        if row["id"] == OUTSIDE:
            row["needs"] = "nothing"
    hold_every_row(line)
    say(line, "conforms", blocked_by="")


EDITS: tuple[Edit, ...] = (
    flip_the_verdict, flip_the_start, flip_the_rows_of_the_start, flip_the_row_of_a_users_test,
    say_that_the_sandbox_was_on, take_away_the_red_row, name_another_policy, ask_for_no_sandbox,
    expect_it_by_no_deviation, expect_it_by_a_made_up_deviation, expect_it_by_another_deviation,
    expect_it_by_a_wider_deviation, take_an_expectation_for_kept, take_out_the_result, take_out_the_result_and_its_key,
    name_the_calls_of_a_sound_codex, exchange_two_observations, take_out_its_control, say_that_it_cannot_be_measured,
    say_that_the_plan_rules_it_out, forgive_a_fault, take_an_earlier_attempt_out, ask_another_kind_of_promise,
)  # fmt: skip


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_a_bent_result_is_an_error(edit: Edit, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = builders.lines("promises")
    edit(found)
    path = tmp_path / "j.ndjson"
    before = builders.read(builders.lines("promises"), path)
    assert builders.made_greener(before, ended(found), path) == ""
    assert main(["report", str(path)]) == 11
    assert main(["report", str(path), "--format", "json"]) == 11
    capsys.readouterr()
    assert main(["diagnose", str(path)]) == 11
    assert "line " in "".join(capsys.readouterr())


# ---- what cannot be judged again
def test_results_of_an_earlier_version_are_never_shown_without_that_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "j.ndjson"
    journal = builders.read(builders.of_an_earlier_version(builders.lines("promises")), path)
    assert (journal.contradicted, len(journal.not_rejudged)) == ((), 60)
    for word in ("terminal", "markdown", "html"):
        capsys.readouterr()
        assert main(["report", str(path), "--format", word]) == 0
        shown = capsys.readouterr().out
        assert "NOT RE-JUDGED: 60 of 60 results" in shown
        assert "60 not re-judged" in shown
        assert "✅" not in shown
    assert main(["report", str(path), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["not_rejudged"] == 60
    assert {result["rejudged"] for result in document["results"]} == {False}


def test_one_result_without_a_basis_among_others_is_a_contradiction(tmp_path: Path) -> None:
    found = builders.lines("promises")
    results(found, "violates")[0]["record"].pop("basis")
    journal = builders.read(found, tmp_path / "j.ndjson")
    (wrong,) = journal.contradicted
    assert wrong.why == NO_BASIS
    assert journal.states()[wrong.key].verdict is Verdict.BROKEN if wrong.key else False


def test_no_journal_of_schema_2_lacks_what_the_judge_had(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = builders.of_an_earlier_version(builders.lines("promises"))
    run, *rest = [msgspec.convert(line, journal_lines.Line) for line in found]
    writer = JournalWriter.open(tmp_path, run)
    for line in rest:
        writer.write(line)
    writer.close()
    wrong = {one.why for one in replay.read(writer.path).contradicted}
    assert {NO_BASIS, PLAN_CHANGED} <= wrong
    assert main(["report", str(writer.path)]) == 11
    assert main(["diagnose", str(writer.path)]) == 11
    assert "CHANGED" in capsys.readouterr().out


def test_diagnose_counts_results_that_could_not_be_judged_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "j.ndjson"
    builders.read(builders.of_an_earlier_version(builders.lines("promises")), path)
    assert main(["diagnose", str(path)]) == 0
    assert "NOT RE-JUDGED: 60 of 60 results" in capsys.readouterr().out


def test_a_plan_without_its_digest_is_a_contradiction(tmp_path: Path) -> None:
    found = builders.lines("promises")
    one(found, "plan").pop("content")
    first, *others = builders.read(found, tmp_path / "j.ndjson").contradicted
    assert first.why == PLAN_CHANGED
    assert len(others) == 5  # its known deviations excuse nothing


def test_a_deviation_that_cannot_be_understood_is_a_contradiction_and_no_crash(tmp_path: Path) -> None:
    found = builders.lines("promises")
    one(found, "plan")["expectations"][0]["where"] = {"codex": "<no version"}
    assert builders.read(found, tmp_path / "j.ndjson").contradicted[0].why == PLAN_CHANGED


def test_a_scenario_that_has_changed_is_not_asked_again_and_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = builders.lines("promises")
    for row in one(found, "plan")["promises"]:
        row["asked"] = "0" * 16 if row["id"] == OUTSIDE else row["asked"]
    journal = builders.read(builders.sealed(found), tmp_path / "j.ndjson")
    assert (journal.contradicted, journal.not_replayed) == ((), (OUTSIDE,))
    assert main(["report", str(tmp_path / "j.ndjson")]) == 0
    assert "of 1 promise " in capsys.readouterr().out


def test_a_plan_that_names_no_scenario_turns_nothing_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, path = builders.lines("promises"), tmp_path / "j.ndjson"
    for row in one(found, "plan")["promises"]:
        row["asked"] = ""
    journal = builders.read(builders.sealed(found), path)
    judged = {
        line["promise"]
        for line in results(found)
        if line["record"]["basis"]["how"] == "judged" and not line["promise"].startswith("user.")
    }
    assert set(journal.not_replayed) == judged and OUTSIDE in judged
    for command in ("report", "diagnose"):
        capsys.readouterr()
        assert main([command, str(path)]) == 0
        assert f" of {len(judged)} promises " in " ".join(capsys.readouterr().out.split())


def test_rows_that_differ_from_a_redacted_call_are_counted(tmp_path: Path) -> None:
    found = builders.lines("promises")
    line = results(found, "conforms", OUTSIDE)[0]["record"]
    line["evidence"][0]["control_held"] = not line["evidence"][0]["control_held"]
    assert builders.read(found, tmp_path / "j.ndjson").contradicted
    for call in found:
        if call["line"] == "call" and call["id"] in line["calls"]:
            call["observation"]["stdout"] = "[redacted]"
    assert OUTSIDE in builders.read(found, tmp_path / "j.ndjson").not_replayed


def test_a_contradiction_is_shown_broken_with_its_line_in_every_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, path = builders.lines("promises"), tmp_path / "j.ndjson"
    flip_the_verdict(found)
    journal = builders.read(ended(found), path)
    (wrong,) = journal.contradicted
    assert f"{wrong.key}" == str(builders.key_of(found[wrong.line - 1]))
    for word in ("terminal", "markdown", "html", "json"):
        capsys.readouterr()
        assert main(["report", str(path), "--format", word]) == 11
        shown = capsys.readouterr().out
        assert f"CHANGED: line {wrong.line} " in shown
        assert len(re.findall(rf"\bline {wrong.line}\b", " ".join(shown.split()))) > 1


@pytest.mark.parametrize("finished", ["2025-06-01T00:00:00+00:00", "2026-01-01"])
def test_a_run_that_ended_before_it_began_is_a_contradiction(finished: str, tmp_path: Path) -> None:
    found, path = builders.lines("promises"), tmp_path / "j.ndjson"
    one(found, "end")["finished"] = finished
    (wrong,) = builders.read(found, path).contradicted
    assert finished in wrong.why and wrong.line == len(found)
    assert main(["report", str(path)]) == 11


def test_a_clock_that_was_set_back_during_the_run_is_no_contradiction(tmp_path: Path) -> None:
    found = builders.lines("promises")
    started = datetime.datetime.fromisoformat(one(found, "run")["started"])
    one(found, "end")["finished"] = (started - datetime.timedelta(seconds=9)).isoformat()
    assert builders.read(found, tmp_path / "j.ndjson").contradicted == ()


@pytest.mark.parametrize("member", ["environment", "subject"])
@pytest.mark.parametrize("control", [True, False])
def test_a_call_of_another_place_is_a_contradiction(member: str, control: bool, tmp_path: Path) -> None:
    found = builders.lines("promises")
    used = {name for line in results(found, "conforms") for name in line["record"]["calls"]}
    for line in found:
        if line["line"] == "call" and line["id"] in used and line.get("control", False) is control:
            line[member] = "elsewhere"
    wrong = builders.read(found, tmp_path / "j.ndjson").contradicted
    assert wrong and all(one.key is not None for one in wrong) and any("elsewhere" in one.why for one in wrong)
