"""What the facts of an environment rule out is n/a with the reason, and fails a strict run."""

import os
from pathlib import Path

import pytest

from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.selftest import GOOD, subject
from tests.plugin.conftest import Matrix

ID = "process.kernel-settings-out-of-reach"
SHUT = """
from pytest_codexsandbox.environments.agent_environment import AgentEnvironment

facts = AgentEnvironment.facts
AgentEnvironment.facts = lambda self: {**facts(self), "kernel_settings": "EROFS"}
"""


@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_settings_that_are_shut_outside_are_not_measured(matrix: Matrix, workers: tuple[str, ...]) -> None:
    binary = Path(subject(matrix.prepare({}), GOOD).binary)
    plugins = ("xdist.plugin",) if workers else ()
    run = matrix.run(
        f"--codex-only={ID}",
        f"--codex-bin=mine={binary}@0.169.0",
        *workers,
        files={"conftest.py": SHUT},
        plugins=plugins,
    )
    found = [record for key, record in run.journal.states().items() if key.promise == ID]
    assert found, run.out
    assert {record.verdict for record in found} == {Verdict.NOT_APPLICABLE}, run.out
    reason = "by probe: /proc/sys is not writable here" if os.getuid() == 0 else "needs a root"
    assert all(record.reason.startswith(reason) for record in found), found
