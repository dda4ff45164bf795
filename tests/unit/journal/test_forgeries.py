"""Forged journals of a real run, whose digests, counts and end were made to fit: none shows a violation as anything
better."""

import copy
import json
import re
from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.cli import main
from pytest_codexsandbox.errors import Contradiction
from pytest_codexsandbox.journal.references import Parts
from pytest_codexsandbox.journal.rejudge import NO_BASIS
from pytest_codexsandbox.journal.run_checks import PLAN_CHANGED
from pytest_codexsandbox.journal.running_sum import without_sum
from pytest_codexsandbox.journal.store import JournalWriter
from pytest_codexsandbox.matrix.requirements import NEEDS_LINUX
from pytest_codexsandbox.model import journal_lines
from pytest_codexsandbox.model.plan_content import content_digest
from pytest_codexsandbox.model.verdict import Verdict
from tests.unit.journal import builders
from tests.unit.journal.builders import Edit, Line, ended, one, results, say, sealed

OUTSIDE = "filesystem.outside-change-refused"


def _red(found: list[Line]) -> Line:
    return results(found, "violates", "user.")[0]


def _rule_out(line: Line, reason: str) -> None:
    say(line, "n/a", basis={"how": "ruled-out"}, evidence=[], calls=[], blocked_by="")
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


# ---- attempts and calls that vanish
def take_out_a_result_and_its_key(found: list[Line]) -> None:
    line = _red(found)
    one(found, "plan")["keys"].remove(line["record"]["key"])
    found.remove(line)


def take_out_a_red_attempt(found: list[Line]) -> None:
    """The calls of the first attempt stay behind; the second one, which is green, is now the first."""
    named = results(found, "conforms", "user.")[0]["record"]["calls"]
    call = next(line for line in found if line["line"] == "call" and line["id"] == named[1])
    assert not call["control"]
    copied = copy.deepcopy(call)
    copied["id"] = copied["observation"]["id"] = f"{call['id'][:-1]}x"
    found.insert(found.index(call), copied)


PROMISES: tuple[Edit, ...] = (
    rule_out_for_a_free_reason, rule_out_for_a_capability_that_nothing_needs,
    rule_out_by_a_machine_that_the_promise_needs_not, rule_out_by_a_changed_probe, say_that_the_test_had_nothing_to_do,
    rule_out_in_the_plan, rule_out_in_the_plan_for_want_of_linux, take_out_a_result_and_its_key, take_out_a_red_attempt,
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
    assert [wrong.key for wrong in journal.contradicted if wrong.key is not None] == [key]
    assert journal.states()[key].verdict is Verdict.BROKEN


def test_an_exchanged_reason_for_na_is_a_contradiction_of_its_own_line(tmp_path: Path) -> None:
    found = builders.lines("promises")
    line = _red(found)
    rule_out_for_a_free_reason(found)
    every = builders.read(ended(sealed(found)), tmp_path / "j.ndjson").contradicted
    (wrong,) = (one for one in every if one.key is not None)
    assert (wrong.key, wrong.line) == (builders.key_of(line), found.index(line) + 1)


# ---- journals of schema 1
def green_beside_a_red_row(found: list[Line]) -> None:
    say(_red(found), "conforms")


def unconfined_beside_a_red_row(found: list[Line]) -> None:
    say(_red(found), "unconfined")


def ruled_out_beside_a_red_row(found: list[Line]) -> None:
    say(_red(found), "n/a")


def green_without_rows(found: list[Line]) -> None:
    say(_red(found), "conforms", evidence=[])


def green_without_a_control(found: list[Line]) -> None:
    line = _red(found)
    for row in line["record"]["evidence"]:
        row |= {"held": True, "control": ""}
    say(line, "conforms")


OLD: tuple[Edit, ...] = (
    green_beside_a_red_row, unconfined_beside_a_red_row, ruled_out_beside_a_red_row, green_without_rows,
    green_without_a_control,
)  # fmt: skip


@pytest.mark.parametrize("edit", OLD, ids=lambda edit: edit.__name__)
def test_rows_of_an_earlier_version_are_compared_with_its_verdict(edit: Edit, tmp_path: Path) -> None:
    found, path = builders.of_an_earlier_version(builders.lines("promises")), tmp_path / "j.ndjson"
    assert builders.read(found, path).contradicted == ()
    key = builders.key_of(_red(found))
    edit(found)
    journal = builders.read(found, path)
    assert [wrong.key for wrong in journal.contradicted] == [key]
    assert journal.states()[key].verdict is Verdict.BROKEN
    assert main(["report", str(path)]) == 11


@pytest.mark.parametrize("kept", ["asked", "expectations", "requires", "others", "release"])
def test_a_journal_that_lost_its_basis_keeps_traces_of_it(kept: str, tmp_path: Path) -> None:
    found, whole = (builders.lines("promises") for _ in range(2))
    plan, old, end = one(found, "plan"), one(whole, "plan"), one(found, "end")
    others = end["others"]
    builders.of_an_earlier_version(found)
    rows = {"asked": "promises", "requires": "promises", "release": "cells"}
    if kept in rows:
        for row, before in zip(plan[rows[kept]], old[rows[kept]], strict=True):
            row[kept] = before[kept]
    elif kept == "others":
        end[kept] = others
    else:
        plan[kept] = old[kept]
    journal = builders.read(found, tmp_path / "j.ndjson")
    assert {wrong.why for wrong in journal.contradicted} >= {NO_BASIS, PLAN_CHANGED}


def _in_schema_2(found: list[Line], folder: Path) -> Path:
    first, *rest = [msgspec.convert(line, journal_lines.Line) for line in found]
    writer = JournalWriter.open(folder, first)
    for line in rest[:-1]:
        writer.write(line)
    writer.write_end(rest[-1])
    writer.close()
    return writer.path


@pytest.mark.parametrize("left", ["sums", "counts", "product"])
def test_a_journal_of_schema_2_that_says_that_it_is_one_of_schema_1_is_refused(left: str, tmp_path: Path) -> None:
    parts, lines = Parts(), []
    for raw in _in_schema_2(builders.lines("promises"), tmp_path).read_bytes().splitlines():
        line = without_sum(raw)
        if line.startswith(b'{"line":"part"'):
            parts.add(line)
            continue
        members = msgspec.json.decode(parts.whole(line))
        if left != "counts":
            members.pop("keys_digest", None), members.pop("lines", None)
        lines.append(members | ({"sum": "0" * 8} if left == "sums" else {}))
    lines[0] |= {"schema": 1, "product": builders.TODAY if left == "product" else builders.OLD}
    with pytest.raises(Contradiction) as caught:
        builders.read(lines, tmp_path / "j.ndjson")
    assert caught.value.where.endswith(f"line {2 if left == 'counts' else 1}")


# ---- rows that cannot be made again
def _with_a_violation(found: list[Line]) -> list[Line]:
    """Makes a result whose calls show a violation: its file outside was written."""
    line = results(found, "conforms", OUTSIDE)[0]
    calls = {each["id"]: each for each in found if each["line"] == "call"}
    name, control = line["record"]["calls"][0], line["record"]["calls"][-1]
    seen, outside = calls[name]["observation"], calls[control]["observation"]
    acts = [act for act in seen["rows"] if act.startswith(OUTSIDE)]
    for act in acts:
        seen["rows"][act] = copy.deepcopy(outside["rows"][act])
        seen["after"] |= {path: copy.deepcopy(look) for path, look in outside["after"].items() if path.startswith(act)}
    return found


def test_a_violation_that_only_its_call_shows_is_found_with_its_line(tmp_path: Path) -> None:
    found = _with_a_violation(builders.lines("promises"))
    line = results(found, "conforms", OUTSIDE)[0]
    wrong = builders.read(found, tmp_path / "j.ndjson").contradicted
    assert (builders.key_of(line), found.index(line) + 1) in [(one.key, one.line) for one in wrong]


def _redact_its_call(found: list[Line]) -> None:
    named = results(found, "conforms", OUTSIDE)[0]["record"]["calls"]
    for line in found:
        if line["line"] == "call" and line["id"] in named:
            line["observation"]["stdout"] = "[redacted]"


def _forge_its_scenario(found: list[Line]) -> None:
    for row in one(found, "plan")["promises"]:
        row["asked"] = "0" * 16 if row["id"] == OUTSIDE else row["asked"]


@pytest.mark.parametrize("edit", [_redact_its_call, _forge_its_scenario], ids=lambda edit: edit.__name__)
def test_a_result_whose_rows_cannot_be_made_again_is_not_shown_as_re_judged(
    edit: Edit, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, path = _with_a_violation(builders.lines("promises")), tmp_path / "j.ndjson"
    key = builders.key_of(results(found, "conforms", OUTSIDE)[0])
    edit(found)
    journal = builders.read(sealed(found), path)
    assert key in journal.not_rejudged and journal.not_replayed == (OUTSIDE,)
    assert main(["report", str(path), "--format", "json"]) in (0, 11)  # the state of its sandbox may contradict as well
    document = json.loads(capsys.readouterr().out)
    assert document["not_rejudged"] == len(journal.not_rejudged)
    unsure = [each for each in document["results"] if not each["rejudged"]]
    assert {each["promise"] for each in unsure} == {OUTSIDE}
    for word in ("terminal", "markdown", "html"):
        main(["report", str(path), "--format", word])
        shown = capsys.readouterr().out
        assert f"NOT RE-JUDGED: {len(unsure)} of {len(document['results'])} results" in shown and "✅" not in shown


# ---- suites
@pytest.mark.parametrize("suite", ["", "mine"])
def test_a_shipped_promise_belongs_to_its_suite(suite: str, tmp_path: Path) -> None:
    found = builders.lines("promises")
    for row in one(found, "plan")["promises"]:
        row["suite"] = suite if row["id"] == OUTSIDE else row["suite"]
    wrong = builders.read(sealed(found), tmp_path / "j.ndjson").contradicted
    places = {found.index(line) + 1 for line in results(found, promise=OUTSIDE)}
    assert places and {one.line for one in wrong} == places


def test_a_reason_of_another_suite_is_not_re_judged(tmp_path: Path) -> None:
    found = builders.lines("promises")
    row = next(row for row in one(found, "plan")["promises"] if row["id"] == OUTSIDE)
    row |= {"id": "mine.promise", "suite": "mine"}
    for line in results(found, promise=OUTSIDE):
        line["promise"] = line["record"]["key"]["promise"] = "mine.promise"
        _rule_out(line, "no neighbour here")
    for key in one(found, "plan")["keys"]:
        key["promise"] = "mine.promise" if key["promise"] == OUTSIDE else key["promise"]
    journal = builders.read(ended(sealed(found)), tmp_path / "j.ndjson")
    keys = [builders.key_of(line) for line in results(found, promise="mine.")]
    assert (journal.contradicted, list(journal.not_rejudged)) == ((), keys)


# ---- the plan
@pytest.mark.parametrize("edit", ["digest", "keys", "asks"])
def test_the_digest_of_a_plan_is_that_of_its_keys(edit: str, tmp_path: Path) -> None:
    found = builders.lines("promises")
    plan = one(found, "plan")
    if edit == "digest":
        plan["digest"] = "0" * 64
    elif edit == "keys":
        take_out_a_result_and_its_key(found)
    else:
        for row in plan["promises"]:
            row["asks"] = ""
    plan["content"] = content_digest(msgspec.convert(plan, journal_lines.PlanLine))
    first, *_ = builders.read(ended(found), tmp_path / "j.ndjson").contradicted
    assert (first.line, first.why) == (2, f"{PLAN_CHANGED}: digest")
