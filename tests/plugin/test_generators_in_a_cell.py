"""On a machine that is not Linux: what needs Linux is not applicable, by data, and the line that helps is said. Nothing
is started. No such machine was tried; here it is only said to be one."""

import pytest

from pytest_codexsandbox.matrix.requirements import NEEDS_LINUX
from pytest_codexsandbox.model.verdict import Verdict
from tests.plugin.conftest import Matrix

# What Python itself looks up by the platform is imported before.
MACOS = """
import asyncio, concurrent.futures, subprocess, sys, urllib.request
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests():
    sys.platform = "darwin"
"""
MINE = "def test_mine(codex_sandbox):\n    assert codex_sandbox.run('true').code == 0\n"


@pytest.mark.parametrize("words", [("--codex-matrix", "--codex-only=sqlite.*"), ("test_mine.py",)])
def test_a_promise_that_needs_linux_is_not_applicable_and_the_container_is_named(
    matrix: Matrix, words: tuple[str, ...]
) -> None:
    run = matrix.run(*words, files={"macos.py": MACOS, "test_mine.py": MINE}, plugins=("macos",), matrix=False)
    states = run.journal.states()
    assert len(states) > 2
    assert {(record.verdict, record.reason) for record in states.values()} == {(Verdict.NOT_APPLICABLE, NEEDS_LINUX)}
    assert "docker run" in NEEDS_LINUX and "docker run" in " ".join(run.out.split())
    assert run.journal.calls == ()
    assert run.code == 11, run.out  # nothing was measured: that is no success
