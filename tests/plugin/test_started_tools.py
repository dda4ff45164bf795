"""A run starts no git, npm or pip of the user's: the processes of the harness themselves need none of them."""

import os
from pathlib import Path

import pytest

from tests.plugin.conftest import Matrix

pytestmark = pytest.mark.live
TOOLS = ("git", "npm", "npx", "pip", "pip3", "hg", "make")
GIT = "process.git-is-confined"


def test_a_run_starts_no_tool_that_obeys_a_folder(matrix: Matrix, tmp_path: Path) -> None:
    """The command of a promise is started with the search path of its world, and is the only git."""
    tools, started = tmp_path / "tools", tmp_path / "started"
    tools.mkdir()
    for name in TOOLS:
        (tools / name).write_text(f'#!/bin/sh\necho "$0 $*" >> {started}\nexit 1\n')
        (tools / name).chmod(0o755)
    path = os.pathsep.join((str(tools), os.environ["PATH"]))
    hostile = {".git/HEAD": "ref: refs/heads/main\n", ".git/config": f"[core]\n\tfsmonitor = {tools}/hg\n"}
    run = matrix.run(f"--codex-only={GIT},process.exit-code-kept", files=hostile, env={"PATH": path})
    assert run.code == 0, run.out
    assert not started.exists(), started.read_text()
    (git,) = (record for key, record in run.journal.states().items() if key.promise == GIT)
    assert all(row.held and row.control_held for row in git.evidence)
