"""Calls that no result names: an attempt that was taken out leaves them behind, and so does a worker that crashed."""

import copy
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_codexsandbox.matrix.shipped_promises import declared
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_content import asks_digest
from tests.unit.journal import builders
from tests.unit.journal.builders import Line, ended, one, results, say, sealed

OUTSIDE, OWN_CALL = "filesystem.outside-change-refused", "process.exit-code-kept"


def _copied(found: list[Line], promise: str) -> Line:
    """Leaves behind a call that an attempt at this promise has made, and returns it."""
    named = results(found, "conforms", promise)[0]["record"]["calls"]
    call = next(line for line in found if line["line"] == "call" and line["id"] in named and not line["control"])
    copied = copy.deepcopy(call)
    copied["id"] = copied["observation"]["id"] = f"{call['id'][:-1]}x"
    found.insert(found.index(call), copied)
    return copied


def _read(found: list[Line], tmp_path: Path) -> ReadJournal:
    return builders.read(ended(sealed(found)), tmp_path / "j.ndjson")


def _is_found(journal: ReadJournal, call: Line) -> bool:
    return any(call["id"] in wrong.why for wrong in journal.contradicted)


def _plan_another(found: list[Line], promise: str, suite: str, *, like: str = OUTSIDE) -> Line:
    """Plans one more promise in the cell of the real Codex, with a result."""
    plan, line = one(found, "plan"), copy.deepcopy(results(found, "conforms", like)[0])
    row = copy.deepcopy(next(row for row in plan["promises"] if row["id"] == like)) | {"id": promise, "suite": suite}
    if own := declared().get(promise):
        row |= {"kind": own.kind, "needs": own.needs, "severity": own.severity, "policies": list(own.policies)}
        row |= {"requires": list(own.requires), "asks": asks_digest(own), "asked": ""}
    plan["promises"].append(row)
    line["promise"] = line["record"]["key"]["promise"] = promise
    plan["keys"].append(line["record"]["key"])
    found.insert(-1, line)
    return line


@pytest.mark.parametrize("promise", [OUTSIDE, OWN_CALL])
@pytest.mark.parametrize("suite", ["generator", "mine"])
def test_a_key_of_another_suite_excuses_no_shipped_call(promise: str, suite: str, tmp_path: Path) -> None:
    found = builders.lines("promises")
    call = _copied(found, promise)
    line = _plan_another(found, "generator.parses" if suite == "generator" else "mine.promise", suite)
    line["record"] |= {"evidence": [], "calls": []}
    assert _is_found(_read(found, tmp_path), call)


def test_a_call_with_acts_of_another_suite_needs_no_result(tmp_path: Path) -> None:
    found = builders.lines("promises")
    call = _copied(found, OUTSIDE)
    for place in ("rows", "before", "after"):
        theirs = {name: seen for name, seen in call["observation"][place].items() if name.startswith("base/")}
        call["observation"][place] = theirs
    assert _is_found(_read(copy.deepcopy(found), tmp_path), call)
    line = _plan_another(found, "mine.promise", "mine")
    line["record"] |= {"evidence": [], "calls": []}
    assert not _is_found(_read(found, tmp_path), call)


def test_a_generator_excuses_no_call_of_another_policy(tmp_path: Path) -> None:
    found = builders.lines("promises")
    call = _copied(found, OUTSIDE)
    for place in ("rows", "before", "after"):
        own = {name: seen for name, seen in call["observation"][place].items() if name.startswith("base/")}
        call["observation"][place] = own
    line = _plan_another(found, "generator.parses", "generator")
    line["record"] |= {"evidence": [], "calls": []}
    assert _is_found(_read(found, tmp_path), call)


def test_a_promise_that_a_probe_rules_out_excuses_no_battery(tmp_path: Path) -> None:
    """Other results name the battery that promises share."""
    found = builders.lines("promises")
    call = _copied(found, OUTSIDE)
    for line in results(found, promise="filesystem.pipe-outside-refused"):
        say(line, "n/a", basis={"how": "ruled-out"}, evidence=[], calls=[])
    assert _is_found(_read(found, tmp_path), call)


def test_a_promise_that_a_probe_rules_out_may_have_made_its_own_call(tmp_path: Path) -> None:
    found = builders.lines("promises")
    line = results(found, "conforms", OWN_CALL)[0]
    own = next(name for name in line["record"]["calls"] if "unconfined" not in name)
    say(line, "n/a", basis={"how": "ruled-out"}, evidence=[], calls=[])
    assert not any(own in wrong.why for wrong in _read(found, tmp_path).contradicted)


def _of_two_workers(found: list[Line], call: Line) -> None:
    line = one(found, "environment")
    line["worker"] = "gw0"
    found.insert(found.index(line), {**line, "id": f"{line['spec']}@gw1", "worker": "gw1"})
    call["environment"] = f"{line['spec']}@gw1"


@pytest.mark.parametrize("crashed", [True, False])
def test_a_worker_that_crashed_makes_the_results_of_its_column_unsure(crashed: bool, tmp_path: Path) -> None:
    found = builders.lines("promises")
    call = _copied(found, OUTSIDE)
    if crashed:
        _of_two_workers(found, call)
    journal = _read(found, tmp_path)
    assert _is_found(journal, call) is not crashed
    seen = call["observation"]
    column = {
        builders.key_of(line)
        for line in results(found)
        if (line["cell"], line["door"], line["policy"]) == (call["cell"], seen["door"], seen["policy"])
    }
    assert column
    if crashed:
        assert (journal.contradicted, column - set(journal.not_rejudged)) == ((), set())
        assert {key.cell for key in journal.not_rejudged} == {call["cell"]}


# ---- ways to hide such a call
def say_that_it_is_a_control(found: list[Line], call: Line) -> None:
    call["control"] = True


def say_that_it_was_lost(found: list[Line], call: Line) -> None:
    call["observation"]["ended"] = "lost"


def name_it_as_the_call_that_shows_the_state(found: list[Line], call: Line) -> None:
    line = results(found, "conforms", OUTSIDE)[0]
    line["record"]["basis"]["started"]["call"] = call["id"]


def name_it_beside_another_call(found: list[Line], call: Line) -> None:
    line = results(found, "conforms", OUTSIDE)[0]
    line["record"]["calls"].insert(1, call["id"])


def name_it_as_a_control(found: list[Line], call: Line) -> None:
    call["control"] = True
    line = results(found, "conforms", OUTSIDE)[0]
    line["record"]["calls"].append(call["id"])


def name_it_in_another_column(found: list[Line], call: Line) -> None:
    other = next(
        line for line in results(found, "conforms", "user.") if line["policy"] != call["observation"]["policy"]
    )
    other["record"]["calls"].append(call["id"])


HIDDEN = (
    say_that_it_is_a_control, say_that_it_was_lost, name_it_as_the_call_that_shows_the_state,
    name_it_beside_another_call, name_it_as_a_control, name_it_in_another_column,
)  # fmt: skip


@pytest.mark.parametrize("hide", HIDDEN, ids=lambda edit: edit.__name__)
def test_a_call_of_an_attempt_that_was_taken_out_cannot_be_hidden(
    hide: Callable[[list[Line], Line], None], tmp_path: Path
) -> None:
    found = builders.lines("promises")
    call = _copied(found, OUTSIDE)
    hide(found, call)
    assert _read(found, tmp_path).contradicted


@pytest.mark.parametrize("promise", [OUTSIDE, OWN_CALL])
def test_a_result_names_no_more_calls_than_its_scenario_makes(promise: str, tmp_path: Path) -> None:
    found = builders.lines("promises")
    call = _copied(found, promise)
    line = results(found, "conforms", promise)[0]
    line["record"]["calls"].insert(1, call["id"])
    assert builders.key_of(line) in {wrong.key for wrong in _read(found, tmp_path).contradicted}


def test_a_row_of_a_generator_names_no_call_of_another_policy(tmp_path: Path) -> None:
    found = builders.lines("generators")
    call = next(line for line in found if line["line"] == "call" and not line["control"])
    call["observation"]["policy"] = "workspace-write"
    wrong = _read(found, tmp_path).contradicted
    assert any(call["id"] in one.why and one.key is None for one in wrong)
    assert any("another policy" in one.why for one in wrong)


def test_a_test_of_a_generator_that_could_not_be_set_up_excuses_its_calls(tmp_path: Path) -> None:
    found = builders.lines("generators")
    call = next(line for line in found if line["line"] == "call" and not line["control"])
    lines = [line for line in results(found) if call["id"] in line["record"]["calls"]]
    for line in lines:
        say(line, "broken", basis={"how": "fault"}, evidence=[], calls=[])
    journal = _read(found, tmp_path)
    assert lines and not any(call["id"] in wrong.why for wrong in journal.contradicted)
