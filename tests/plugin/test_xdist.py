"""With workers: the same matrix, each environment started once; a worker that dies leaves `broken`, never green."""

import textwrap

import pytest

from pytest_codexsandbox.model.verdict import Verdict
from tests.plugin.conftest import Matrix

pytestmark = pytest.mark.live
XDIST = ("xdist.plugin",)
SHORT = "--codex-only=process.*,sqlite.*"


def test_two_workers_give_the_matrix_of_one_process(matrix: Matrix) -> None:
    alone, two = matrix.run(SHORT), matrix.run(SHORT, "-n2", plugins=XDIST)
    assert two.code == alone.code == 0, two.out
    assert {key: record.verdict for key, record in two.journal.states().items()} == {
        key: record.verdict for key, record in alone.journal.states().items()
    }
    assert two.journal.plan.digest == alone.journal.plan.digest
    assert len(two.journal.environments) == len(alone.journal.environments) == 1
    calls = [len([line for line in run.journal.calls if not line.control]) for run in (alone, two)]
    assert calls[0] == calls[1]


def test_a_worker_that_dies_leaves_broken_records_and_the_rest_goes_on(matrix: Matrix) -> None:
    conftest = """
        import os

        def pytest_runtest_call(item):
            if "exit_code" in item.nodeid:
                os._exit(7)
    """
    run = matrix.run(SHORT, "-n2", files={"killer.py": textwrap.dedent(conftest)}, plugins=(*XDIST, "killer"))
    states = run.journal.states()
    assert run.code in (1, 10, 11), run.out
    broken = {key.promise for key, record in states.items() if record.verdict is Verdict.BROKEN}
    assert broken
    assert all("exit" in promise for promise in broken), broken
    conforming = {key.promise for key, record in states.items() if record.verdict is Verdict.CONFORMS}
    assert any(promise.startswith("sqlite.") for promise in conforming)


def test_a_users_own_tests_spread_over_workers(matrix: Matrix) -> None:
    text = "import pytest\n\n\n@pytest.mark.parametrize('n', range(30))\ndef test_plain(n):\n    pass\n"
    mine = "def test_mine(codex_sandbox):\n    assert codex_sandbox.run('true').code == 0\n"
    for words, plain in ((("--codex-matrix", "."), 0), ((), 30)):
        run = matrix.run(
            *words, "-n2", files={"test_plain.py": text, "test_mine.py": mine}, plugins=XDIST, matrix=False
        )
        assert run.code == 0, run.out
        assert f"{plain + 3} passed" in run.out
        verdicts = [record.verdict for record in run.journal.states().values()]
        assert verdicts == [Verdict.CONFORMS] * 3  # also without the flag somebody keeps a journal
        assert "3 planned = 3 conforms" in run.out


@pytest.mark.parametrize(
    "word",
    ["--codex-matrix=nope", "--codex-only=zz.*", "--codex-expectations=gone.toml", "--codex-bin=/bin/true"],
)
def test_a_wrong_word_is_one_clear_error_and_not_a_dead_worker(matrix: Matrix, word: str) -> None:
    run = matrix.run("-n2", word, plugins=XDIST)
    assert run.code == 4, run.out
    assert "INTERNALERROR" not in run.out
    assert "Traceback" not in run.out
    assert word.partition("=")[2] in run.out


def test_workers_leave_nothing_where_no_test_asks_for_the_fixtures(matrix: Matrix) -> None:
    run = matrix.run("-n2", files={"test_plain.py": "def test_plain():\n    pass\n"}, plugins=XDIST, matrix=False)
    assert run.code == 0, run.out
    assert not (run.folder / ".codexsandbox").exists()
