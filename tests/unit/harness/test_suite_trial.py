"""Suite trials: what the judge makes of a suite that says nothing of a sandbox, or that measured nothing."""

from typing import Final, Literal

import pytest

from pytest_codexsandbox.diagnosis.judge import judge_trial
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Evidence
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.suite_protocols import SuiteTrial

ROW: Final = Evidence(
    claim="it works", act="", nonce="n", call="c", control="worked", control_held=True, saw="it", held=True
)


def trial_of(needs: Literal["sandbox", "nothing"]) -> SuiteTrial:
    promise = Promise(id="toy.works", kind="claim", severity="low", needs=needs, source="", policies=("read-only",))
    return SuiteTrial(Key(cell="c", door="d", policy="read-only", promise=promise.id), promise)


@pytest.mark.parametrize(("needs", "verdict"), [("sandbox", Verdict.BROKEN), ("nothing", Verdict.CONFORMS)])
def test_without_a_word_about_the_sandbox_only_a_promise_that_needs_none_holds(
    needs: Literal["sandbox", "nothing"], verdict: Verdict
) -> None:
    trial = trial_of(needs)
    trial.rows.append(ROW)
    judged = judge_trial(trial, outcome="passed", message="")
    assert judged.verdict is verdict
    assert "could not determine" in judged.reason


@pytest.mark.parametrize(
    ("blocked_by", "skipped", "verdict", "told"),
    [
        ("", ["no such file", "another reason"], Verdict.NOT_APPLICABLE, "no such file"),
        ("toy.starts", ["no such file"], Verdict.BLOCKED, "toy.starts"),
        ("", [], Verdict.BROKEN, "without evidence"),
    ],
)
def test_a_test_without_a_row_is_what_the_suite_says_of_it(
    blocked_by: str, skipped: list[str], verdict: Verdict, told: str
) -> None:
    trial = trial_of("nothing")
    trial.blocked_by, trial.skipped = blocked_by, skipped
    judged = judge_trial(trial, outcome="passed", message="")
    assert judged.verdict is verdict and told in judged.reason
    assert judged.blocked_by == (blocked_by if verdict is Verdict.BLOCKED else "")


def test_a_skip_by_a_suite_explains_neither_a_row_nor_a_scenario_that_failed() -> None:
    trial = trial_of("nothing")
    trial.skipped.append("no such file")
    assert judge_trial(trial, outcome="failed", message="a fault").verdict is Verdict.BROKEN
    trial.rows.append(ROW)
    assert judge_trial(trial, outcome="passed", message="").verdict is Verdict.CONFORMS
