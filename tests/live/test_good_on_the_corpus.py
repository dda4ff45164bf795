"""The exemplary generator, told of every case of the corpus, breaks no promise; what it declines is a short list."""

import pytest

from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.generators.case_run import CaseRunner
from pytest_codexsandbox.generators.checks import CHECKS
from pytest_codexsandbox.matrix import decision_table, generator_files, generator_specs
from pytest_codexsandbox.matrix.corpus import shipped_cases
from pytest_codexsandbox.model.generator import Case, CaseRun, Intent

RELEASE = "0.163.0"
INTENT = Intent(roots=("@ROOT0@",))
CASES = shipped_cases()
FIXED = tuple(name for name in generator_files.files() if name.endswith("-fixed"))
DECLINED = (  # of files that Codex loads, and of intents that can be written down
    "the file says default_permissions",
    "the file has 2 names",
    "the file is read-only",
    "this is not a file",
    "the file cannot be written",
    "the sandbox of Codex on",
    "Codex cannot start a sandbox here",
    "the root ",
)
PROJECT = ".codex/config.toml sets sandbox_mode"


def told(runner: CaseRunner, name: str, case: Case) -> CaseRun | None:
    """None where the case needs a block that this generator has not."""
    generator = generator_specs.of_declaration(name)
    intent = case.intent or INTENT
    row = decision_table.row(generator.declaration, intent, RELEASE)
    try:
        return runner.run_case(generator, case, INTENT, version=RELEASE, row=row)
    except CodexSandboxError as problem:
        assert type(problem).__name__ == "CaseNotApplicable", problem
        return None


def broken(case_run: CaseRun, name: str) -> list[str]:
    declaration = generator_specs.of_declaration(name).declaration
    return [
        f"{case_run.case.id}: {promise} {one.reason}: {one.saw}"
        for promise, check in CHECKS.items()
        for one in check(case_run, declaration)
        if not one.skipped and not (one.held and one.control_held)
    ]


def test_the_exemplary_one_breaks_no_promise_and_declines_little(runner: CaseRunner) -> None:
    case_runs = [case_run for case in CASES if (case_run := told(runner, "good", case)) is not None]
    assert [fault for case_run in case_runs for fault in broken(case_run, "good")] == []
    assert len(case_runs) > len(CASES) - 5
    declined = [
        case_run.first.reason for case_run in case_runs if case_run.first.refused and case_run.case.input == "valid"
    ]
    strange = [reason for reason in declined if not reason.startswith(DECLINED) and PROJECT not in reason]
    assert strange == []
    assert len(declined) < len(case_runs) / 6, declined


@pytest.mark.parametrize("name", FIXED)
def test_the_fixed_generator_keeps_a_users_file(runner: CaseRunner, name: str) -> None:
    """On a part of the corpus: what their first versions broke."""
    kind = generator_specs.of_declaration(name).declaration.kind
    for case in CASES:
        if case.group in ("spelling", "block") and (kind == "file" or case.input == "valid"):
            case_run = told(runner, name, case)
            assert case_run is None or broken(case_run, name) == []
