"""Users' configurations nobody thought of, thrown at the exemplary generator and at one that spoils some of them."""

import pytest

from pytest_codexsandbox.contract.config_documents import Broken, hunt
from pytest_codexsandbox.generators.bad.catalogue import named
from pytest_codexsandbox.generators.case_run import CaseRunner
from pytest_codexsandbox.generators.checks import CHECKS
from pytest_codexsandbox.matrix import generator_specs
from pytest_codexsandbox.model.generator import Case, CaseRun, Intent
from pytest_codexsandbox.model.generator_spec import Generator

INTENT = Intent(roots=("@ROOT0@",), network=True)


def test_the_exemplary_generator_keeps_every_promise_on_generated_documents(runner: CaseRunner) -> None:
    good = generator_specs.of_declaration("good")
    applied: list[bool] = []

    def run_case(case: Case) -> CaseRun:
        case_run = runner.run_case(good, case, INTENT, version="0.163.0")
        applied.append(not case_run.first.refused)
        return case_run

    hunt(run_case, CHECKS.values(), good.declaration, examples=150)
    assert sum(applied) > len(applied) / 2, "what it declines shows little"


def test_a_bad_one_is_found_and_shown_as_a_file_to_paste(runner: CaseRunner) -> None:
    (bad,) = named(["eats-comments"])
    declaration = bad.declaration()
    one = Generator(name=bad.name, spec=generator_specs.parse(bad.run), declaration=declaration)
    with pytest.raises(Broken, match="To paste:") as found:
        hunt(
            lambda case: runner.run_case(one, case, INTENT, version="0.163.0"),
            CHECKS.values(),
            declaration,
            examples=300,
        )
    assert b"#" in found.value.document
    assert len(found.value.document) < 60, "it is shrunk"
