"""What the closing screen explains by its causes, pytest does not tell again item by item, unless it is asked to."""

import pytest

from tests.plugin.conftest import Matrix

PLUGIN = "def pytest_runtest_setup(item):\n    raise RuntimeError('not today')\n"
MINE = "def test_mine():\n    assert 1 == 2\n"


def _run(matrix: Matrix, *words: str, plugins: tuple[str, ...] = ()) -> tuple[int, str]:
    files, env = {"breaks.py": PLUGIN}, {"PYTHONPATH": "."}
    run = matrix.run("--codex-only=sqlite.*", *words, files=files, env=env, plugins=("breaks", *plugins))
    assert run.code != 0
    broken = run.journal.counts()["broken"]
    assert broken > 30
    assert f"{broken} errors" in run.out
    return broken, run.out


@pytest.mark.parametrize("words", [(), ("-n2",), ("-ra",)])
def test_many_results_by_one_cause_are_one_block(matrix: Matrix, words: tuple[str, ...]) -> None:
    broken, out = _run(matrix, *words, plugins=("xdist.plugin",) if "-n2" in words else ())
    assert out.count("not today") < 5
    assert "ERROR at setup" not in out
    assert len(out.splitlines()) < 2 * broken


def test_a_green_run_is_no_wall_of_text_either(matrix: Matrix) -> None:
    """Known deviations and what is not applicable stand on the closing screen, by their causes."""
    run = matrix.run("-ra", "--codex-only=dns.*,filesystem.root-may-be-a-file", matrix=True)
    assert run.code == 0, run.out
    counts = run.journal.counts()
    assert counts["n/a"] and counts["expected"]
    assert "own resolver" in " ".join(run.out.split()) and "root-that-is-a-file" in run.out
    assert "SKIPPED" not in run.out and "XFAIL" not in run.out
    last = run.out.splitlines()[-1]  # pytest counts them as ever
    assert f"{counts['n/a']} skipped" in last and f"{counts['expected']} xfailed" in last


def test_verbose_pytest_prints_each_result(matrix: Matrix) -> None:
    broken, out = _run(matrix, "-v")
    assert out.count("ERROR at setup") == broken


def test_the_users_own_failures_are_printed_as_usual(matrix: Matrix) -> None:
    run = matrix.run(files={"test_mine.py": MINE + "\n\ndef test_ours(codex_sandbox):\n    pass\n"}, matrix=False)
    assert "assert 1 == 2" in run.out
    assert "FAILED test_mine.py::test_mine" in run.out
