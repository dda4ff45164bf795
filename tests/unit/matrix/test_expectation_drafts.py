"""The fewest entries that say what was seen: found again by applying them."""

import datetime
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_codexsandbox.matrix.expectation_drafts import Draft, drafts
from pytest_codexsandbox.matrix.expectations import Deviation, apply
from pytest_codexsandbox.model.journal_lines import CellRow
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from tests.unit.matrix.builders import cell, plan, promise, record

LABELS = ("0.114.0", "0.136.0", "0.155.0")
PLAN = plan(promise(cases=("udp", "tcp[0]")), cells=tuple(cell(label) for label in LABELS))
ROWS = tuple(
    CellRow(id=one.id, environment=one.environment.id, subject=one.subject.label, axes=one.axes) for one in PLAN.cells
)
SEEN = st.sampled_from(["conforms", "leak", "leak", "denied", "caused", "broken"])


def states(seen: dict[Key, str], plan: Plan = PLAN) -> dict[Key, Record]:
    return {key: _state(key, seen.get(key, "conforms")) for key in plan.keys}


def _state(key: Key, seen: str) -> Record:
    if seen == "caused":
        return record(key, Verdict.VIOLATES, cause="some-cause")
    if seen in ("leak", "denied"):
        return record(key, Verdict.VIOLATES, direction=seen, reason="it was seen")
    return record(key, Verdict(seen))


def as_deviation(draft: Draft) -> Deviation:
    return Deviation(
        id=draft.id,
        promise=draft.promise,
        direction=draft.direction,  # type: ignore[arg-type]
        fingerprint=draft.fingerprint,
        where=dict(draft.where),
        case=draft.case,
        issue="one",
        owner="somebody",
        until=datetime.date(2030, 1, 1),
        reason=draft.reason,
    )


def test_one_way_everywhere_is_one_entry_that_names_environment_and_releases() -> None:
    (draft,) = drafts(states(dict.fromkeys(PLAN.keys, "leak")), ROWS)
    assert draft.where == {"environment": ("debian-12~host~local",), "codex": LABELS}
    assert (draft.case, draft.direction, draft.count) == ((), "leak", 12)


def test_a_policy_is_named_where_the_others_hold() -> None:
    (draft,) = drafts(states({key: "leak" for key in PLAN.keys if key.policy == "read-only"}), ROWS)
    assert draft.where["policy"] == ("read-only",)
    assert draft.count == 6


def test_two_ways_are_two_entries() -> None:
    seen = {key: "leak" if key.policy == "read-only" else "denied" for key in PLAN.keys}
    assert {draft.direction for draft in drafts(states(seen), ROWS)} == {"leak", "denied"}


def test_nothing_violated_is_no_entry() -> None:
    assert drafts(states({}), ROWS) == ()


def test_a_lost_capability_is_never_written_down() -> None:
    lost = {key: record(key, Verdict.VIOLATES, cause="capability-lost") for key in PLAN.keys}
    assert drafts(lost, ROWS) == ()


def test_ids_that_are_taken_are_not_given_again() -> None:
    (draft,) = drafts(states(dict.fromkeys(PLAN.keys, "leak")), ROWS, taken=("filesystem-outside-refused",))
    assert draft.id == "filesystem-outside-refused-2"


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(SEEN, min_size=len(PLAN.keys), max_size=len(PLAN.keys)))
def test_applied_to_the_same_run_they_cover_every_violation_and_nothing_is_stale(seen: list[str]) -> None:
    before = states(dict(zip(PLAN.keys, seen, strict=True)))
    found = drafts(before, ROWS)
    versions = {one.id: one.subject.label for one in PLAN.cells}
    after = apply(PLAN, before, map(as_deviation, found), versions=versions, today=datetime.date(2026, 1, 1))
    assert (after.stale, after.unmatched) == ((), ())
    violated = {key for key, one in before.items() if one.verdict is Verdict.VIOLATES}
    assert {key for key, one in after.records.items() if one.verdict is Verdict.EXPECTED} == violated
    assert len(found) <= len(violated)


def test_every_rectangle_of_violations_is_one_entry() -> None:
    """Two releases by two policies by two cases: eight violations, one entry."""
    inside = set(product(("0.114.0", "0.155.0"), ("read-only", "workspace-write"), ("udp", "tcp[0]")))
    labels = {one.id: one.subject.label for one in PLAN.cells}
    seen = {key: "leak" for key in PLAN.keys if (labels[key.cell], key.policy, key.case) in inside}
    (draft,) = drafts(states(seen), ROWS)
    assert draft.where["codex"] == ("0.114.0", "0.155.0")
