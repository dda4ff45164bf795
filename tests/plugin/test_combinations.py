"""Options that have no effect beside the rest are one error that says what to type; an ini speaks for many runs."""

import pytest

from tests.plugin.conftest import Matrix

PLAIN = {"test_plain.py": "def test_plain():\n    pass\n"}
MINE = {"test_mine.py": "def test_mine(codex_sandbox):\n    assert codex_sandbox.run('true').code == 0\n"}
XDIST = ("xdist.plugin",)


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "xdist"])
@pytest.mark.parametrize("word", ["--codex-release=0.163.0", "--codex-strict", "--codex-only=sqlite.*"])
def test_an_option_for_tests_without_our_fixtures_is_an_error(
    matrix: Matrix, word: str, workers: tuple[str, ...]
) -> None:
    run = matrix.run(word, *workers, files=PLAIN, plugins=XDIST, matrix=False)
    assert run.code == 4, run.out
    name = word.partition("=")[0]
    assert run.out.count(f"{name} has no effect here") == 1
    assert f"pytest --codex-matrix {name}" in run.out, "what to type"
    assert "INTERNALERROR" not in run.out
    assert " passed" not in run.out


def test_in_an_ini_it_is_for_the_runs_that_measure(matrix: Matrix) -> None:
    ini = {"pytest.ini": "[pytest]\naddopts = --codex-strict\ncodex_release = 0.163.0\n"}
    run = matrix.run(files=PLAIN | ini, matrix=False)
    assert run.code == 0, run.out
    assert "1 passed" in run.out


def test_a_file_that_cannot_be_imported_is_reported_instead(matrix: Matrix) -> None:
    run = matrix.run("--codex-strict", files={"test_broken.py": "def broken(:\n"}, matrix=False)
    assert run.code == 2, run.out
    assert "SyntaxError" in run.out
    assert "has no effect" not in run.out


@pytest.mark.live
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--codex-pairs=2",), "--codex-pairs has no effect here"),
        (("--codex-budget=5m",), "--codex-budget has no effect beside tests of your own"),
        (("--codex-matrix", "--codex-budget=5m", "test_mine.py"), "--codex-budget has no effect beside tests of"),
    ],
)
def test_beside_tests_of_ones_own_nothing_is_ignored_silently(
    matrix: Matrix, words: tuple[str, ...], said: str
) -> None:
    run = matrix.run(*words, files=MINE, matrix=False)
    assert run.code == 4, run.out
    assert run.out.count(said) == 1
    assert run.reports == []


@pytest.mark.parametrize("file", ["pytest.ini", "pyproject.toml"])
def test_a_misspelt_key_of_the_ini_is_an_error_with_the_nearest_name(matrix: Matrix, file: str) -> None:
    head = "[pytest]" if file == "pytest.ini" else "[tool.pytest.ini_options]"
    value = "true" if file == "pytest.ini" else '"true"'
    run = matrix.run(files=PLAIN | {file: f"{head}\ncodex_matrx = {value}\n"}, matrix=False)
    assert run.code == 4, run.out
    assert "'codex_matrx'" in run.out and "'codex_matrix'?" in run.out
    assert file in run.out


def test_a_key_of_another_plugin_is_left_alone(matrix: Matrix) -> None:
    conftest = "def pytest_addoption(parser):\n    parser.addini('codex_home', help='of another plugin')\n"
    ini = "[pytest]\ncodex_home = /x\n"
    run = matrix.run(files=PLAIN | {"conftest.py": conftest, "pytest.ini": ini}, matrix=False)
    assert run.code == 0, run.out
