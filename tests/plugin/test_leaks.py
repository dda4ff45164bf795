"""What a run leaves behind is said, and is an exit code of its own: 13."""

import pytest

from tests.plugin.conftest import Matrix

pytestmark = pytest.mark.live
LEAKY = """
from pytest_codexsandbox.harness.environment_pool import EnvironmentPool

EnvironmentPool.leaks = lambda self: ("a process of ours still runs",)
"""


@pytest.mark.parametrize("words", [(), ("-n1",)])
def test_a_leak_is_exit_code_13(matrix: Matrix, words: tuple[str, ...]) -> None:
    plugins = ("xdist.plugin", "leaky") if words else ("leaky",)
    run = matrix.run("--codex-only=process.exit-code-kept", *words, files={"leaky.py": LEAKY}, plugins=plugins)
    assert run.code == 13, run.out
    end = run.journal.end
    assert end is not None
    assert end.leaks == ("a process of ours still runs",)
    assert "a process of ours still runs" in run.out
    assert "codexsandbox sweep" in run.out
