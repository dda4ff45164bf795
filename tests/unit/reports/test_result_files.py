"""JUnit XML and Allure results are brought in line with a journal, whatever pytest wrote into them."""

import json
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from pytest_codexsandbox.model.journal_lines import EnvironmentLine
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.result_properties import properties
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.reports import junit
from pytest_codexsandbox.reports.outcomes import outcomes
from pytest_codexsandbox.reports.result_files import ResultFiles
from tests.unit.reports import builders

FULL = "danger-full-access"


def document(journal: ReadJournal, *, passed: bool = True, more: str = "") -> bytes:
    """Return what pytest writes where every test passed, or none has a result element."""
    suite = ElementTree.Element("testsuite", name="pytest", errors="0", failures="0", skipped="0", tests="0")
    for key, record in journal.states().items() if passed else ():
        case = ElementTree.SubElement(suite, "testcase", classname="codex-scenarios.start", name=f"test[{key}]")
        told = ElementTree.SubElement(case, "properties")
        early = msgspec.structs.replace(record, verdict=Verdict.CONFORMS)
        for name, value in properties(early).items():
            ElementTree.SubElement(told, "property", name=name, value=junit._legal(value))
    inner = ElementTree.tostring(suite, encoding="unicode").replace("</testsuite>", f"{more}</testsuite>")
    return f'<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests">{inner}</testsuites>'.encode()


def suite_of(text: bytes) -> ElementTree.Element:
    return next(ElementTree.fromstring(text).iter("testsuite"))


def kinds(suite: ElementTree.Element) -> Counter[str]:
    return Counter(child.tag for case in suite.iter("testcase") for child in case if child.tag != "properties")


@pytest.mark.parametrize("kind", sorted(builders.KINDS))
def test_every_journal_is_listed_case_by_case(kind: str) -> None:
    journal = builders.KINDS[kind]()
    reasons = journal.end.reasons if journal.end else ("11 the journal is incomplete: no end",)
    suite = suite_of(junit.completed(document(journal), journal, reasons))
    wanted = Counter(one.kind for one in outcomes(journal).values() if one.kind != "passed")
    assert kinds(suite) - Counter({"error": 1, "failure": 1}) <= wanted
    assert wanted <= kinds(suite)
    assert int(suite.get("failures", "")) == kinds(suite)["failure"]
    assert int(suite.get("errors", "")) == kinds(suite)["error"]
    assert len(list(suite.iter("testcase"))) == int(suite.get("tests", ""))
    failed = journal.end is None or journal.end.exit != 0
    assert bool(kinds(suite)["failure"] + kinds(suite)["error"]) == failed


@pytest.mark.parametrize("kind", ["red", "blocked", "hostile", "incomplete"])
def test_doing_it_again_changes_nothing(kind: str) -> None:
    journal = builders.KINDS[kind]()
    once = junit.completed(document(journal, passed=False), journal, ("13 left behind by the harness: a process",))
    assert junit.completed(once, journal, ("13 left behind by the harness: a process",)) == once
    assert b"exit 13: left behind by the harness: a process" in once
    assert b"exit 13" not in junit.completed(once, journal, ())


def test_a_result_without_a_test_is_there() -> None:
    journal = builders.red()
    suite = suite_of(junit.completed(document(journal, passed=False), journal, ()))
    assert len(list(suite.iter("testcase"))) == len(journal.states())


def test_cases_of_other_tests_stay() -> None:
    journal = builders.green()
    other = '<testcase classname="test_mine" name="test_two"><failure message="no">why</failure></testcase>'
    suite = suite_of(junit.completed(document(journal, more=other), journal, ()))
    assert suite.get("failures") == "1"
    assert suite.find("testcase[@name='test_two']/failure") is not None


def test_attempts_are_one_case_and_the_worst_counts() -> None:
    journal = builders.several_attempts()
    first = next(iter(ElementTree.fromstring(document(journal)).iter("testcase")))
    bad = next(key for key, one in journal.states().items() if one.verdict is Verdict.VIOLATES)
    again = ElementTree.fromstring(document(journal)).findall(".//testcase")[list(journal.states()).index(bad)]
    ElementTree.SubElement(again, "failure", message="first attempt").text = "as pytest says it"
    text = document(journal, more=ElementTree.tostring(again, encoding="unicode"))
    assert first is not again
    suite = suite_of(junit.completed(text, journal, ("1 1 violated (1 leak)",)))
    assert len(list(suite.iter("testcase"))) == len(journal.states())
    assert [one.text for one in suite.iter("failure")] == ["as pytest says it"]


def test_blocked_is_an_error_where_nothing_else_of_its_cell_was_measured() -> None:
    one, two = builders.cell(), builders.cell("0.130.0")
    keys = builders.keys_of([one, two], policies=("workspace-write", FULL))

    def state(key: Key) -> object:
        if key.cell == one.id or key.policy == FULL:
            return builders.usual(key)
        return builders.record(key, Verdict.BLOCKED, reason="another bubblewrap set it up", blocked_by="bwrap")

    records = [state(key) for key in keys]
    journal = builders.journal(records, cells=[one, two], exit=11, reasons=("11 nothing",))  # type: ignore[arg-type]
    found = outcomes(journal)
    blocked = [key for key, record in journal.states().items() if record.verdict is Verdict.BLOCKED]
    assert blocked and {found[key].kind for key in blocked} == {"error"}
    beside = builders.blocked()
    assert {one.kind for key, one in outcomes(beside).items() if beside.states()[key].verdict is Verdict.BLOCKED} == {
        "skipped"
    }


def test_a_strict_run_shows_what_it_does_not_accept() -> None:
    plain = builders.blocked()
    strict = msgspec.structs.replace(plain, run=msgspec.structs.replace(plain.run, strict=True))
    states = plain.states()
    for key, one in outcomes(strict).items():
        if states[key].verdict is Verdict.BLOCKED:
            assert one.kind == "error" and one.message.startswith("strict: blocked: ")
        if states[key].verdict is Verdict.UNCONFINED:
            assert one.kind == "passed"


def test_allure_results_of_other_runs_stay(tmp_path: Path) -> None:
    journal = builders.red()
    other = {"status": "passed", "labels": [{"name": "codexsandbox-run", "value": "another"}]}
    (tmp_path / "other-result.json").write_text(json.dumps(other))
    files = ResultFiles(allure=str(tmp_path))
    for _ in range(2):
        assert list(files.complete(journal.run.id, journal, ("1 some violated",))) == []
    assert json.loads((tmp_path / "other-result.json").read_text()) == other
    assert len(list(tmp_path.glob("*-result.json"))) == len(journal.states()) + 1


def test_a_run_that_passes_supersedes_the_exit_code_of_one_before(tmp_path: Path) -> None:
    """Allure shows the newest result of one history."""
    red, green = builders.red(), builders.green()
    ends = zip((red, green), ("2026-11-18T09:00:00+00:00", "2026-11-18T10:00:00+00:00"), strict=True)
    for journal, finished in ends:
        assert journal.end is not None
        run = msgspec.structs.replace(journal.run, id=finished)
        made = msgspec.structs.replace(journal, run=run, end=msgspec.structs.replace(journal.end, finished=finished))
        reasons = () if journal is green else ("11 asked for and not measured: codex 9.9.9",)
        assert list(ResultFiles(allure=str(tmp_path)).complete(finished, made, reasons)) == []
    every = [json.loads(path.read_text()) for path in tmp_path.glob("*-result.json")]
    told = sorted((one for one in every if one["name"] == "the run's exit code"), key=lambda one: int(one["stop"]))
    assert [one["status"] for one in told] == ["broken", "passed"]
    assert len({one["historyId"] for one in told}) == 1
    assert 0 < told[0]["stop"] < told[1]["stop"]


def test_each_case_of_a_machine_that_changed_says_so() -> None:
    journal = builders.green()
    spec = journal.plan.cells[0].environment
    line = EnvironmentLine(id="later", spec=spec, facts={"changed": ["kernel.x was 1, and is 0"]})
    made = msgspec.structs.replace(journal, environments=(*journal.environments, line))
    suite = suite_of(junit.completed(document(journal), made, ("11 the machine changed",)))
    for case in [case for case in suite.iter("testcase") if case.get("classname") != junit.RUN]:
        told = {one.get("name"): one.get("value") for one in case.iterfind("properties/property")}
        here = told["cell"] == journal.plan.cells[0].id
        assert told.get("machine_changed", "") == ("kernel.x was 1, and is 0" if here else "")
    assert "machine_changed" not in junit.completed(document(journal), journal, ()).decode()


def test_a_file_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    (told,) = ResultFiles(junit=str(tmp_path / "no.xml")).complete("run", builders.green(), ())
    assert "FileNotFoundError" in told.fault
