"""A wrong word in a user's own test is named by its line, without a traceback of the plugin."""

import pytest

from pytest_codexsandbox.model.verdict import Verdict
from tests.plugin.conftest import Matrix

pytestmark = pytest.mark.live
WRONG = """
def test_never_runs(codex_sandbox):
    pass

def test_fails_before(codex_sandbox):
    raise ValueError("my own words")

def test_placeholder(codex_sandbox):
    codex_sandbox.run("touch", "@WORKSPCE@/x")

def test_text(codex_sandbox):
    codex_sandbox.run("echo hi")

def test_list(codex_sandbox):
    codex_sandbox.run(["echo", "hi"])

def test_look(codex_sandbox):
    seen = codex_sandbox.run("true")
    assert codex_sandbox.look(seen, "@WORKSPACE@/made").kind == "missing"
"""
SAID = {
    "never-runs": ("the test never called codex_sandbox.run()", 'codex_sandbox.run("true")'),
    "fails-before": ("before it called codex_sandbox.run(): ValueError: my own words", ""),
    "placeholder": ("test_mine.py:9: codex_sandbox.run(): argv has the unknown placeholder @WORKSPCE@", "@WORKSPACE@"),
    "text": ("test_mine.py:12: codex_sandbox.run(): argv is one text with blanks", 'run("echo", "hi")'),
    "list": ("test_mine.py:15: codex_sandbox.run(): argv is one list", 'run("echo", "hi")'),
    "look": ("test_mine.py:19: '@WORKSPACE@/made' was not looked at", "looks=['@WORKSPACE@/made']"),
}


def test_each_is_named_with_what_to_type(matrix: Matrix) -> None:
    run = matrix.run("test_mine.py", files={"test_mine.py": WRONG}, matrix=False)
    states = {key.promise.removeprefix("user.test-mine-py-test-"): one for key, one in run.journal.states().items()}
    for name, (reason, typed) in SAID.items():
        record = states[name]
        assert record.verdict is Verdict.BROKEN, run.out
        assert reason in record.reason
        assert record.diagnosis is not None
        assert (record.diagnosis.fingerprint, typed in record.diagnosis.remedy) == ("test-is-wrong", True)
    assert "fixtures.py" not in run.out
    assert "Traceback" not in run.out
    assert run.code == 10, run.out


@pytest.mark.parametrize("words", [(), ("-n2",)])
@pytest.mark.parametrize("marker", ["policies=('read-ony',)", "policies='read-only'", "'read-only'"])
def test_a_wrong_policy_in_the_marker_ends_the_run_before_it_begins(
    matrix: Matrix, marker: str, words: tuple[str, ...]
) -> None:
    text = (
        f"import pytest\n\n@pytest.mark.codex({marker})\ndef test_one(codex_sandbox):\n    codex_sandbox.run('true')\n"
    )
    plugins = ("xdist.plugin",) if words else ()
    run = matrix.run("test_mine.py", *words, files={"test_mine.py": text}, matrix=False, plugins=plugins)
    assert run.code == 4, run.out
    assert "the marker `codex`" in run.out
    assert "where  test_mine.py::test_one" in run.out
    assert '@pytest.mark.codex(policies=("read-only",))' in run.out
    assert "INTERNALERROR" not in run.out
    assert run.reports == []
