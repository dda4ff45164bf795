"""A container that dies while a canary is asked in it costs an attempt, and not the cell."""

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_codexsandbox.harness.canaries import NOT_CAUGHT
from pytest_codexsandbox.journal.store import read
from pytest_codexsandbox.model.verdict import Verdict

MATRIX = """
releases = ["installed"]
policies = ["workspace-write"]
[containers]
distros = ["debian-bookworm"]
profiles = ["seccomp-unconfined-systempaths"]
"""
KILLS = """
import os
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.sweep import find
from pytest_codexsandbox.harness import canaries

run_promises, left = canaries.run_promises, [{times}]

def killing(*words, **named):
    if left[0]:
        left[0] -= 1
        named["parent"].pool.acquire(named["environment"])  # it is open
        with Engine() as engine:
            for one in find(engine):
                if one.owner.is_me and one.kind == "container":
                    engine.api.kill(one.id)
    return run_promises(*words, **named)

canaries.run_promises = killing
"""


@pytest.fixture
def folder(folder: Path) -> Path:
    (folder / "m.toml").write_text(MATRIX)
    return folder


@pytest.mark.parametrize(("times", "code"), [(1, 0), (99, 11)])
def test_a_canary_is_asked_again_in_a_new_container_and_not_for_ever(folder: Path, times: int, code: int) -> None:
    (folder / "kills.py").write_text(KILLS.format(times=times))
    words = (
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "kills",
        "--codex-matrix=m.toml",
        "--codex-only=process.exit-code-kept",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
    )
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == code, done.stdout
    (path,) = folder.glob(".codexsandbox/*/journal.ndjson")
    states = read(path).states()
    found = {record.verdict for record in states.values()}
    if times == 1:
        assert found == {Verdict.CONFORMS}
        (trusted,) = [one for key, one in states.items() if key.promise == "trust.control-and-canaries"]
        (row,) = [row for row in trusted.evidence if row.act == "allow-all"]
        assert row.held and "attempt 1: " in row.saw and "kill 9" in row.saw
    else:
        assert Verdict.CONFORMS not in found
        assert NOT_CAUGHT in done.stdout
