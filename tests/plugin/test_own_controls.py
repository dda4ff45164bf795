"""A failing test of the user's own: the same command outside the sandbox decides whether the sandbox is to blame."""

from pathlib import Path

import pytest

from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from tests.plugin.conftest import Done, Matrix

pytestmark = pytest.mark.live
FAILING = """
def test_exits_3(codex_sandbox):
    assert codex_sandbox.run("sh", "-c", "exit 3").code == 0

def test_misses_a_program(codex_sandbox):
    seen = codex_sandbox.run("no-such-program")
    assert seen.code == 0, seen.stderr

def test_is_refused(codex_sandbox):
    assert codex_sandbox.run("touch", "@OUTSIDE@/x").code == 0

def test_is_refused_and_swallows_it(codex_sandbox):
    seen = codex_sandbox.run("sh", "-c", "touch @OUTSIDE@/x || true", looks=["@OUTSIDE@/x"])
    assert codex_sandbox.look(seen, "@OUTSIDE@/x").kind == "file"

def test_expects_a_refusal_and_finds_none(codex_sandbox):
    assert codex_sandbox.run("touch", "@WORKSPACE@/x", looks=["@WORKSPACE@/x"]).code != 0

def test_finds_a_write_of_a_command_that_fails(codex_sandbox):
    seen = codex_sandbox.run("sh", "-c", "echo x > made; exit 3", looks=["@WORKSPACE@/made"])
    assert codex_sandbox.look(seen, "@WORKSPACE@/made").kind == "missing"

def test_has_no_control(codex_sandbox):
    assert codex_sandbox.run("sh", "-c", "exit 3", control=False).code == 0

def test_fails_after_a_run_that_works(codex_sandbox):
    seen = [codex_sandbox.run("true"), codex_sandbox.run("false")]
    assert seen[0].code != 0
"""
PASSING = """
import pytest

@pytest.mark.codex(policies=("workspace-write", "read-only"))
@pytest.mark.parametrize("control", [True, False])
def test_counts(codex_sandbox, control):
    for _ in range(2):
        seen = codex_sandbox.run("touch", "@OUTSIDE@/x", looks=["@OUTSIDE@/x"], control=control)
        assert seen.code == 1
        assert codex_sandbox.look(seen, "@OUTSIDE@/x").kind == "missing"
"""
LOOK = "user/run|@OUTSIDE@/x"
BORROWED = "without a sandbox the write outside worked"


@pytest.fixture(scope="module")
def failing(module_matrix: Matrix) -> Done:
    return module_matrix.run("test_mine.py", files={"test_mine.py": FAILING}, matrix=False)


@pytest.fixture(scope="module")
def module_matrix(tmp_path_factory: pytest.TempPathFactory, codex_cache: Path) -> Matrix:
    root = tmp_path_factory.mktemp("own-controls")
    return Matrix(root=root, home=root, cache=codex_cache)


def of(run: Done, test: str) -> Record:
    name = f"user.test-mine-py-test-{test.replace(' ', '-')}"
    return next(record for key, record in run.journal.states().items() if key.promise == name)


@pytest.mark.parametrize("test", ["exits 3", "misses a program"])
def test_a_fault_of_the_users_own_is_not_the_sandboxs(failing: Done, test: str) -> None:
    record = of(failing, test)
    assert (record.verdict, record.direction) == (Verdict.BROKEN, ""), failing.out
    assert record.diagnosis is not None
    assert (record.diagnosis.fingerprint, record.diagnosis.verdict) == ("fails-outside-too", "not-sandbox")
    own = record.evidence[-1]
    assert "fails too" in own.control and not own.control_held
    assert record.repro


@pytest.mark.parametrize("test", ["is refused", "is refused and swallows it"])
def test_an_act_that_works_only_unconfined_is_denied_with_its_own_control(failing: Done, test: str) -> None:
    record = of(failing, test)
    assert (record.verdict, record.direction) == (Verdict.VIOLATES, "denied"), failing.out
    assert record.evidence[-1].control.endswith("exit code 0")


@pytest.mark.parametrize(
    ("test", "control"),
    [
        ("expects a refusal and finds none", "the same command ended with exit code 0"),
        ("finds a write of a command that fails", "the same command ended with exit code 3"),
        ("fails after a run that works", "the same command fails too (exit code 1)"),
        ("has no control", "control=False"),
    ],
)
def test_without_a_difference_by_the_sandbox_there_is_no_direction(failing: Done, test: str, control: str) -> None:
    """It may be what the test guards against: it stays a violation."""
    record = of(failing, test)
    assert (record.verdict, record.direction) == (Verdict.VIOLATES, ""), failing.out
    assert control in record.evidence[-1].control
    assert BORROWED not in record.evidence[-1].control


def test_the_exit_code_says_both(failing: Done) -> None:
    assert failing.code == 1
    assert "exit 1: 6 violated (2 denied)" in failing.out
    assert "also 10: 2 broken" in failing.out


def test_a_command_runs_outside_once_for_a_test_and_never_without_its_control(module_matrix: Matrix) -> None:
    """Two runs of one command under two policies share one control; a refusal that was expected stays green."""
    run = module_matrix.run("test_mine.py", files={"test_mine.py": PASSING}, matrix=False)
    assert run.code == 0, run.out
    runs = [call for call in run.journal.calls if LOOK in call.observation.after]
    sandboxed = [call.observation for call in runs if not call.control]
    (control,) = [call.observation for call in runs if call.control]
    assert [seen.after[LOOK].kind for seen in (control, *sandboxed)] == ["file", *["missing"] * 8]
    assert control.world not in [seen.world for seen in sandboxed]
