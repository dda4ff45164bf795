"""The exit code and its reasons, from records alone."""

import datetime

import msgspec
import pytest

from pytest_codexsandbox.diagnosis.judge import SANDBOX_WAS_OFF
from pytest_codexsandbox.journal.exit_code import OVERRULED, ExitResult, exit_code, settle, versions
from pytest_codexsandbox.model.cell import Cell, SubjectSpec
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from tests.unit.matrix.builders import cell, environment, plan, promise, record, records

PLAN = plan(promise("start.is-on"), promise(), promise("trust.canary"))


def seen(**policies: Verdict) -> dict[Key, Record]:
    """All conform, but for the promise of the file system under the policies named (`_` for `-`)."""
    wanted = {name.replace("_", "-"): verdict for name, verdict in policies.items()}
    return {
        key: record(key, wanted.get(key.policy, Verdict.CONFORMS) if key.promise.startswith("f") else Verdict.CONFORMS)
        for key in PLAN.keys
    }


def ended(states: dict[Key, Record], **changed: object) -> ExitResult:
    return exit_code(states, planned=PLAN.keys, **changed)  # type: ignore[arg-type]


def codes(outcome: ExitResult) -> list[int]:
    return [int(reason.split()[0]) for reason in outcome.reasons]


def test_all_that_was_planned_conforms_and_nothing_applies() -> None:
    assert ended(seen()) == ExitResult(code=0, reasons=())


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        (Verdict.VIOLATES, 1),
        (Verdict.BROKEN, 10),
        (Verdict.STALE, 12),
        (Verdict.EXPECTED, 0),
        (Verdict.UNCONFINED, 0),
        (Verdict.BLOCKED, 0),
        (Verdict.NOT_APPLICABLE, 0),
    ],
)
def test_each_verdict_has_its_code(verdict: Verdict, code: int) -> None:
    assert ended(seen(read_only=verdict)).code == code


@pytest.mark.parametrize("verdict", [Verdict.BLOCKED, Verdict.UNCONFINED, Verdict.NOT_APPLICABLE])
def test_strict_lets_nothing_pass_that_was_not_shown(verdict: Verdict) -> None:
    outcome = ended(seen(read_only=verdict), strict=True)
    assert outcome.code == 1
    assert "strict: 1 " in outcome.reasons[0]


def test_strict_accepts_full_access_that_was_asked_for() -> None:
    every = tuple(POLICIES)
    asked = plan(promise("start.is-on", policies=every), promise(policies=every), promise("trust.x", policies=every))
    verdicts = {"danger-full-access": Verdict.UNCONFINED}
    states = {key: record(key, verdicts.get(key.policy, Verdict.CONFORMS)) for key in asked.keys}
    assert Verdict.UNCONFINED in {one.verdict for one in states.values()}
    assert exit_code(states, planned=asked.keys, strict=True) == ExitResult(code=0, reasons=())


def test_strict_names_what_it_fails_and_why() -> None:
    states = seen(read_only=Verdict.BLOCKED)
    (key,) = [key for key, one in states.items() if one.verdict is Verdict.BLOCKED]
    states[key] = msgspec.structs.replace(states[key], reason="another bubblewrap")
    assert ended(states, strict=True).reasons == (f"1 strict: 1 blocked: {key} (another bubblewrap)",)


def test_strict_fails_over_what_was_dropped() -> None:
    assert ended(seen(), dropped=("2 results dropped by -k x",)).code == 0
    outcome = ended(seen(), dropped=("2 results dropped by -k x",), strict=True)
    assert outcome.code == 1
    assert [reason.endswith("2 results dropped by -k x") for reason in outcome.reasons] == [True]


def test_a_failure_of_another_plugin_is_a_failure() -> None:
    assert ended(seen(), overruled=True).reasons == (f"1 {OVERRULED}",)


def test_workers_that_disagree_measured_two_things() -> None:
    outcome = ended(seen(), disagreed=("worker gw1 collected another plan",))
    assert outcome.code == 11
    assert [reason.endswith("worker gw1 collected another plan") for reason in outcome.reasons] == [True]


def test_an_unavailable_cell_is_no_success_of_a_strict_run() -> None:
    assert ended(seen(), not_had=("fedora-43",)).code == 0
    outcome = ended(seen(), not_had=("fedora-43",), strict=True)
    assert outcome.code == 1
    assert outcome.reasons[0].startswith("1 strict: ") and "fedora-43" in outcome.reasons[0]


def test_a_part_that_no_other_cell_measures_is_no_success_of_any_run() -> None:
    outcome = ended(seen(), not_had=("codex 9.9.9",), unmeasured=("codex 9.9.9",))
    assert outcome.code == 11
    assert ["measured: codex 9.9.9" in reason for reason in outcome.reasons] == [True]


def test_strict_forgives_what_data_knew_to_be_not_applicable() -> None:
    states = seen(read_only=Verdict.NOT_APPLICABLE)
    from_data = {str(key) for key, one in states.items() if one.verdict is Verdict.NOT_APPLICABLE}
    assert ended(states, strict=True, from_data=from_data).code == 0


def test_a_violation_outranks_faults_of_the_harness_and_all_are_named() -> None:
    states = {**seen(read_only=Verdict.VIOLATES, workspace_write=Verdict.BROKEN)}
    outcome = ended(states, stale=("known: healed",), leaks=("a process",), incomplete="no end")
    assert outcome.code == 1
    assert codes(outcome) == [1, 11, 10, 12, 13]


def test_a_report_that_is_not_there_is_no_success() -> None:
    outcome = ended(seen(), unwritten=("index.html",))
    assert outcome.code == 11
    assert ["written: index.html" in reason for reason in outcome.reasons] == [True]
    assert codes(ended(seen(read_only=Verdict.VIOLATES), unwritten=("index.html",))) == [1, 11]


@pytest.mark.parametrize("code", [2, 3, 4])
def test_an_exit_code_of_pytest_itself_comes_first(code: int) -> None:
    outcome = ended(seen(read_only=Verdict.VIOLATES), pytest_code=code)
    assert codes(outcome) == [code, 1]
    assert outcome.code == code


@pytest.mark.parametrize("code", [0, 1, 5])
def test_counts_of_pytest_do_not_decide(code: int) -> None:
    assert ended(seen(), pytest_code=code).code == 0


def test_a_failed_test_of_the_user_fails_the_run() -> None:
    outcome = ended(seen(), other_failures=2)
    assert outcome.code == 1
    assert [reason.startswith("1 2 failed ") for reason in outcome.reasons] == [True]


def test_leaks_are_counted_first_among_violations() -> None:
    states = {
        key: record(key, Verdict.VIOLATES, direction="leak" if key.policy == "read-only" else "denied")
        for key in PLAN.keys
    }
    assert ended(states).reasons[0] == "1 6 violated (3 leak, 3 denied)"


def test_a_planned_key_without_a_state_does_not_add_up() -> None:
    states = seen()
    states.popitem()
    assert ended(states).code == 11


def test_an_unplanned_result_does_not_add_up() -> None:
    states = seen()
    stranger = Key(cell=cell().id, door="sandbox", policy="read-only", promise="dns.stranger")
    assert ended({**states, stranger: record(stranger)}).code == 11


def test_a_result_under_the_key_of_another_does_not_add_up() -> None:
    first, second, *_ = PLAN.keys
    assert ended({**seen(), first: record(second)}).code == 11


def test_a_key_planned_twice_does_not_add_up() -> None:
    assert exit_code(seen(), planned=(*PLAN.keys, PLAN.keys[0])).code == 11


def test_an_incomplete_journal_is_not_success() -> None:
    outcome = ended(seen(), incomplete="disk full")
    assert outcome.code == 11
    assert "disk full" in outcome.reasons[0]


def test_nothing_planned_is_not_success() -> None:
    assert exit_code({}, planned=()).code == 11


@pytest.mark.parametrize("verdict", [Verdict.NOT_APPLICABLE, Verdict.BLOCKED])
def test_a_cell_in_which_nothing_was_measured_is_not_success(verdict: Verdict) -> None:
    outcome = ended(records(PLAN, verdict))
    assert outcome.code == 11
    assert PLAN.cells[0].id in outcome.reasons[0]


def test_results_of_the_canaries_measure_no_codex() -> None:
    states = {
        key: record(key, Verdict.CONFORMS if key.promise == "trust.canary" else Verdict.NOT_APPLICABLE)
        for key in PLAN.keys
    }
    assert ended(states).code == 11


def refused_start(plan: Plan, cell: str, **words: object) -> dict[Key, Record]:
    """No sandbox starts in this cell, as is known, and all that needs one is blocked."""
    known = {"deviation": "no-namespaces-here", "direction": "denied"} | words
    verdict = known.pop("verdict", Verdict.EXPECTED)
    states = {}
    for key in plan.keys:
        if key.cell == cell and key.promise == "start.is-on":
            states[key] = record(key, verdict, **known)  # type: ignore[arg-type]
        elif key.cell == cell and key.promise != "trust.canary":
            states[key] = record(key, Verdict.BLOCKED)
        else:
            states[key] = record(key, Verdict.CONFORMS)
    return states


@pytest.mark.parametrize("known", [Verdict.EXPECTED, Verdict.STALE])
def test_a_start_that_is_known_to_fail_measures_nothing(known: Verdict) -> None:
    """All that needs a sandbox is blocked by it: a run in which nothing else was measured is no success."""
    states = refused_start(PLAN, PLAN.cells[0].id, verdict=known)
    assert 11 in codes(ended(states))


def test_promises_without_a_sandbox_make_no_success_of_a_run_whose_sandbox_never_starts() -> None:
    states = refused_start(PLAN, PLAN.cells[0].id)
    needless = next(key for key in PLAN.keys if key.promise.startswith("f"))
    assert 11 in codes(ended(states | {needless: record(needless)}))


def test_results_without_a_sandbox_make_no_success_of_a_run_whose_sandbox_never_starts() -> None:
    both = plan(promise("start.is-on", policies=("read-only", "danger-full-access")), promise("trust.canary"))
    states = refused_start(both, both.cells[0].id)
    free = next(key for key in both.keys if key.policy == "danger-full-access" and key.promise == "start.is-on")
    outcome = exit_code(states | {free: record(free, Verdict.UNCONFINED)}, planned=both.keys)
    assert outcome.code == 11
    assert SANDBOX_WAS_OFF in outcome.reasons[0] and "1 known deviation" in outcome.reasons[0]


TWO = plan(promise("start.is-on"), promise(), promise("trust.canary"), cells=(cell("0.1.0"), cell("0.2.0")))


def test_a_cell_whose_sandbox_is_known_not_to_start_may_stand_beside_one_that_was_measured() -> None:
    assert exit_code(refused_start(TWO, TWO.cells[1].id), planned=TWO.keys) == ExitResult(code=0, reasons=())
    assert exit_code(refused_start(TWO, TWO.cells[1].id), planned=TWO.keys, strict=True).code == 1


@pytest.mark.parametrize(
    "words",
    [
        {"direction": "leak"},  # known, and the command ran without the sandbox that was asked for
        {"verdict": Verdict.BLOCKED, "deviation": "", "direction": ""},
        {"verdict": Verdict.NOT_APPLICABLE, "deviation": "", "direction": ""},
    ],
)
def test_nothing_else_excuses_a_cell_in_which_nothing_was_measured(words: dict[str, object]) -> None:
    outcome = exit_code(refused_start(TWO, TWO.cells[1].id, **words), planned=TWO.keys)
    assert outcome.code == 11
    assert "0.2.0" in outcome.reasons[0]


def test_a_refusal_that_is_known_under_one_policy_alone_excuses_nothing() -> None:
    states = refused_start(TWO, TWO.cells[1].id)
    other = next(key for key in states if key.promise == "start.is-on" and "0.2.0" in key.cell)
    assert exit_code(states | {other: record(other, Verdict.BLOCKED)}, planned=TWO.keys).code == 11


def test_known_deviations_of_another_bubblewrap_than_requested_measure_nothing() -> None:
    """Its start is blocked, and so is what held; a known deviation is seen there as well."""
    states = {key: record(key, Verdict.BLOCKED if "0.2.0" in key.cell else Verdict.CONFORMS) for key in TWO.keys}
    known = next(key for key in TWO.keys if "0.2.0" in key.cell and key.promise.startswith("f"))
    states[known] = record(known, Verdict.EXPECTED, deviation="a-root-is-a-file", direction="denied")
    outcome = exit_code(states, planned=TWO.keys)
    assert outcome.code == 11
    assert "0.2.0" in outcome.reasons[0]


def test_a_cell_whose_start_alone_was_lost_does_not_say_that_nothing_was_measured_there() -> None:
    two = plan(promise("start.is-on"), promise("filesystem.x"), cells=(cell("0.1.0"),))
    lost = {key: record(key, Verdict.BROKEN if key.promise == "start.is-on" else Verdict.CONFORMS) for key in two.keys}
    outcome = exit_code(lost, planned=two.keys)
    assert outcome.code == 11
    (reason,) = [reason for reason in outcome.reasons if reason.startswith("11 ")]
    assert two.cells[0].id in reason and "nothing was measured" not in reason


FREE = "danger-full-access"
ASKED = plan(promise("start.is-on", policies=("workspace-write", FREE)), cells=(cell("0.1.0"), cell("0.2.0")))


def starts(*sandboxed: Verdict) -> dict[Key, Record]:
    """Of each cell in turn; without a sandbox, as asked, all goes well."""
    left = iter(sandboxed)
    return {key: record(key, Verdict.UNCONFINED if key.policy == FREE else next(left)) for key in ASKED.keys}


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (Verdict.EXPECTED, Verdict.EXPECTED, "2 known deviation"),
        (Verdict.EXPECTED, Verdict.NOT_APPLICABLE, "1 not applicable, 1 known deviation"),
        (Verdict.NOT_APPLICABLE, Verdict.NOT_APPLICABLE, "2 not applicable"),
        (Verdict.EXPECTED, Verdict.CONFORMS, ""),  # somewhere there was one
        (Verdict.EXPECTED, Verdict.STALE, ""),  # it has healed
        (Verdict.EXPECTED, Verdict.VIOLATES, ""),  # red by itself
        (Verdict.EXPECTED, Verdict.BROKEN, ""),  # said of that cell: nothing was measured in it
    ],
)
def test_a_run_in_which_no_sandbox_was_on_is_no_success_for_any_result_without_one(
    first: Verdict, second: Verdict, said: str
) -> None:
    outcome = exit_code(starts(first, second), planned=ASKED.keys)
    told = [reason for reason in outcome.reasons if "no sandbox was on" in reason]
    assert [f": {said})" in reason for reason in told] == ([True] if said else [])
    assert outcome.code == (
        11 if said else {Verdict.CONFORMS: 0, Verdict.STALE: 12, Verdict.VIOLATES: 1}.get(second, 11)
    )


def test_a_run_that_asks_for_no_sandbox_needs_none() -> None:
    free = plan(promise("start.is-on", policies=(FREE,)))
    assert exit_code(records(free, Verdict.UNCONFINED), planned=free.keys).code == 0


def test_one_empty_cell_among_full_ones_is_named() -> None:
    two = plan(promise(), cells=(cell("0.1.0"), cell("0.2.0")))
    states = {key: record(key, Verdict.BLOCKED if "0.2.0" in key.cell else Verdict.CONFORMS) for key in two.keys}
    outcome = exit_code(states, planned=two.keys)
    assert outcome.code == 11
    assert "0.2.0" in outcome.reasons[0]
    assert "0.1.0" not in outcome.reasons[0]


@pytest.mark.parametrize("words", ["stale", "unmatched"])
def test_an_expectation_that_says_too_much_fails_the_run(words: str) -> None:
    outcome = ended(seen(), **{words: ("known: it says too much",)})
    assert outcome.code == 12
    assert "known" in outcome.reasons[0]


def test_a_leak_of_the_harness_fails_the_run() -> None:
    outcome = ended(seen(), leaks=("a process 1",))
    assert outcome.code == 13
    assert [reason.endswith(": a process 1") for reason in outcome.reasons] == [True]


def test_a_retry_that_passes_does_not_take_a_violation_back() -> None:
    first, *_ = PLAN.keys
    attempts = [*seen().values(), record(first, Verdict.VIOLATES), record(first, attempt=2)]
    found = settle(PLAN, attempts, (), versions={}, today=datetime.date(2026, 11, 18))
    assert found.records[first].verdict is Verdict.VIOLATES


def test_a_planned_check_that_never_ran_is_broken() -> None:
    found = settle(PLAN, (), (), versions={}, today=datetime.date(2026, 11, 18))
    assert {one.verdict for one in found.records.values()} == {Verdict.BROKEN}
    assert codes(ended(found.records)) == [11, 10]


def test_a_check_that_data_rules_out_needs_no_result() -> None:
    there = plan(promise("start.is-on"), promise(requires=("user:ordinary",)))
    found = settle(there, (), (), versions={}, today=datetime.date(2026, 11, 18)).records
    ruled_out = {key for key, one in found.items() if one.verdict is Verdict.NOT_APPLICABLE}
    assert ruled_out == {key for key in there.keys if key.promise.startswith("f")}
    assert all("ordinary user" in found[key].reason for key in ruled_out)
    assert {found[key].verdict for key in found.keys() - ruled_out} == {Verdict.BROKEN}


def test_a_candidates_place_is_what_its_user_says_then_what_it_says_itself() -> None:
    named = Cell(environment=environment(), subject=SubjectSpec(label="a", path="/a", as_version="0.170.0"))
    itself = Cell(environment=environment(), subject=SubjectSpec(label="b", path="/b"))
    neither = Cell(environment=environment(), subject=SubjectSpec(label="c", path="/c"))
    measured = {"a": "0.0.0", "b": "0.155.0-alpha.3", "c": "0.0.0"}
    assert versions((named, itself, neither), measured) == {named.id: "0.170.0", itself.id: "0.155.0-alpha.3"}


def test_an_unavailable_release_keeps_the_place_of_its_name() -> None:
    away = Cell(environment=environment(), subject=SubjectSpec(label="0.150.0", release="0.150.0"))
    assert versions((away,), {}) == {away.id: "0.150.0"}
