"""The control of a user's own command decides what a failure says; where it decides nothing there is no direction."""

import pytest

from pytest_codexsandbox.diagnosis.judge import judge
from pytest_codexsandbox.harness.user_command import compared, failed_by_itself
from pytest_codexsandbox.matrix.expectations import as_seen
from pytest_codexsandbox.model.act import PathState
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.verdict import Verdict
from tests.unit.diagnosis.builders import observation, promise, record, row, started

KEY = "user/run|@OUTSIDE@/x"
MISSING = PathState(path="@OUTSIDE@/x", kind="missing")
DENIED = "PermissionError: [Errno 1] Operation not permitted"
MADE = PathState(path="@OUTSIDE@/x", kind="file", size=1, sha256="x")


def ended(code: int, *, made: bool = False, how: str = "exit", error: str = "", stderr: str = "") -> Observation:
    after = {KEY: MADE if made else MISSING}
    return observation(ended=how, code=code, before={KEY: MISSING}, after=after, error=error, stderr=stderr)


@pytest.mark.parametrize(
    ("seen", "control", "said"),
    [
        (ended(3), ended(3), (False, "", "fails-outside-too")),
        (ended(-9, how="timeout"), ended(0, how="timeout"), (False, "", "fails-outside-too")),
        (ended(1), ended(0, made=True), (True, "denied", "")),
        (ended(0), ended(0, made=True), (True, "denied", "")),
        (ended(0), ended(0), (True, "", "")),
        (ended(3, made=True), ended(3, made=True), (True, "", "")),  # it may be a leak that the test has found
        (ended(1), ended(2), (True, "", "")),
        (ended(1, stderr=DENIED), ended(1, stderr="Connection refused"), (True, "", "")),  # the sandbox refused it too
        (ended(1, stderr=DENIED), ended(1, stderr=DENIED), (False, "", "fails-outside-too")),
        (ended(1), None, (True, "", "")),
        (ended(1), ended(0, how="not-started", error="no such environment"), (False, "", "")),
    ],
)
def test_results_of_a_control(seen: Observation, control: Observation | None, said: tuple[bool, str, str]) -> None:
    found = compared(seen, control)
    assert (found.held, found.direction, found.reason) == said
    assert found.shown


@pytest.mark.parametrize(
    ("controls", "verdict", "direction"),
    [
        ([(ended(3), ended(3))], Verdict.BROKEN, ""),
        ([(ended(0), ended(0)), (ended(3), ended(3))], Verdict.VIOLATES, ""),
        ([(ended(3), ended(3)), (ended(1), ended(0))], Verdict.VIOLATES, "denied"),
        ([(ended(1), None)], Verdict.VIOLATES, ""),
    ],
)
def test_the_verdict_of_a_test_that_fails(
    controls: list[tuple[Observation, Observation | None]], verdict: Verdict, direction: str
) -> None:
    outside = {f"c{number}": compared(*pair) for number, pair in enumerate(controls)}
    rows = [row(act="user/run", call=call, control="borrowed") for call in outside for _ in range(2)]
    own = failed_by_itself(rows, outside, title="mine", message="AssertionError: \nassert 3 == 0")
    assert [(one.saw, one.control) for one in own] == [("AssertionError: assert 3 == 0", outside[own[0].call].shown)]
    asked = promise("user.mine", kind="capability")
    found = judge(asked, outcome="failed", message="", evidence=(*rows, *own), started=started(), sandboxed=True)
    assert (found.verdict, found.direction) == (verdict, direction)


def test_a_violation_without_a_direction_stays_one_when_a_deviation_is_taken_off() -> None:
    own = row(act="user/run", held=False, direction="")
    covered = record(Verdict.EXPECTED, promise="user.mine", deviation="known", evidence=(own,))
    assert as_seen(covered).verdict is Verdict.VIOLATES
