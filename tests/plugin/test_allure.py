"""With allure-pytest active, Allure says of each cell what the matrix says, and keeps the cells apart."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.reports import journal_schema
from pytest_codexsandbox.selftest.fake_codex_script import write
from pytest_codexsandbox.selftest.fake_codexes import ALLOW_ALL
from tests.plugin.conftest import Done, Matrix

ALLURE = ("allure_pytest.plugin",)
ONLY = "--codex-only=dns.*"
STATUS = {
    Verdict.CONFORMS: "passed", Verdict.UNCONFINED: "passed", Verdict.VIOLATES: "failed", Verdict.STALE: "failed",
    Verdict.BROKEN: "broken", Verdict.BLOCKED: "skipped", Verdict.NOT_APPLICABLE: "skipped",
    Verdict.EXPECTED: "skipped",
}  # fmt: skip


@pytest.fixture
def done(matrix: Matrix, tmp_path: Path) -> Done:
    """Two cells of a Codex that lets everything through: violations, and what they block."""
    binary = write(tmp_path, ALLOW_ALL)
    cells = [f"--codex-bin={label}={binary}" for label in ("one", "two")]
    return matrix.run("--alluredir=allure", ONLY, *cells, plugins=ALLURE)


def results(done: Done) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((done.folder / "allure").glob("*-result.json"))]


def parameters(result: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["value"].strip("'") for one in result["parameters"]}


def test_every_cell_has_a_history_of_its_own(done: Done) -> None:
    found = results(done)
    keys = done.journal.plan.keys
    assert len(found) == len(keys), done.out
    assert len({result["historyId"] for result in found}) == len(keys)
    told = {(parameters(one)["cell"], parameters(one)["door"], parameters(one)["policy"]) for one in found}
    assert told == {(key.cell, key.door, key.policy) for key in keys}
    assert {parameters(one)["codex"] for one in found} == {"one", "two"}
    axes = {"door", "policy", "case", "cell", *done.journal.plan.cells[0].axes}
    assert all(parameters(one).keys() <= axes for one in found), parameters(found[0])


def test_a_violation_is_never_passed_in_allure(done: Done) -> None:
    verdicts = Counter(STATUS[record.verdict] for record in done.journal.states().values())
    assert Counter(result["status"] for result in results(done)) == verdicts
    assert verdicts["failed"] >= 2, done.out


def test_the_evidence_is_attached(done: Done) -> None:
    failed = next(result for result in results(done) if result["status"] == "failed")
    attached = {one["name"]: done.folder / "allure" / one["source"] for one in failed["attachments"]}
    assert "promised" in attached["evidence"].read_text()
    record = json.loads(attached["record"].read_text())
    assert record["verdict"] == "violates"
    assert failed["statusDetails"]["message"].startswith("violates: ")
    labels = {(one["name"], one["value"]) for one in failed["labels"]}
    assert {("feature", "start"), ("story", "start.sandbox-is-on"), ("tag", "violates")} <= labels


def test_every_line_of_a_run_fits_the_published_schema(done: Done) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(journal_schema.SHIPPED.read_text()))
    lines = [json.loads(line) for line in done.reports[0].read_text().splitlines()]
    kinds = {"run", "plan", "part", "environment", "subject", "call", "result", "end"}
    assert {line["line"] for line in lines} == kinds
    for line in lines:
        validator.validate(line)


def test_without_allure_nothing_of_it_is_imported(matrix: Matrix) -> None:
    check = "import sys\ndef pytest_unconfigure():\n    print('allure' in sys.modules, 'bridge' in str(sys.modules))\n"
    run = matrix.run("--collect-only", files={"conftest.py": check})
    assert "False False" in run.out
