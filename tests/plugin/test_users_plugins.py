"""The plugins that many projects have: coverage, another order, reruns, time limits. They change neither what is
measured nor what it means."""

import pytest

from tests.plugin.conftest import Matrix

pytestmark = pytest.mark.live
SHORT = "--codex-only=process.exit-code-kept,sqlite.workspace-works"
PLUGINS = {
    "pytest_cov": ("pytest_cov.plugin", "--cov=."),
    "pytest_randomly": ("pytest_randomly", "--randomly-seed=3"),
    "pytest_rerunfailures": ("pytest_rerunfailures", "--reruns=2"),
    # A test of a cell may take longer than the user's own: how long a call may take, the harness itself knows.
    "pytest_timeout": ("pytest_timeout", "--timeout=0.001"),
}
SOMETIMES = """
from pathlib import Path


def test_sometimes(codex_sandbox):
    count = Path(__file__).with_name("count")
    times = int(count.read_text()) if count.exists() else 0
    count.write_text(str(times + 1))
    assert codex_sandbox.run("true").code == 0
    assert times, "the first time"
"""


def _states(matrix: Matrix, *words: str, plugins: tuple[str, ...] = ()) -> dict[object, object]:
    run = matrix.run(SHORT, *words, plugins=plugins)
    assert run.code == 0, run.out
    return {key: record.verdict for key, record in run.journal.states().items()}


@pytest.fixture
def plain(matrix: Matrix) -> dict[object, object]:
    return _states(matrix)


@pytest.mark.parametrize("name", PLUGINS)
def test_it_changes_nothing(matrix: Matrix, plain: dict[object, object], name: str) -> None:
    plugin, *words = PLUGINS[name]
    assert _states(matrix, *words, plugins=(plugin,)) == plain


def test_an_order_that_differs_each_time_gives_the_same_matrix(matrix: Matrix, plain: dict[object, object]) -> None:
    for seed in (1, 2):
        assert _states(matrix, f"--randomly-seed={seed}", plugins=("pytest_randomly",)) == plain


def test_a_failure_that_a_rerun_would_hide_stays(matrix: Matrix) -> None:
    run = matrix.run("--reruns=2", "test_mine.py", files={"test_mine.py": SOMETIMES}, plugins=("pytest_rerunfailures",))
    assert "1 rerun" in run.out
    states = {key.promise: record.verdict.value for key, record in run.journal.states().items()}
    assert states["user.test-mine-py-test-sometimes"] == "violates", run.out
    assert "attempts differ" in run.out
    assert run.code == 1, run.out
