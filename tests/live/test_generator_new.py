"""What `codexsandbox generator new` writes works at once, and passes what is promised on ordinary files."""

from pathlib import Path

import pytest

from pytest_codexsandbox import cli
from pytest_codexsandbox.generators.case_run import CaseRunner
from pytest_codexsandbox.generators.checks import CHECKS
from pytest_codexsandbox.generators.scaffold import LANGUAGES
from pytest_codexsandbox.matrix.corpus import shipped_cases
from pytest_codexsandbox.matrix.generator_specs import of_file
from pytest_codexsandbox.model.generator import CONFIG, Intent
from tests.fakes.machine import run_folder

ORDINARY = ("01-", "02-", "05-", "06-", "15-", "36-", "43-", "64-symlink", "65-mode-06")


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_passes_every_check_on_ordinary_files(runner: CaseRunner, language: str) -> None:
    cases = [case for case in shipped_cases() if case.id.startswith(ORDINARY)]
    assert len(cases) >= len(ORDINARY)
    with run_folder() as folder:
        assert cli.main(["generator", "new", "my-own", "--lang", language, "--folder", str(folder)]) == 0
        generator = of_file(folder / "my-own.toml")
        case_runs = [runner.run_case(generator, case, Intent(roots=("@ROOT0@",)), version="0.163.0") for case in cases]
    applied = [
        case_run
        for case_run in case_runs
        if b"workspace-write" in case_run.first.files[CONFIG].content or case_run.first.refused
    ]
    assert len(applied) > len(cases) / 2
    wrong = [
        f"{case_run.case.id}: {promise}: {found.saw}"
        for case_run in case_runs
        for promise, check in CHECKS.items()
        for found in check(case_run, generator.declaration)
        if not found.skipped and not found.held
    ]
    assert wrong == []


def test_existing_files_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "README.md").write_text("mine\n")
    assert cli.main(["generator", "new", "one", "--folder", str(tmp_path)]) == 0
    assert "pytest --codex-matrix --codex-generator" in capsys.readouterr().out
    (tmp_path / "two.sh").write_text("mine\n")
    assert cli.main(["generator", "new", "two", "--folder", str(tmp_path)]) == 4
    assert "two.sh already exists" in capsys.readouterr().err
    assert not (tmp_path / "two.toml").exists()
    assert (tmp_path / "README.md").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["My Tool"], "codexsandbox generator new my-tool"),
        (["good"], "shipped generator"),
        (["1st", "--lang", "python"], "a Python module"),
    ],
)
def test_a_name_that_cannot_be_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], why: str
) -> None:
    assert cli.main(["generator", "new", *words, "--folder", str(tmp_path)]) == 4
    assert why in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
