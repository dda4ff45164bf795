"""Two subjects whose answer is known are judged beside Codex: where they are misjudged, nothing is believed."""

import pytest

from pytest_codexsandbox.model.verdict import Verdict
from tests.plugin.conftest import Matrix

pytestmark = pytest.mark.live
TRUST = "trust.control-and-canaries"
MISJUDGED = """
from pytest_codexsandbox.harness.canaries import Canaries
Canaries.{method} = lambda self, *words: "planted by the test"
"""


@pytest.mark.parametrize("method", ["_caught", "_passed"])
def test_after_a_misjudged_canary_no_result_is_believed(matrix: Matrix, method: str) -> None:
    run = matrix.run(
        "--codex-only=network.*",
        files={"sick.py": MISJUDGED.format(method=method)},
        plugins=("sick",),
        env={"PYTHONPATH": "."},
    )
    assert {record.verdict for record in run.journal.states().values()} == {Verdict.BROKEN}, run.out
    assert run.code == 11, run.out
    assert "planted by the test" in run.out


@pytest.mark.parametrize(
    ("only", "asked"),
    [
        (
            "process.exit-code-kept",
            {"allow-all"},
        ),  # its call is its own: in the battery nothing is left for the good one
        ("danger-full-access", {"good"}),  # nothing that a subject without a sandbox could be caught by
        ("workspace-write-network", {"allow-all", "good"}),
    ],
)
def test_a_canary_that_was_not_asked_is_no_evidence(matrix: Matrix, only: str, asked: set[str]) -> None:
    run = matrix.run(f"--codex-only={only}")
    trusted = [record for key, record in run.journal.states().items() if key.promise == TRUST]
    assert trusted
    assert all({row.act for row in record.evidence} - {"base/forbidden"} == asked for record in trusted), trusted
    assert run.code == 0, run.out
