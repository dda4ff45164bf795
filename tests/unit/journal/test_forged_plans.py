"""Forged plans: what a plan says about promises, places and known deviations is derived again, or not believed."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_codexsandbox.cli import main
from pytest_codexsandbox.journal import store
from pytest_codexsandbox.journal.planned_environment import environment_of
from pytest_codexsandbox.journal.record_checks import RecordChecks
from pytest_codexsandbox.matrix.requirements import NEEDS_LINUX
from pytest_codexsandbox.matrix.shipped_promises import declared
from pytest_codexsandbox.model.journal_lines import CellRow, PlanLine, PromiseRow, RunLine
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_content import asks_digest, content_digest
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.verdict import Verdict
from tests.unit.journal import builders
from tests.unit.journal.builders import Edit, Line, ended, one, results, say, sealed

OUTSIDE, START, RESOLVER = "filesystem.outside-change-refused", "start.sandbox-is-on", "dns.system-resolver-fails"
OTHER_CAUSE = "descriptors-not-closed"
NEIGHBOUR = "needs a neighbour (profiles with their own network)"


def _row(found: list[Line], promise: str) -> dict[str, Any]:
    row: dict[str, Any] = next(row for row in one(found, "plan")["promises"] if row["id"] == promise)
    return row


def _rule_out(found: list[Line], line: Line, why: str) -> None:
    one(found, "plan")["not_applicable"][str(builders.key_of(line))] = why
    say(line, "n/a", basis={"how": "ruled-out"}, evidence=[], calls=[], blocked_by="", deviation="")
    line["record"]["reason"] = why


def _leak(found: list[Line]) -> Line:
    """Returns a blocked result whose own rows show a leak."""
    return next(line for line in results(found, "blocked", OUTSIDE) if line["record"]["evidence"])


# ---- n/a by the plan
def require_what_is_not_there(found: list[Line]) -> None:
    _row(found, OUTSIDE)["requires"] = ["network:own"]
    _rule_out(found, _leak(found), NEIGHBOUR)


def require_what_only_a_probe_answers(found: list[Line]) -> None:
    _row(found, OUTSIDE)["requires"] = ["tmp:own"]
    _rule_out(found, _leak(found), "by probe: /tmp is shared with the machine here, and nothing may be made in it")


def rule_out_for_a_free_reason(found: list[Line]) -> None:
    """The promise requires what data answers, and the reason is another one."""
    for line in results(found, promise=RESOLVER):
        _rule_out(found, line, "not in scope this week")


def rule_out_the_start(found: list[Line]) -> None:
    _row(found, START)["requires"] = ["network:own"]
    _rule_out(found, results(found, "violates", START)[0], NEIGHBOUR)


def rule_out_the_start_for_no_requirement(found: list[Line]) -> None:
    _rule_out(found, results(found, "violates", START)[0], NEIGHBOUR)


def require_something_for_a_test_of_the_user(found: list[Line]) -> None:
    """Its calls are taken out as well, so that none is left that no result names."""
    of_test = results(found, promise="user.test-writes-outside")
    _row(found, "user.test-writes-outside")["requires"] = ["network:own"]
    gone = {name for line in of_test for name in line["record"]["calls"]}
    for line in of_test:
        _rule_out(found, line, NEIGHBOUR)
    gone -= {name for line in results(found) for name in line["record"]["calls"]}
    found[:] = [line for line in found if line["line"] != "call" or line["id"] not in gone]


def name_another_user(found: list[Line]) -> None:
    _row(found, "user.test-writes-outside")["requires"] = ["user:root"]
    for cell in one(found, "plan")["cells"]:
        cell["axes"]["user"] = "user"
    _rule_out(found, results(found, "violates", "user.")[0], "needs root; this is user")


def want_linux_for_one_key(found: list[Line]) -> None:
    _rule_out(found, results(found, "violates", "user.")[0], NEEDS_LINUX)


RULED_OUT: tuple[Edit, ...] = (
    require_what_is_not_there, require_what_only_a_probe_answers, rule_out_for_a_free_reason, rule_out_the_start,
    rule_out_the_start_for_no_requirement, require_something_for_a_test_of_the_user, name_another_user,
    want_linux_for_one_key,
)  # fmt: skip


@pytest.mark.parametrize("edit", RULED_OUT, ids=lambda edit: edit.__name__)
def test_a_plan_rules_out_only_what_its_own_lines_rule_out(
    edit: Edit, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, path = builders.lines("promises"), tmp_path / "j.ndjson"
    edit(found)
    journal = builders.read(ended(sealed(found)), path)
    changed = {wrong.key for wrong in journal.contradicted}
    forged = [builders.key_of(line) for line in results(found, "n/a") if _is_forged(line)]
    assert forged and changed >= set(forged)
    assert {journal.states()[key].verdict for key in forged} == {Verdict.BROKEN}
    assert main(["report", str(path)]) == 11
    capsys.readouterr()


@pytest.mark.parametrize(("edit", "promise"), [(rule_out_the_start, START), (name_another_user, "user.")])
def test_a_key_that_the_plan_rules_out_is_found_before_declarations_are_compared(
    edit: Edit, promise: str, tmp_path: Path
) -> None:
    found, path = builders.lines("promises"), tmp_path / "j.ndjson"
    key = builders.key_of(results(found, "violates", promise)[0])
    edit(found)
    builders.write(ended(sealed(found)), path)
    assert key in {wrong.key for wrong in store.read(path).contradicted}


def _is_forged(line: Line) -> bool:
    own = next(each for each in results(builders.lines("promises")) if each["record"]["key"] == line["record"]["key"])
    return bool(line["verdict"] != own["verdict"] or line["record"]["reason"] != own["record"]["reason"])


def test_a_machine_without_linux_makes_no_call(tmp_path: Path) -> None:
    found, path = builders.lines("promises"), tmp_path / "j.ndjson"
    for line in results(found):
        _rule_out(found, line, NEEDS_LINUX)
    keys = {builders.key_of(line) for line in results(found)}
    assert {wrong.key for wrong in builders.read(ended(sealed(found)), path).contradicted} >= keys
    found[:] = [line for line in found if line["line"] not in ("call", "environment")]
    journal = builders.read(ended(sealed(found)), path)
    assert (journal.contradicted, journal.not_rejudged) == ((), ())


@pytest.mark.parametrize("name", ["debian-12", "alpine-3.20"])
def test_an_environment_is_known_by_axes_that_fit_its_id(name: str) -> None:
    axes = {"distro": name, "bwrap": "distro", "profile": "own-network", "user": "u1000", "engine": "docker"}
    row = CellRow(id="x", environment=f"{name}~bwrap-distro~own-network~u1000", subject="1.0.0", axes=axes)
    spec = environment_of(row)
    assert spec is not None and spec.container is not None
    assert (spec.user, spec.resolver, spec.container.profile.network) == ("u1000", "ours", "own")
    for changed in ({"profile": "docker-default"}, {"user": "root"}, {"profile": "mine"}, {"engine": "other"}):
        assert environment_of(msgspec.structs.replace(row, axes=axes | changed)) is None


@pytest.mark.parametrize(
    ("requires", "why", "unsure"),
    [("user:ordinary", "needs an ordinary user; this is root", False), ("network:own", NEIGHBOUR, True)],
)
def test_a_profile_of_the_user_makes_only_its_own_reasons_unsure(requires: str, why: str, unsure: bool) -> None:
    axes = {"distro": "debian-12", "bwrap": "distro", "profile": "mine", "user": "root", "engine": "docker"}
    place, key = "debian-12~bwrap-distro~mine~root", Key(cell="x", door="sandbox", policy="read-only", promise=OUTSIDE)
    row = {**_row(builders.lines("promises"), OUTSIDE), "requires": [requires]}
    plan = PlanLine(
        digest="",
        cells=(CellRow(id="x", environment=place, subject="1.0.0", axes=axes),),
        promises=(msgspec.convert(row, PromiseRow),),
        keys=(key,),
        not_applicable={str(key): why},
    )
    run = RunLine(id="x", started="2026-11-20T00:00:00+00:00", product=builders.TODAY, schema=2)
    checks = RecordChecks(ReadJournal(run=run, plan=plan))
    assert ([*checks.plan_faults([key])], checks.is_plan_unsure(key)) == ([], unsure)


# ---- declarations of promises
DECLARED: dict[str, object] = {
    "kind": "capability",
    "needs": "nothing",
    "severity": "low",
    "requires": ["resolver:ours"],
    "policies": ["read-only"],
    "cases": ["mine"],
    "asks": "0" * 16,
}


@pytest.mark.parametrize("member", DECLARED)
def test_a_shipped_promise_is_what_its_scenario_declares(member: str, tmp_path: Path) -> None:
    found, path = builders.lines("promises"), tmp_path / "j.ndjson"
    _row(found, OUTSIDE)[member] = DECLARED[member]
    journal = builders.read(sealed(found), path)
    keys = {builders.key_of(line) for line in results(found, promise=OUTSIDE)}
    assert keys and {wrong.key for wrong in journal.contradicted} >= keys


@pytest.mark.parametrize("product", [builders.TODAY, "codexsandbox 0.2.1"])
@pytest.mark.parametrize("member", ["suite", "kind", "severity", "needs", "requires"])
def test_a_test_of_a_user_declares_what_all_of_them_do(member: str, product: str, tmp_path: Path) -> None:
    found, path = builders.lines("promises"), tmp_path / "j.ndjson"
    one(found, "run")["product"] = product
    _row(found, "user.test-works")[member] = {**DECLARED, "suite": "generator", "kind": "hygiene"}[member]
    journal = builders.read(sealed(found), path)
    keys = {builders.key_of(line) for line in results(found, promise="user.test-works")}
    wrong = {wrong.key for wrong in journal.contradicted}
    assert keys and (wrong if product == builders.TODAY else wrong | {*journal.not_rejudged}) >= keys


@pytest.mark.parametrize("how", ["another scenario", "another version", "both"])
@pytest.mark.parametrize("promise", [OUTSIDE, RESOLVER])
def test_a_promise_that_was_declared_otherwise_then_is_not_re_judged(how: str, promise: str, tmp_path: Path) -> None:
    found, path = builders.lines("promises"), tmp_path / "j.ndjson"
    row = _row(found, promise)
    row["severity"] = "low"
    if how != "another version":
        row["asked"] = "0" * 16
    if how != "another scenario":
        one(found, "run")["product"] = "codexsandbox 0.2.1"
    journal = builders.read(sealed(found), path)
    keys = {builders.key_of(line) for line in results(found, promise=promise)}
    assert (journal.contradicted, set(journal.not_rejudged)) == ((), keys)


def test_a_promise_of_a_generator_is_compared_too(tmp_path: Path) -> None:
    found, path = builders.lines("generators"), tmp_path / "j.ndjson"
    _row(found, "generator.parses")["kind"] = "hygiene"
    journal = builders.read(sealed(found), path)
    keys = {builders.key_of(line) for line in results(found, promise="generator.parses")}
    assert {key for key in keys if journal.states()[key].verdict is not Verdict.BROKEN} <= set(journal.not_rejudged)


def test_a_key_without_a_result_that_changed_requirements_rule_out_is_not_re_judged(tmp_path: Path) -> None:
    found = builders.lines("promises")
    line = _leak(found)
    require_what_is_not_there(found)
    found.remove(line)
    journal = builders.read(ended(sealed(found)), tmp_path / "j.ndjson")
    assert builders.key_of(line) in journal.not_rejudged


# ---- generators
@pytest.mark.parametrize("written", [True, False], ids=["a result", "no result"])
@pytest.mark.parametrize("spec", ["cmd", "file"])
def test_a_violation_of_a_generator_cannot_be_ruled_out(written: bool, spec: str, tmp_path: Path) -> None:
    found, path = builders.lines("generators"), tmp_path / "j.ndjson"
    line = results(found, "violates")[0]
    _rule_out(found, line, "it writes no file: it gives arguments")
    key = builders.key_of(line)
    if spec == "file":  # its declaration is not here
        one(found, "plan")["generators"][0]["spec"] = "/home/tester/mine.toml"
    if not written:
        found.remove(line)
    journal = builders.read(ended(sealed(found)), path)
    if spec == "file":
        assert key in journal.not_rejudged
    else:
        assert journal.states()[key].verdict is Verdict.BROKEN
        assert key in [wrong.key for wrong in journal.contradicted]


def test_a_generator_that_names_no_older_shape_is_ruled_out_as_its_declaration_says(tmp_path: Path) -> None:
    found, path = builders.lines("generators"), tmp_path / "j.ndjson"
    plan, row = one(found, "plan"), copy.deepcopy(_row(found, "generator.parses"))
    shapes = next(one for one in declared().values() if one.over == "shapes")
    row |= {"id": shapes.id, "severity": shapes.severity, "requires": list(shapes.requires)}
    row |= {"asks": asks_digest(shapes)}
    plan["promises"].append(row)
    why = "its declaration names no older shape that it takes over (migrates_from)"
    key = {**plan["keys"][-1], "promise": shapes.id, "case": ""}
    plan["keys"].append(key)
    plan["not_applicable"][str(msgspec.convert(key, Key))] = why
    journal = builders.read(ended(sealed(found)), path)
    assert (journal.contradicted, journal.not_rejudged) == ((), ())


# ---- another bubblewrap than the requested one
@pytest.mark.parametrize("by", ["call", "facts"])
def test_another_bubblewrap_that_set_up_a_sandbox_is_judged(by: str, tmp_path: Path) -> None:
    found = builders.lines("promises")
    line = results(found, "conforms", OUTSIDE)[0]
    for each in found:
        if by == "facts" and each["line"] == "environment":
            each["facts"]["bwrap_asked"] = {"name": "0.9.0", "source": "static", "sha256": "0" * 64}
        if by == "call" and each["line"] == "call" and each["id"] in line["record"]["calls"] and not each["control"]:
            each["another_bwrap"] = "requested 0.9.0, used another"
    wrong = builders.read(sealed(found), tmp_path / "j.ndjson").contradicted
    assert builders.key_of(line) in {one.key for one in wrong if "another bubblewrap" in one.why}


# ---- other versions
def reword_the_plan(found: list[Line]) -> set[Key]:
    lines = results(found, "n/a")
    for line in lines:
        _rule_out(found, line, "other words")
    return {builders.key_of(line) for line in lines}


def reword_a_probe(found: list[Line]) -> set[Key]:
    line = results(found, "conforms", "process.exit-code-kept")[0]
    used = {name for each in results(found) if each is not line for name in each["record"]["calls"]}
    gone = set(line["record"]["calls"]) - used
    found[:] = [each for each in found if each["line"] != "call" or each["id"] not in gone]
    say(line, "n/a", basis={"how": "ruled-out"}, evidence=[], calls=[])
    line["record"]["reason"] = "by probe: other words"
    return {builders.key_of(line)}


@pytest.mark.parametrize("reword", [reword_the_plan, reword_a_probe], ids=lambda edit: edit.__name__)
@pytest.mark.parametrize("product", [builders.TODAY, "codexsandbox 0.2.1", "codexsandbox 9.0", "other 1"])
def test_reasons_of_another_version_may_have_other_words(
    reword: Callable[[list[Line]], set[Key]], product: str, tmp_path: Path
) -> None:
    found = builders.lines("promises")
    keys = reword(found)
    one(found, "run")["product"] = product
    journal = builders.read(ended(sealed(found)), tmp_path / "j.ndjson")
    if product == builders.TODAY:
        assert {wrong.key for wrong in journal.contradicted} == keys
    else:
        assert (journal.contradicted, set(journal.not_rejudged)) == ((), keys)


def test_a_journal_of_another_version_with_the_same_words_is_judged_again(tmp_path: Path) -> None:
    for name in builders.NAMES:
        found = builders.lines(name)
        one(found, "run")["product"] = "codexsandbox 0.2.1"
        journal = builders.read(sealed(found), tmp_path / "j.ndjson")
        assert (journal.contradicted, journal.not_rejudged) == ((), ())


def test_the_digest_of_a_plan_covers_what_is_asked(tmp_path: Path) -> None:
    found = builders.lines("promises")
    plan = one(found, "plan")
    plan["digest"] = "0" * 64
    plan["content"] = content_digest(msgspec.convert(plan, PlanLine))
    for row in plan["promises"]:
        row["asks"] = ""
    assert builders.read(found, tmp_path / "j.ndjson").contradicted[0].line == 2
