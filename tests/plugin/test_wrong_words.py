"""Wrong words beside a user's own tests, without the flag: found while tests are collected, by a worker if there are
any, and said once as a usage error. Never an internal error, never a skip that reads as green."""

import pytest

from tests.plugin.conftest import Matrix

pytestmark = pytest.mark.live
MINE = "def test_mine(codex_sandbox):\n    assert codex_sandbox.run('true').code == 0\n\ndef test_plain():\n    pass\n"
FITS_NOTHING = """[[deviation]]
id = "x"
promise = "sqlite.*"
direction = "denied"
where = { profile = "docker-defualt" }
reason = "r"
issue = "https://example.org/1"
owner = "o"
until = 2099-01-01
"""
FILES = {"test_mine.py": MINE, "wrong.toml": "[[deviation]]\nid = 'x'\n", "nothing.toml": FITS_NOTHING}
XDIST = ("xdist.plugin",)


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "xdist"])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--codex-only=nothing.here",), "matches no cell, no promise, no policy and no door"),
        (("--codex-only=user.nope",), "matches no test of yours"),
        (("--codex-bin=BAD=/bin/true",), "cannot be the label of a binary"),
        (("--codex-expectations=wrong.toml",), "wrong.toml:1:1"),
        (("--codex-expectations=nothing.toml",), "did you mean 'docker-default'?"),
        (("--codex-report=poem",), "there is no report format 'poem'"),
        (("--codex-report-dir=/proc/x",), "no report folder can be made in /proc/x"),
        (("-p", "no:codexsandbox-recording"), "a matrix cannot be trusted without"),
    ],
    ids=["only", "only-user", "bin", "expectations", "fits-nothing", "report", "report-dir", "blocked"],
)
def test_wrong_words_are_one_error(matrix: Matrix, words: tuple[str, ...], said: str, workers: tuple[str, ...]) -> None:
    run = matrix.run(*workers, *words, files=FILES, plugins=XDIST if workers else (), matrix=False)
    assert run.code == 4, run.out
    assert run.out.count(said) == 1, run.out
    assert "INTERNALERROR" not in run.out
    assert "Traceback" not in run.out
    assert " passed" not in run.out


def test_a_part_that_is_switched_off_is_refused_before_any_worker_starts(matrix: Matrix) -> None:
    run = matrix.run("-n2", "-p", "no:codexsandbox-recording", plugins=XDIST)
    assert run.code == 4, run.out
    assert run.out.count("without the plugin") == 1


@pytest.mark.parametrize("mark", ["skip", "xfail", "fail_at_collect"])
def test_unselected_items_are_deselected_and_never_skipped(matrix: Matrix, mark: str) -> None:
    ini = {"pytest.ini": f"[pytest]\nempty_parameter_set_mark = {mark}\n"}
    run = matrix.run("--codex-only=sqlite.*", files=FILES | ini, matrix=False)
    assert run.code == 0, run.out
    assert "1 passed, 1 deselected" in run.out
    run = matrix.run("--codex-only=process.exit-code-kept", files=ini)
    assert run.code == 0, run.out
    assert "3 passed" in run.out and "skipped" not in run.out


def test_a_wrong_policy_names_the_test_that_asks_for_it(matrix: Matrix) -> None:
    text = f"import pytest\n\npytestmark = pytest.mark.codex(policies=('read-onyl',))\n{MINE}"
    run = matrix.run(files={"test_mine.py": text}, matrix=False)
    assert run.code == 4, run.out
    assert "policies" in run.out and "'read-onyl'" in run.out
    assert "where  test_mine.py::test_mine" in run.out
    assert "'read-only'?" in run.out
    assert "pytest_codexsandbox" not in run.out  # none of our code is shown for it


def test_nothing_is_begun_where_pytest_will_run_nothing(matrix: Matrix) -> None:
    """No journal and no download for a run that ends with a file that cannot be imported."""
    run = matrix.run(files=FILES | {"test_broken.py": "def broken(:\n"}, matrix=False)
    assert run.code == 2, run.out
    assert "SyntaxError" in run.out
    assert not (run.folder / ".codexsandbox").exists()
    run = matrix.run(
        "--continue-on-collection-errors", files=FILES | {"test_broken.py": "def broken(:\n"}, matrix=False
    )
    assert run.code == 1, run.out
    assert "3 planned = 3 conforms" in run.out
