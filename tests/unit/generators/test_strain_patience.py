"""A witness that slept is asked once more; what was not held is never played again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_codexsandbox.generators.strain import TRIES, StrainBench, patient
from pytest_codexsandbox.model.generator import Case, Declaration, Finding, Wish
from pytest_codexsandbox.model.generator_spec import Generator, Spec

BENCH = StrainBench(
    generator=Generator(name="g", spec=Spec(scheme="cmd", text="g"), declaration=Declaration()), version="",
    case=Case(id="c", why="w"), wish=Wish(), other=Wish(network=True), folder=Path("/nowhere"),
)  # fmt: skip


def finding(*, held: bool = True, awake: bool = True, skipped: str = "") -> tuple[Finding, ...]:
    return (Finding(claim="c", saw="s", held=held, control="w", control_held=awake, skipped=skipped),)


def told(*plays: tuple[Finding, ...]) -> tuple[Callable[[StrainBench], tuple[Finding, ...]], list[int]]:
    count: list[int] = []

    def strain(bench: StrainBench) -> tuple[Finding, ...]:
        count.append(1)
        return plays[min(len(count), len(plays)) - 1]

    return strain, count


@pytest.mark.parametrize(
    ("plays", "times"),
    [
        ((finding(),), 1), ((finding(held=False),), 1), ((finding(held=False, awake=False),), 1),
        ((finding(skipped="no strace", awake=False, held=False),), 1), ((finding(awake=False), finding()), 2),
        ((finding(awake=False), finding(held=False)), 2), ((finding(awake=False),), TRIES),
    ],
)  # fmt: skip
def test_only_a_sleeping_witness_is_asked_again(plays: tuple[tuple[Finding, ...], ...], times: int) -> None:
    strain, count = told(*plays)
    assert patient(strain)(BENCH) == plays[-1]
    assert len(count) == times
