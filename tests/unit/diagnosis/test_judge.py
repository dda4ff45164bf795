"""A verdict has no default: only evidence with its control, under a sandbox that was proved to be on, is green."""

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_codexsandbox.diagnosis.judge import ANOTHER, SANDBOX_WAS_OFF, SANDBOX_WAS_ON, Judged, Outcome, judge
from pytest_codexsandbox.model.bwrap_used import BLOCKED_BY
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Evidence
from pytest_codexsandbox.model.sandbox_state import SandboxState
from pytest_codexsandbox.model.verdict import DIRECTIONS, WORST_FIRST, Verdict
from tests.unit.diagnosis.builders import SAME, promise, row, started

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
STATES = ("on", "off", "failed", "unknown")


def judged(
    evidence: tuple[Evidence, ...] = (row(),),
    *,
    of: Promise | None = None,
    outcome: Outcome = "passed",
    state: str = "on",
    sandboxed: bool = True,
    message: str = "",
) -> Judged:
    return judge(
        of or promise(),
        outcome=outcome,
        message=message,
        evidence=evidence,
        started=started(state),
        sandboxed=sandboxed,
    )


def test_a_promise_that_held_with_its_control_under_a_sandbox_conforms() -> None:
    assert judged().verdict is Verdict.CONFORMS


def test_a_test_that_passed_without_evidence_is_broken() -> None:
    found = judged(())
    assert found.verdict is Verdict.BROKEN
    assert "without evidence" in found.reason


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"control": ""}, "there was no control"),
        ({"control": "ENOENT", "control_held": False}, "the control failed: ENOENT"),
        ({"control_held": False, "held": False}, "the control failed"),
        ({"call": ""}, "belongs to no call"),
    ],
)
def test_a_row_that_lacks_what_makes_it_evidence_is_broken(words: dict[str, Any], said: str) -> None:
    found = judged((row(), row(**words)))
    assert found.verdict is Verdict.BROKEN
    assert said in found.reason


def test_a_sandbox_that_is_off_in_one_call_alone_is_a_leak_although_the_start_promise_held() -> None:
    alone = SandboxState(state="off", why="a write that no sandbox allows went through", alone=True)
    found = judge(promise(), outcome="passed", message="", evidence=(row(),), started=alone, sandboxed=True)
    assert (found.verdict, found.direction) == (Verdict.VIOLATES, "leak")
    assert found.reason.startswith(SANDBOX_WAS_OFF)


def test_nothing_holds_in_a_call_of_which_the_sandbox_is_not_known() -> None:
    doubtful = SandboxState(state="on", why="", doubt="in this promise's own call: the probe was not read")

    def found(evidence: Evidence, *, sandboxed: bool = True, **words: Any) -> Verdict:
        of = promise(**words)
        return judge(
            of, outcome="passed", message="", evidence=(evidence,), started=doubtful, sandboxed=sandboxed
        ).verdict

    for kind in ("boundary", "capability", "claim", "hygiene"):
        assert found(row(), kind=kind) is Verdict.BROKEN
    assert found(row(held=False), kind="capability") is Verdict.VIOLATES
    assert found(row(), needs="nothing") is Verdict.CONFORMS
    assert found(row(), sandboxed=False) is not Verdict.BROKEN


def test_a_row_without_a_control_cannot_accuse_codex() -> None:
    assert judged((row(held=False, control=""),)).verdict is Verdict.BROKEN


def test_a_skip_is_not_a_measurement() -> None:
    found = judged(outcome="skipped", message="no network here")
    assert found.verdict is Verdict.BROKEN
    assert "no network here" in found.reason


@pytest.mark.parametrize("outcome", ["failed", "error"])
def test_a_scenario_that_failed_although_every_row_held_is_broken(outcome: Outcome) -> None:
    found = judged(outcome=outcome, message="KeyError: 'x'\n  more")
    assert found.verdict is Verdict.BROKEN
    assert "KeyError: 'x' more" in found.reason


@pytest.mark.parametrize("outcome", ["passed", "failed", "error"])
def test_a_broken_promise_is_a_violation_for_every_outcome_of_pytest(outcome: Outcome) -> None:
    found = judged((row(), row(held=False, saw="written", direction="leak")), outcome=outcome)
    assert (found.verdict, found.direction) == (Verdict.VIOLATES, "leak")
    assert "saw: written" in found.reason


@pytest.mark.parametrize("first", range(len(DIRECTIONS)))
def test_the_worst_of_several_directions_is_recorded(first: int) -> None:
    rows = tuple(row(held=False, direction=direction) for direction in reversed(DIRECTIONS[first:]))
    assert judged(rows).direction == DIRECTIONS[first]


@pytest.mark.parametrize(
    ("kind", "direction"),
    [("boundary", "leak"), ("capability", "denied"), ("claim", "wrong-claim"), ("hygiene", "litter")],
)
def test_a_row_that_names_no_direction_gets_that_of_the_promise(kind: str, direction: str) -> None:
    assert judged((row(held=False),), of=promise(kind=kind)).direction == direction


@pytest.mark.parametrize(
    ("state", "verdict"),
    [("off", Verdict.BLOCKED), ("failed", Verdict.BLOCKED), ("unknown", Verdict.BROKEN), ("on", Verdict.CONFORMS)],
)
def test_a_promise_that_needs_a_sandbox_is_not_measured_without_one(state: str, verdict: Verdict) -> None:
    found = judged(state=state)
    assert found.verdict is verdict
    assert state == "on" or f"because it was {state}" in found.reason


@pytest.mark.parametrize("state", ["off", "failed"])
@pytest.mark.parametrize("outcome", ["passed", "failed", "error"])
def test_a_blocked_promise_stays_blocked_however_its_scenario_ended(state: str, outcome: Outcome) -> None:
    assert judged((), state=state, outcome=outcome).verdict is Verdict.BLOCKED
    assert judged((row(held=False),), state=state, outcome=outcome).verdict is Verdict.BLOCKED


@pytest.mark.parametrize(
    ("state", "verdict", "direction"),
    [
        ("on", Verdict.CONFORMS, ""),
        ("off", Verdict.VIOLATES, "leak"),
        ("failed", Verdict.VIOLATES, "denied"),
        ("unknown", Verdict.BROKEN, ""),
    ],
)
def test_the_start_promise_is_decided_by_the_start(state: str, verdict: Verdict, direction: str) -> None:
    found = judged(of=promise("start.sandbox-is-on", needs="nothing"), state=state)
    assert (found.verdict, found.direction) == (verdict, direction)


@pytest.mark.parametrize(
    ("state", "verdict", "direction"),
    [
        ("off", Verdict.UNCONFINED, ""),
        ("on", Verdict.VIOLATES, "denied"),
        ("failed", Verdict.VIOLATES, "denied"),
        ("unknown", Verdict.BROKEN, ""),
    ],
)
def test_without_a_sandboxed_policy_the_start_promise_wants_none(state: str, verdict: Verdict, direction: str) -> None:
    found = judged(of=promise("start.sandbox-is-on", needs="nothing"), state=state, sandboxed=False)
    assert (found.verdict, found.direction) == (verdict, direction)


def test_the_start_promise_too_needs_evidence() -> None:
    assert judged((), of=promise("start.sandbox-is-on", needs="nothing")).verdict is Verdict.BROKEN


@pytest.mark.parametrize("state", ["off", "failed", "unknown"])
def test_a_promise_that_needs_no_sandbox_is_measured_without_one_and_says_so(state: str) -> None:
    found = judged(of=promise("process.exit-code-kept", needs="nothing"), state=state)
    assert found.verdict is Verdict.CONFORMS
    words = "could not determine" if state == "unknown" else "the sandbox was not on"
    assert words in found.reason
    assert judged((row(held=False),), of=promise(needs="nothing"), state=state).verdict is Verdict.VIOLATES


def test_work_without_a_sandbox_as_asked_is_unconfined_and_never_conforms() -> None:
    assert judged(state="off", sandboxed=False).verdict is Verdict.UNCONFINED


def test_broken_work_without_a_sandbox_is_a_violation() -> None:
    rows = (row(held=False, direction="denied"),)
    assert judged(rows, state="off", sandboxed=False).verdict is Verdict.VIOLATES


def test_an_unrequested_sandbox_is_named() -> None:
    assert SANDBOX_WAS_ON in judged(state="on", sandboxed=False).reason


def test_a_reason_is_one_line() -> None:
    found = judged((row(held=False, saw="a\nb\r\n\tc"),))
    assert found.reason.splitlines() == [found.reason]


# ---- properties
rows = st.builds(
    row,
    call=st.sampled_from(["c1", ""]),
    control=st.sampled_from(["worked", ""]),
    control_held=st.booleans(),
    held=st.booleans(),
    direction=st.sampled_from(["", *DIRECTIONS]),
)
promises = st.builds(
    promise,
    st.sampled_from(["start.sandbox-is-on", "filesystem.outside-refused", "trust.control-and-canaries"]),
    kind=st.sampled_from(["boundary", "capability", "claim", "hygiene", "generator"]),
    needs=st.sampled_from(["sandbox", "nothing"]),
)
everything = {
    "of": promises,
    "evidence": st.lists(rows, max_size=4).map(tuple),
    "start": st.builds(started, st.sampled_from(STATES)),
    "sandboxed": st.booleans(),
}


def any_verdict(
    of: Promise, outcome: Outcome, evidence: tuple[Evidence, ...], start: SandboxState, sandboxed: bool
) -> Judged:
    return judge(of, outcome=outcome, message="m", evidence=evidence, started=start, sandboxed=sandboxed)


@SAME
@given(outcome=st.sampled_from(OUTCOMES), **everything)
def test_nothing_is_green_without_complete_evidence(
    of: Promise, outcome: Outcome, evidence: tuple[Evidence, ...], start: SandboxState, sandboxed: bool
) -> None:
    found = any_verdict(of, outcome, evidence, start, sandboxed)
    if found.verdict in (Verdict.CONFORMS, Verdict.UNCONFINED):
        assert outcome == "passed"
        assert evidence
        assert all(each.call and each.control and each.control_held and each.held for each in evidence)
    if found.verdict is Verdict.CONFORMS:
        assert start.state == "on" or (sandboxed and of.needs == "nothing" and of.topic != "start")
    if found.verdict is Verdict.UNCONFINED:
        assert not sandboxed
        assert start.state != "on"


@SAME
@given(outcome=st.sampled_from(OUTCOMES), **everything)
def test_the_outcome_never_makes_a_verdict_better(
    of: Promise, outcome: Outcome, evidence: tuple[Evidence, ...], start: SandboxState, sandboxed: bool
) -> None:
    passed = any_verdict(of, "passed", evidence, start, sandboxed)
    found = any_verdict(of, outcome, evidence, start, sandboxed)
    if outcome == "skipped":
        assert found.verdict is Verdict.BROKEN
    else:
        assert WORST_FIRST.index(found.verdict) <= WORST_FIRST.index(passed.verdict)


@SAME
@given(outcome=st.sampled_from(OUTCOMES), **everything)
def test_only_a_violation_has_a_direction_and_it_rests_on_a_control(
    of: Promise, outcome: Outcome, evidence: tuple[Evidence, ...], start: SandboxState, sandboxed: bool
) -> None:
    found = any_verdict(of, outcome, evidence, start, sandboxed)
    assert bool(found.direction) == (found.verdict is Verdict.VIOLATES)
    if found.verdict is Verdict.VIOLATES and of.topic != "start":
        assert any(each.control_held and not each.held for each in evidence)
    assert found.reason


@SAME
@given(outcome=st.sampled_from(OUTCOMES), extra=rows, **everything)
def test_one_more_row_never_makes_a_verdict_better_than_what_was_there(
    of: Promise, outcome: Outcome, extra: Evidence, evidence: tuple[Evidence, ...], start: SandboxState, sandboxed: bool
) -> None:
    before = any_verdict(of, outcome, evidence, start, sandboxed)
    after = any_verdict(of, outcome, (*evidence, extra), start, sandboxed)
    if evidence:
        assert WORST_FIRST.index(after.verdict) <= WORST_FIRST.index(before.verdict)


# ---- the bubblewrap that was asked for
OTHER = msgspec.structs.replace(started(), another="requested bubblewrap 0.4.1, used Codex' own bwrap (sha256 aa)")
NO_SAY = msgspec.structs.replace(started(), without_say="this Codex sets up its sandbox without a bubblewrap")


def judged_in(
    how: SandboxState, evidence: tuple[Evidence, ...] = (row(),), of: str = "filesystem.outside-refused"
) -> Judged:
    found = promise(of, needs="nothing" if of.startswith(("start", "trust")) else "sandbox")
    return judge(found, outcome="passed", message="", evidence=evidence, started=how, sandboxed=True)


@pytest.mark.parametrize("of", ["filesystem.outside-refused", "start.sandbox-is-on"])
def test_a_promise_kept_in_the_sandbox_of_another_bubblewrap_is_not_measured(of: str) -> None:
    found = judged_in(OTHER, of=of)
    assert (found.verdict, found.blocked_by) == (Verdict.BLOCKED, BLOCKED_BY)
    assert found.reason == f"{ANOTHER}: {OTHER.another}"


def test_a_promise_broken_in_the_sandbox_of_another_bubblewrap_is_red_all_the_same() -> None:
    found = judged_in(OTHER, (row(held=False, direction="leak", saw="it was written"),))
    assert (found.verdict, found.direction) == (Verdict.VIOLATES, "leak")


def test_a_doubt_is_a_doubt_whichever_bubblewrap_it_was() -> None:
    assert judged_in(OTHER, (row(control_held=False),)).verdict is Verdict.BROKEN
    assert judged_in(NO_SAY, ()).verdict is Verdict.BROKEN


def test_the_harness_own_promise_holds_whichever_bubblewrap_it_was() -> None:
    assert judged_in(OTHER, of="trust.control-and-canaries").verdict is Verdict.CONFORMS


def test_a_requested_bubblewrap_does_not_apply_if_none_takes_part() -> None:
    found = judged_in(NO_SAY)
    assert found.verdict is Verdict.NOT_APPLICABLE
    assert "without a bubblewrap" in found.reason


def test_without_a_sandbox_no_bubblewrap_is_required() -> None:
    off = msgspec.structs.replace(started("off"), another=OTHER.another, without_say=NO_SAY.without_say)
    found = judge(promise(), outcome="passed", message="", evidence=(row(),), started=off, sandboxed=False)
    assert found.verdict is Verdict.UNCONFINED
