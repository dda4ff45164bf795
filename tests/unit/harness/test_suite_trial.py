"""Suite trials: a suite that does not say whether a sandbox was on proves nothing about one."""

from typing import Literal

import pytest

from pytest_codexsandbox.harness.trial_runner import judge_trial
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Evidence
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.suite_protocols import SuiteTrial


@pytest.mark.parametrize(("needs", "verdict"), [("sandbox", Verdict.BROKEN), ("nothing", Verdict.CONFORMS)])
def test_without_a_word_about_the_sandbox_only_a_promise_that_needs_none_holds(
    needs: Literal["sandbox", "nothing"], verdict: Verdict
) -> None:
    promise = Promise(id="toy.works", kind="claim", severity="low", needs=needs, source="", policies=("read-only",))
    trial = SuiteTrial(Key(cell="c", door="d", policy="read-only", promise=promise.id), promise)
    trial.rows.append(
        Evidence(
            claim="it works", act="", nonce="n", call="c", control="worked", control_held=True, saw="it", held=True
        )
    )
    judged = judge_trial(trial, outcome="passed", message="")
    assert judged.verdict is verdict
    assert "could not determine" in judged.reason
