"""A user's own tests beside the shipped promises: chosen like them, and told in the user's own words."""

import pytest

from tests.plugin.conftest import Matrix

pytestmark = pytest.mark.live
FILES = {
    "test_mine.py": (
        "def test_one(codex_sandbox):\n    assert codex_sandbox.run('true').code == 0\n\n\n"
        "def test_two(codex_sandbox):\n    code = codex_sandbox.run('false').code\n    assert code == 0, 'my words'\n"
    )
}


def _mine(matrix: Matrix, *words: str) -> tuple[dict[str, str], str]:
    run = matrix.run(*words, files=FILES)
    states = run.journal.states().items()
    mine = {key.promise: record.verdict.value for key, record in states if key.promise.startswith("user.")}
    return mine, run.out


def test_they_are_chosen_by_their_promise_ids(matrix: Matrix) -> None:
    one, two = "user.test-mine-py-test-one", "user.test-mine-py-test-two"
    assert _mine(matrix, "test_mine.py", f"--codex-only={one}")[0] == {one: "conforms"}
    assert _mine(matrix, "test_mine.py", f"--codex-skip={one}")[0] == {two: "violates"}


def test_a_failure_is_told_with_the_users_own_line_and_a_repro(matrix: Matrix) -> None:
    _, out = _mine(matrix, "test_mine.py")
    assert "assert code == 0, 'my words'" in out
    assert "saw       AssertionError: my words" in out
    assert "repro" in out


@pytest.mark.parametrize("words", [("test_mine.py", "--codex-only=user.nowhere"), ("--codex-only=user.*",)])
def test_a_glob_that_matches_none_of_them_is_a_usage_error(matrix: Matrix, words: tuple[str, ...]) -> None:
    run = matrix.run(*words, files=FILES)
    assert run.code == 4, run.out
    assert "matches no" in run.out
    assert run.reports == []


def test_a_command_that_takes_too_long_is_not_called_refused(matrix: Matrix) -> None:
    """What the policy's probe was refused says nothing about the user's command."""
    slow = "def test_slow(codex_sandbox):\n    codex_sandbox.run('sleep', '60', timeout=1)\n"
    run = matrix.run("test_slow.py", files={"test_slow.py": slow})
    (record,) = [one for key, one in run.journal.states().items() if key.promise.startswith("user.")]
    assert record.verdict.value == "violates", run.out
    assert record.diagnosis is not None
    assert "did not end in its time" in record.diagnosis.cause
    assert "EROFS" not in record.reason
    assert "sleep 60" in (run.reports[0].parent / record.repro).read_text()


def test_nothing_is_claimed_of_a_call_in_which_no_probe_was(matrix: Matrix) -> None:
    run = matrix.run("test_mine.py", files=FILES)
    rows = [row for record in run.journal.records for row in record.evidence if row.act == "user/run"]
    assert rows
    assert not any("EROFS" in row.saw for row in rows)
    assert any("a probe under the same policy" in row.claim for row in rows)
