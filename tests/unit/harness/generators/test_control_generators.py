"""The exemplary generator and the known-bad ones: what is misjudged, or not looked at, is said."""

from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.generators.case_run import CaseRunner, open_case_runner
from pytest_codexsandbox.generators.checks import CHECKS
from pytest_codexsandbox.generators.checks.findings import skipped
from pytest_codexsandbox.harness.generators import control_generators
from pytest_codexsandbox.harness.generators.control_generators import CAUGHT, findings
from pytest_codexsandbox.model.generator import Case, CaseRun, Declaration, Finding, GeneratorRun, Intent
from pytest_codexsandbox.model.generator_spec import Generator
from tests.fakes.machine import run_folder


@pytest.fixture(scope="module")
def stories() -> dict[str, CaseRun]:
    """Told once, by generators of ours."""
    found: dict[str, CaseRun] = {}

    def run_case(generator: Generator, case: Case, intent: Intent) -> CaseRun:
        found[generator.name] = runner.run_case(generator, case, intent, version="")
        return found[generator.name]

    with run_folder() as folder, open_case_runner(Path(folder)) as runner:
        assert isinstance(runner, CaseRunner)
        assert all(one.held and one.control_held for one in findings(run_case))
    return found


def wrong(stories: dict[str, CaseRun]) -> list[str]:
    found = findings(lambda generator, case, intent: stories[generator.name])
    assert all(one.held is one.control_held for one in found)
    return [f"{one.claim}: {one.saw}" for one in found if not one.held]


def test_a_check_that_sees_nothing_any_more_is_found(
    stories: dict[str, CaseRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    def blind(case_run: CaseRun, declaration: Declaration) -> tuple[Finding, ...]:
        return (Finding(claim="c", saw="fine", held=True, control="c", control_held=True),)

    assert wrong(stories) == []
    for promise in ("generator.parses", "generator.comments-stay", "generator.leaves-nothing-behind"):
        monkeypatch.setattr(control_generators, "CHECKS", {**CHECKS, promise: blind})
        assert {f"{promise} did not catch" in one for one in wrong(stories)} == {True}


def test_a_check_that_is_no_longer_made_of_the_exemplary_one_is_found(
    stories: dict[str, CaseRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would pass whatever it did."""
    monkeypatch.setattr(
        control_generators,
        "CHECKS",
        {**CHECKS, "generator.does-not-grow": lambda case_run, declaration: skipped("c", "no")},
    )
    assert [one for one in wrong(stories) if "generator.does-not-grow" in one]


def test_one_that_never_ran_is_no_proof(stories: dict[str, CaseRun]) -> None:
    idle = GeneratorRun(ended="not-started", error="no such program")
    none = {name: msgspec.structs.replace(case_run, runs=(idle,)) for name, case_run in stories.items()}
    assert len(wrong(none)) == 1 + len(CAUGHT)


def test_bad_generators_without_a_check_are_not_caught(
    stories: dict[str, CaseRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_generators, "CHECKS", {"generator.parses": CHECKS["generator.parses"]})
    monkeypatch.setattr(control_generators, "ASKED", ())
    assert [one.endswith(" checked it") for one in wrong(stories)] == [True] * (len(CAUGHT) - 2)
