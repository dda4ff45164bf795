"""What known deviations make of records, strictly."""

import datetime
from typing import Any

import pytest

from pytest_codexsandbox.matrix.expectations import Applied, Deviation, apply
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import OUTLIVES, Evidence, Record
from pytest_codexsandbox.model.verdict import Verdict
from tests.unit.matrix.builders import cell, plan, promise, record, records

TODAY = datetime.date(2026, 11, 18)
OUTSIDE = "filesystem.outside-refused"


def deviation(**changed: Any) -> Deviation:
    words: dict[str, Any] = {
        "id": "known",
        "promise": OUTSIDE,
        "direction": "leak",
        "issue": "https://example.org/1",
        "owner": "somebody",
        "until": datetime.date(2027, 1, 1),
        "reason": "by design",
    }
    return Deviation(**(words | changed))


def applied(plan: Plan, states: dict[Key, Record], *deviations: Deviation, **versions: str) -> Applied:
    places = {one.id: one.subject.as_version or one.subject.label for one in plan.cells}
    return apply(plan, states, deviations, versions=places | versions, today=TODAY)


def violated(plan: Plan, policy: str = "", **changed: Any) -> dict[Key, Record]:
    """The promise is violated under one policy, or under every."""
    return {
        key: record(key, Verdict.VIOLATES, **changed)
        if key.promise == OUTSIDE and policy in ("", key.policy)
        else record(key)
        for key in plan.keys
    }


def verdicts(found: Applied, policy: str = "") -> set[str]:
    return {
        one.verdict.value for key, one in found.records.items() if key.promise == OUTSIDE and policy in ("", key.policy)
    }


def test_a_violation_that_is_known_is_expected_and_names_its_deviation() -> None:
    found = applied(plan(), violated(plan(), reason="it wrote"), deviation())
    assert verdicts(found) == {"expected"}
    known = next(one for one in found.records.values() if one.verdict is Verdict.EXPECTED)
    assert known.deviation == "known"
    assert "2027-01-01" in known.reason and known.reason.endswith("; it wrote")
    assert (found.stale, found.unmatched, found.refused, found.flaky) == ((), (), (), ())


def test_records_of_other_promises_are_not_touched() -> None:
    before = violated(plan())
    found = applied(plan(), before, deviation())
    assert all(found.records[key] is one for key, one in before.items() if key.promise != OUTSIDE)


def test_if_the_promise_holds_everywhere_the_deviation_is_healed() -> None:
    found = applied(plan(), records(plan()), deviation())
    assert verdicts(found) == {"stale"}
    assert [one.split(": ")[:2] for one in found.stale] == [["known", "healed"]]


def test_one_that_is_broader_than_observed_is_stale_where_the_promise_holds() -> None:
    found = applied(plan(), violated(plan(), "read-only"), deviation())
    assert verdicts(found, "read-only") == {"expected"}
    assert verdicts(found, "workspace-write") == {"stale"}
    assert "broader than observed" in found.stale[0]


def test_one_that_says_exactly_where_is_not_stale() -> None:
    found = applied(plan(), violated(plan(), "read-only"), deviation(where={"policy": "read-only"}))
    assert verdicts(found, "read-only") == {"expected"}
    assert verdicts(found, "workspace-write") == {"conforms"}
    assert found.stale == ()


def test_unconfined_is_no_violation_and_heals_too() -> None:
    found = applied(plan(), records(plan(), Verdict.UNCONFINED), deviation())
    assert verdicts(found) == {"stale"}


@pytest.mark.parametrize("until", [TODAY, TODAY - datetime.timedelta(days=1)])
def test_from_its_date_on_it_is_expired(until: datetime.date) -> None:
    found = applied(plan(), violated(plan()), deviation(until=until))
    assert verdicts(found) == {"stale"}
    assert found.stale == (f"known: expired on {until}",)
    assert all(one.direction == "leak" for key, one in found.records.items() if key.promise == OUTSIDE)


def test_the_day_before_it_still_holds() -> None:
    assert verdicts(applied(plan(), violated(plan()), deviation(until=TODAY + datetime.timedelta(days=1)))) == {
        "expected"
    }


@pytest.mark.parametrize(
    "changed", [{"direction": "denied"}, {"cause": "another-cause"}, {"direction": "litter", "cause": "another-cause"}]
)
def test_a_violation_in_another_way_stays_one_and_makes_the_deviation_stale(changed: dict[str, Any]) -> None:
    found = applied(plan(), violated(plan(), **changed), deviation())
    assert verdicts(found) == {"violates"}
    assert found.stale[0].startswith("known: ") and "healed" not in found.stale[0]
    assert any("known " in one.reason and "leak" in one.reason for one in found.records.values())


def test_a_fingerprint_must_be_the_one_that_was_found() -> None:
    known = deviation(fingerprint="userns-denied")
    assert verdicts(applied(plan(), violated(plan(), cause="userns-denied"), known)) == {"expected"}
    assert verdicts(applied(plan(), violated(plan()), known)) == {"violates"}


def test_a_process_that_outlives_its_call_is_covered_by_no_deviation() -> None:
    row = Evidence(
        claim="c", act="", nonce="n", call="1", control="c", control_held=True, saw="s", held=False, reason=OUTLIVES
    )
    found = applied(plan(), violated(plan(), evidence=(row,)), deviation())
    assert verdicts(found) == {"violates"}


@pytest.mark.parametrize("verdict", [Verdict.BROKEN, Verdict.BLOCKED, Verdict.NOT_APPLICABLE])
def test_an_unmeasured_check_is_never_covered_and_shows_nothing(verdict: Verdict) -> None:
    states = records(plan(), verdict)
    found = applied(plan(), states, deviation())
    assert found.records == states
    assert found.stale == ()


def test_a_lost_capability_is_never_covered() -> None:
    found = applied(plan(), violated(plan(), cause="capability-lost"), deviation(fingerprint="capability-lost"))
    assert verdicts(found) == {"violates"}


def test_an_intermittent_one_may_hold_or_not_and_is_counted_as_flaky() -> None:
    found = applied(plan(), violated(plan(), "read-only"), deviation(intermittent="3/96"))
    assert verdicts(found, "read-only") == {"expected"}
    assert verdicts(found, "workspace-write") == {"conforms"}
    assert found.stale == ()
    assert {key.policy for key in found.flaky} == {"read-only", "workspace-write"}


def test_an_intermittent_one_expires_like_any_other() -> None:
    found = applied(plan(), violated(plan()), deviation(intermittent="3/96", until=TODAY))
    assert verdicts(found) == {"stale"}
    assert "expired" in found.stale[0]


def test_if_two_describe_it_the_one_that_is_not_expired_counts() -> None:
    old = deviation(id="old", until=TODAY)
    found = applied(plan(), violated(plan()), old, deviation(id="new"))
    assert {one.deviation for key, one in found.records.items() if key.promise == OUTSIDE} == {"new"}
    assert found.stale == (f"old: expired on {TODAY}",)


# ---- where it binds


def three() -> Plan:
    cells = tuple(cell(label) for label in ("0.114.0", "0.136.0", "0.155.0"))
    return plan(cells=cells)


@pytest.mark.parametrize(
    ("where", "bound"),
    [
        ({"codex": ">=0.115,<0.155"}, {"0.136.0"}),
        ({"codex": "==0.136.*"}, {"0.136.0"}),
        ({"codex": "0.136.0"}, {"0.136.0"}),
        ({"codex": ("0.114.0", "0.136.0")}, {"0.114.0", "0.136.0"}),
        ({"codex": "0.1[35]*"}, {"0.136.0", "0.155.0"}),
        ({"distro": "debian-*"}, {"0.114.0", "0.136.0", "0.155.0"}),
        ({"distro": "fedora-*"}, set()),
        ({"engine": "docker"}, set()),
        ({"user": ("root", "uid-1000"), "codex": "<0.120"}, {"0.114.0"}),
    ],
)
def test_the_key_where_names_the_bound_cells(where: dict[str, Any], bound: set[str]) -> None:
    found = applied(three(), violated(three()), deviation(where=where))
    labels = {one.id: one.subject.label for one in three().cells}
    assert {labels[key.cell] for key, one in found.records.items() if one.verdict is Verdict.EXPECTED} == bound


@pytest.mark.parametrize(
    ("version", "inside"), [("0.155.0-alpha.3", True), ("0.154.0", True), ("0.155.0", True), ("0.156.0-alpha.1", False)]
)
def test_pre_releases_have_their_place_in_ranges(version: str, inside: bool) -> None:
    one = plan(cells=(cell(version),))
    found = applied(one, violated(one), deviation(where={"codex": ">=0.154,<0.156"}))
    assert verdicts(found) == ({"expected"} if inside else {"violates"})


@pytest.mark.parametrize("version", ["", "0.0.0", "0.0.0-dev", "not a version"])
def test_without_a_place_a_range_is_refused_and_says_how_to_give_one(version: str) -> None:
    one = plan(cells=(cell("candidate"),))
    found = apply(
        one,
        violated(one),
        (deviation(where={"codex": ">=0.115"}),),
        versions={cell("candidate").id: version},
        today=TODAY,
    )
    assert verdicts(found) == {"violates"}
    assert len(found.refused) == 1
    assert "candidate" in found.refused[0]
    assert "@VERSION" in found.refused[0]


def test_with_a_place_the_same_candidate_is_covered() -> None:
    one = plan(cells=(cell("candidate"),))
    found = apply(
        one,
        violated(one),
        (deviation(where={"codex": ">=0.115"}),),
        versions={cell("candidate").id: "0.170.0"},
        today=TODAY,
    )
    assert verdicts(found) == {"expected"}
    assert found.refused == ()


def test_a_range_of_cells_that_it_does_not_bind_anyway_is_not_refused() -> None:
    one = plan(cells=(cell("candidate"),))
    where = {"codex": ">=0.115", "distro": "fedora-*"}
    assert apply(one, violated(one), (deviation(where=where),), versions={}, today=TODAY).refused == ()


def test_a_case_is_bound_alone() -> None:
    one = plan(promise(cases=("udp", "tcp")))
    found = applied(one, violated(one), deviation(case="udp"))
    assert {(key.case, record.verdict.value) for key, record in found.records.items()} == {
        ("udp", "expected"),
        ("tcp", "violates"),
    }


def test_a_glob_covers_several_promises() -> None:
    one = plan(promise(), promise("filesystem.other"))
    states = records(one, Verdict.VIOLATES, direction="leak")
    assert {
        record.verdict.value for record in applied(one, states, deviation(promise="filesystem.*")).records.values()
    } == {"expected"}


# ---- what can never fit


@pytest.mark.parametrize("changed", [{"where": {"policy": "danger-full-access"}}, {"case": "icmp"}])
def test_one_that_can_never_fit_its_promise_is_unmatched(changed: dict[str, Any]) -> None:
    found = applied(plan(), records(plan()), deviation(**changed))
    assert len(found.unmatched) == 1
    assert found.unmatched[0].startswith("known: ")


@pytest.mark.parametrize(
    "changed", [{"where": {"distro": "fedora-43"}}, {"promise": "dns.not-chosen"}, {"where": {"codex": "<0.100"}}]
)
def test_one_of_another_cell_or_of_a_promise_that_was_not_chosen_is_no_error(changed: dict[str, Any]) -> None:
    found = applied(plan(), records(plan()), deviation(**changed))
    assert (found.unmatched, found.stale, found.refused) == ((), (), ())


def test_a_policy_that_was_only_not_chosen_is_no_error() -> None:
    one = plan(only=("read-only",))
    assert applied(one, violated(one), deviation(where={"policy": "workspace-write"})).unmatched == ()


def test_one_record_of_many_is_judged_as_it_is_among_all() -> None:
    one = three()
    states = violated(one, "read-only")
    known = deviation(where={"codex": "<0.150"})
    whole = applied(one, states, known).records
    assert all(applied(one, {key: state}, known).records[key] == whole[key] for key, state in states.items())


@pytest.mark.parametrize("policy", ["", "read-only"])
@pytest.mark.parametrize("changed", [{}, {"until": TODAY}, {"intermittent": "3/96"}, {"direction": "denied"}])
def test_applying_twice_is_applying_once(policy: str, changed: dict[str, Any]) -> None:
    once = applied(plan(), violated(plan(), policy, reason="it wrote"), deviation(**changed))
    assert applied(plan(), once.records, deviation(**changed)) == once


def test_a_healed_mark_is_taken_back_when_nothing_speaks_of_it_any_more() -> None:
    before = records(plan())
    healed = applied(plan(), before, deviation()).records
    assert {one.verdict for one in applied(plan(), healed).records.values()} == {Verdict.CONFORMS}
