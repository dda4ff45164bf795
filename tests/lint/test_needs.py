"""tests/needs.py: a missing program is a skip that names the line to type, never a silent one and never a pass."""

from pathlib import Path

import pytest

from pytest_codexsandbox.errors import CodexSandboxError, HarnessError, Unavailable
from pytest_codexsandbox.system.download import NotReached
from tests import needs

LINE = "apt install unheard-of"
NO_NPM = Unavailable(
    "Codex 9 is not available", why="neither npm nor its registry can be queried here", next_step="install npm"
)


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Empties PATH but for one program."""
    (tmp_path / "there").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(needs.REGISTRIES, raising=False)


def test_a_missing_program_is_a_skip_with_the_line_that_installs_it() -> None:
    mark = needs.programs("there", "unheard-of", install=LINE).mark
    assert (mark.args, mark.kwargs["reason"]) == ((True,), f"needs unheard-of: {LINE}")


def test_a_program_that_is_there_skips_nothing() -> None:
    assert needs.programs("there", install=LINE).mark.args == (False,)


def test_the_gate_runs_the_test_and_lets_it_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(needs.REGISTRIES, "1")
    assert needs.programs("unheard-of", install=LINE).mark.args == (False,)
    needs.skip_unreachable("Codex 9", NO_NPM)
    needs.skip_unreachable("Codex 9", NotReached("no answer", next_step="try again"))


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (NO_NPM, "Codex 9 is not available: needs npm: apt install npm"),
        (NotReached("no answer", why="refused", next_step="try again"), "no answer: refused; try again"),
    ],
)
def test_a_registry_that_cannot_be_asked_is_a_skip(problem: CodexSandboxError, words: str) -> None:
    with pytest.raises(pytest.skip.Exception, match=words):
        needs.skip_unreachable("Codex 9", problem)


@pytest.mark.parametrize(
    "problem", [Unavailable("wrong bytes", next_step="try again"), HarnessError("broken"), CodexSandboxError("fault")]
)
def test_a_fault_of_the_product_is_no_skip(problem: CodexSandboxError) -> None:
    needs.skip_unreachable("Codex 9", problem)
