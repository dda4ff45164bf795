"""Options of an ini and of PYTEST_ADDOPTS count in `codexsandbox plan` as they do in a run."""

import argparse
from pathlib import Path

import pytest

from pytest_codexsandbox.commands import matrix_options, pytest_request
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.harness.run_request import RunRequest

ONLY = "codex_only = process.*,sqlite.*\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def request_of(*words: str) -> RunRequest:
    parser = argparse.ArgumentParser()
    matrix_options.add(parser)
    return pytest_request.request(parser.parse_args(words))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", f"[pytest]\n{ONLY}"),
        ("tox.ini", f"[pytest]\n{ONLY}"),
        ("setup.cfg", f"[tool:pytest]\n{ONLY}"),
        ("pyproject.toml", "[tool.pytest.ini_options]\ncodex_only = ['process.*', 'sqlite.*']\n"),
        ("pytest.ini", "[pytest]\naddopts = --codex-only=process.* --codex-only=sqlite.*\n"),
    ],
)
def test_an_option_of_a_file_counts(project: Path, name: str, text: str) -> None:
    (project / name).write_text(text)
    assert request_of().only == ("process.*", "sqlite.*")
    assert request_of("--codex-only=network.*").only[-1] == "network.*"


def test_an_option_of_the_variable_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--codex-budget=5m --codex-release=0.136.0")
    found = request_of("--codex-pairs=2")
    assert (found.budget and found.budget.seconds, found.releases, found.pairs) == (300, ("0.136.0",), 2)
    assert found.typed == ("pairs",)


def test_the_command_goes_before_the_preset_of_the_ini(project: Path) -> None:
    (project / "pytest.ini").write_text("[pytest]\ncodex_matrix = releases\n")
    assert request_of().preset == "releases"
    assert request_of("local").preset == "local"


def test_relative_paths_of_an_ini_begin_at_its_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "pytest.ini").write_text("[pytest]\ncodex_bin = mine=codex\ncodex_report_dir = reports\n")
    (project / "below").mkdir()
    monkeypatch.chdir(project / "below")
    found = request_of()
    bases = (found.binary_base, found.generator_base, found.report_dir)
    assert bases == (project, project / "below", project / "reports")


def test_workers_of_the_ini_share_a_budget(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_PLUGINS", "xdist.plugin")
    (project / "pytest.ini").write_text("[pytest]\naddopts = -n 3\n")
    assert (request_of().workers, request_of("-n2").workers) == (3, 2)


def test_it_is_a_request_of_a_run_and_of_the_shipped_promises(project: Path) -> None:
    (project / "tests").mkdir()
    (project / "pytest.ini").write_text("[pytest]\naddopts = tests\n")
    found = request_of()
    assert (found.listing, found.own_tests) == (False, False)


def test_a_wrong_value_of_the_ini_is_reported_as_in_a_run(project: Path) -> None:
    (project / "pytest.ini").write_text("[pytest]\ncodex_pairs = 5\n")
    with pytest.raises(InputError) as raised:
        request_of()
    assert "--codex-pairs" in str(raised.value)


@pytest.mark.parametrize("text", ["", "[pytest]\ntestpaths = a\n"])
def test_without_such_options_no_pytest_is_started(project: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_codexsandbox.commands.pytest_process.ask", None)
    (project / "pytest.ini").write_text(text)
    assert request_of("releases", "-n2").workers == 2
