"""Forged journals of a real run, whose digests, counts and end were made to fit: none shows a violation as anything
better."""

import re
from pathlib import Path

import pytest

from pytest_codexsandbox.cli import main
from pytest_codexsandbox.matrix.requirements import NEEDS_LINUX
from pytest_codexsandbox.model.verdict import Verdict
from tests.unit.journal import builders
from tests.unit.journal.builders import Edit, Line, ended, one, results, say, sealed

OUTSIDE = "filesystem.outside-change-refused"


def _red(found: list[Line]) -> Line:
    return results(found, "violates", "user.")[0]


def _rule_out(line: Line, reason: str) -> None:
    say(line, "n/a", basis={"how": "ruled-out"}, evidence=[], calls=[])
    line["record"]["reason"] = reason


# ---- reasons for n/a
def rule_out_for_a_free_reason(found: list[Line]) -> None:
    _rule_out(_red(found), "not in scope this week")


def rule_out_for_a_capability_that_nothing_needs(found: list[Line]) -> None:
    _rule_out(_red(found), "by probe: Codex 0.0.0 has no mcp-server at this door")


def rule_out_by_a_machine_that_the_promise_needs_not(found: list[Line]) -> None:
    _rule_out(_red(found), "by probe: /tmp is shared with the machine here, and nothing may be made in it")


def rule_out_by_a_changed_probe(found: list[Line]) -> None:
    """Every other result of this door was measured with the same Codex."""
    line = results(found, "violates", "start.")[0]
    for subject in found:
        if subject["line"] == "subject":
            subject["facts"]["sandbox"] = "none"
    version = next(each["version"] for each in found if each["line"] == "subject" and each["label"] in line["cell"])
    _rule_out(line, f"Codex {version} has no command that runs a program in the sandbox")


def rule_out_a_generators_result(found: list[Line]) -> None:
    _rule_out(results(found, "violates")[0], "by probe: this generator has no such file")


def say_that_the_test_had_nothing_to_do(found: list[Line]) -> None:
    line = _red(found)
    line["record"]["basis"] |= {"skipped": ["there was nothing to do"], "outcome": "passed", "message": ""}
    say(line, "n/a", evidence=[])


def rule_out_in_the_plan(found: list[Line], why: str = "needs a neighbour") -> None:
    line = _red(found)
    one(found, "plan")["not_applicable"][str(builders.key_of(line))] = why
    _rule_out(line, why)


def rule_out_in_the_plan_for_want_of_linux(found: list[Line]) -> None:
    rule_out_in_the_plan(found, NEEDS_LINUX)


PROMISES: tuple[Edit, ...] = (
    rule_out_for_a_free_reason, rule_out_for_a_capability_that_nothing_needs,
    rule_out_by_a_machine_that_the_promise_needs_not, rule_out_by_a_changed_probe, say_that_the_test_had_nothing_to_do,
    rule_out_in_the_plan, rule_out_in_the_plan_for_want_of_linux,
)  # fmt: skip
GENERATORS: tuple[Edit, ...] = (rule_out_a_generators_result,)
EDITS = [*(("promises", edit) for edit in PROMISES), *(("generators", edit) for edit in GENERATORS)]


@pytest.mark.parametrize(("name", "edit"), EDITS, ids=lambda value: getattr(value, "__name__", value))
def test_a_forged_journal_is_an_error(
    name: str, edit: Edit, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, found = tmp_path / "j.ndjson", builders.lines(name)
    before = builders.read(builders.lines(name), path)
    edit(found)
    assert builders.made_greener(before, ended(sealed(found)), path) == ""
    for command in ("report", "diagnose"):
        capsys.readouterr()
        assert main([command, str(path)]) == 11
        assert re.search(r"\bline [0-9]+\b", "".join(capsys.readouterr()))


def test_a_key_that_the_plan_cannot_rule_out_is_broken_without_a_result_too(tmp_path: Path) -> None:
    found = builders.lines("promises")
    line = _red(found)
    rule_out_in_the_plan(found)
    found.remove(line)
    journal = builders.read(ended(sealed(found)), tmp_path / "j.ndjson")
    key = builders.key_of(line)
    assert [wrong.key for wrong in journal.contradicted] == [key]
    assert journal.states()[key].verdict is Verdict.BROKEN


def test_an_exchanged_reason_for_na_is_a_contradiction_of_its_own_line(tmp_path: Path) -> None:
    found = builders.lines("promises")
    line = _red(found)
    rule_out_for_a_free_reason(found)
    (wrong,) = builders.read(ended(sealed(found)), tmp_path / "j.ndjson").contradicted
    assert (wrong.key, wrong.line) == (builders.key_of(line), found.index(line) + 1)
