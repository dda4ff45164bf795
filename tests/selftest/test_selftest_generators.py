"""The selftest of generators can fail: a check that sees nothing leaves a survivor."""

import pytest

from pytest_codexsandbox.commands import selftest_generators
from pytest_codexsandbox.generators.checks import CHECKS
from pytest_codexsandbox.harness.generators import trial
from pytest_codexsandbox.model.generator import CaseRun, Declaration, Finding
from pytest_codexsandbox.selftest.fake import Fake
from pytest_codexsandbox.selftest.kill_rules import faults

pytestmark = pytest.mark.live
GROWS = "generator.does-not-grow"


def subject(name: str) -> Fake:
    return next(one for one in selftest_generators.fakes() if one.name == name)


def found(name: str) -> list[str]:
    killing = selftest_generators.kill([subject(name)], say=lambda text: None)
    return [fault.kind for fault in faults(killing, whole=False)]


def sees(held: bool) -> object:
    def check(case_run: CaseRun, declaration: Declaration) -> tuple[Finding, ...]:
        return (Finding(claim="c", saw="s", held=held, control="c", control_held=True),)

    return check


def test_one_that_grows_is_caught() -> None:
    assert found("grows") == []


def test_a_check_that_sees_nothing_leaves_a_survivor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "CHECKS", {**CHECKS, GROWS: sees(held=True)})
    assert found("grows") == ["survivor"]


def test_acts_that_the_walls_prevent_count_as_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found("reads-keys") == []
    monkeypatch.setattr(selftest_generators, "REACHED", "")  # as if it had said that it got there
    assert found("reads-keys") == ["survivor"]


def test_all_of_them_are_asked() -> None:
    asked = {name for fake in selftest_generators.fakes() for name in fake.caught_by}
    assert asked == {promise.id for promise, _ in selftest_generators.promises()}
