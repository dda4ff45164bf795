"""A user's own tests are told apart: each case of one, and two of nearly the same name."""

import pytest

from pytest_codexsandbox.model.verdict import Verdict
from tests.plugin.conftest import Matrix

pytestmark = pytest.mark.live


@pytest.mark.parametrize("words", [(), ("-n2",)])
def test_each_case_of_a_parametrized_test_has_a_key_of_its_own(matrix: Matrix, words: tuple[str, ...]) -> None:
    mine = (
        "import pytest\n\n\n@pytest.mark.parametrize('code', [0, 3])\n@pytest.mark.codex(policies=('read-only',))\n"
        "@pytest.mark.parametrize('word', ['a', 'b/c'])\ndef test_mine(codex_sandbox, code, word):\n"
        "    assert codex_sandbox.run('sh', '-c', f'exit {code}').code == code\n"
    )
    run = matrix.run("test_mine.py", *words, files={"test_mine.py": mine}, plugins=("xdist.plugin",) if words else ())
    states = {key.case: record for key, record in run.journal.states().items() if key.promise.startswith("user.")}
    assert set(states) == {"a-0", "a-3", "b/c-0", "b/c-3"}, run.out
    assert {record.verdict for record in states.values()} == {Verdict.CONFORMS}
    assert run.code == 0, run.out


def test_two_tests_with_one_name_are_distinguished_by_their_author(matrix: Matrix) -> None:
    body = "(codex_sandbox):\n    assert codex_sandbox.run('true').code == 0\n\n\n"
    run = matrix.run("test_mine.py", files={"test_mine.py": f"def test_a_b{body}def test_a__b{body}"})
    assert run.code in (2, 4), run.out  # pytest's own for what cannot be collected, and for wrong words
    assert "test_mine.py::test_a_b and test_mine.py::test_a__b" in run.out
