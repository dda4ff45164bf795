"""The reasons of every shipped plan are derived again from its line in a journal: none is unsure."""

import pytest

from pytest_codexsandbox.harness import replay
from pytest_codexsandbox.harness.planner import Planner
from pytest_codexsandbox.harness.planning_facts import PlanningFacts
from pytest_codexsandbox.harness.run_request import RunRequest
from pytest_codexsandbox.journal.record_checks import RecordChecks
from pytest_codexsandbox.matrix import shipped_promises
from pytest_codexsandbox.matrix.plan import as_line
from pytest_codexsandbox.model.journal_lines import RunLine
from pytest_codexsandbox.model.ledger import ReadJournal
from tests.unit.journal.builders import TODAY


class _Offline(Planner):
    def look_up(self) -> PlanningFacts:
        return PlanningFacts()


def _journal(preset: str, *generators: str) -> ReadJournal:
    plan = _Offline(RunRequest(preset=preset, releases=("0.163.0",), generators=generators, listing=True)).plan
    line = as_line(plan, (), replay.digests(shipped_promises.pairs()))
    return ReadJournal(run=RunLine(id="x", started="2026-11-20T00:00:00+00:00", product=TODAY, schema=2), plan=line)


@pytest.mark.parametrize(
    ("preset", "generators", "least"), [("local", (), 3), ("pull-request", (), 5), ("local", ("good", "real"), 4)]
)
def test_the_reasons_of_a_shipped_plan_are_derived_again(preset: str, generators: tuple[str, ...], least: int) -> None:
    journal = _journal(preset, *generators)
    checks, out = RecordChecks(journal), journal.plan.not_applicable
    keys = [key for key in journal.plan.keys if str(key) in out]
    assert len(set(out.values())) >= least
    assert [*checks.plan_faults(keys)] == []
    assert not any(map(checks.is_plan_unsure, keys))
