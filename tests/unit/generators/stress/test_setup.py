"""A witness that slept is asked once more; what was not held is never played again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_codexsandbox.generators.stress import TRIES, StressContext, patient
from pytest_codexsandbox.model.generator import Case, Declaration, Finding, Intent
from pytest_codexsandbox.model.generator_spec import Generator, Spec

BENCH = StressContext(
    generator=Generator(name="g", spec=Spec(scheme="cmd", text="g"), declaration=Declaration()),
    version="",
    case=Case(id="c", why="w"),
    intent=Intent(),
    other=Intent(network=True),
    folder=Path("/nowhere"),
)


def finding(
    *, held: bool = True, awake: bool = True, skipped: str = "", reason: str = "", claim: str = "c"
) -> tuple[Finding, ...]:
    words = "awake" if awake else "asleep"
    return (
        Finding(claim=claim, saw="s", held=held, control=words, control_held=awake, skipped=skipped, reason=reason),
    )


def told(*plays: tuple[Finding, ...]) -> tuple[Callable[[StressContext], tuple[Finding, ...]], list[int]]:
    count: list[int] = []

    def check(context: StressContext) -> tuple[Finding, ...]:
        count.append(1)
        return plays[min(len(count), len(plays)) - 1]

    return check, count


@pytest.mark.parametrize(
    ("plays", "times"),
    [
        ((finding(),), 1),
        ((finding(held=False),), 1),
        ((finding(held=False, awake=False),), TRIES),
        ((finding(skipped="no strace", awake=False, held=False),), 1),
        ((finding(awake=False), finding()), 2),
        ((finding(awake=False), finding(held=False)), 2),
        ((finding(awake=False),), TRIES),
    ],
)
def test_only_a_sleeping_witness_is_asked_again(plays: tuple[tuple[Finding, ...], ...], times: int) -> None:
    check, count = told(*plays)
    assert patient(check)(BENCH) == plays[-1]
    assert len(count) == times


@pytest.mark.parametrize(
    ("plays", "told_at_last"),
    [
        # The fault of a play whose witness slept is said by the next one, under a witness who was awake.
        ((finding(held=False, awake=False, reason="torn"), finding()), finding(held=False, reason="torn")),
        (
            (finding(held=False, awake=False, reason="torn"), finding(held=False, reason="torn")),
            finding(held=False, reason="torn"),
        ),
        (
            (finding(held=False, awake=False, reason="torn"), finding(held=False, reason="gone")),
            (*finding(held=False, reason="gone"), *finding(held=False, reason="torn")),
        ),
        # Other claims are as the newest play has them; where that one could not be asked, the old row stands.
        (
            (
                (*finding(held=False, awake=False, reason="torn"), *finding(claim="d", awake=False)),
                (*finding(), *finding(claim="d")),
            ),
            (*finding(claim="d"), *finding(held=False, reason="torn")),
        ),
        (
            (finding(held=False, awake=False, reason="torn"), finding(held=False, awake=False, skipped="none")),
            (*finding(held=False, awake=False, skipped="none"), *finding(held=False, awake=False, reason="torn")),
        ),
    ],
)
def test_a_recorded_fault_stays_recorded(
    plays: tuple[tuple[Finding, ...], ...], told_at_last: tuple[Finding, ...]
) -> None:
    check, _ = told(*plays)
    assert patient(check)(BENCH) == told_at_last
