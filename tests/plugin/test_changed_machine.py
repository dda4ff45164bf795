"""A machine that changes while a run goes on: no sign mixes two sandboxes."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.registry import cache_folder
from tests.fakes.machine import installed_codex
from tests.plugin.conftest import Done, Matrix

pytestmark = pytest.mark.live
AFTER_THE_FIRST = """
from pathlib import Path
from pytest_codexsandbox.environments.agent_environment import AgentEnvironment
done = []
def pytest_runtest_logreport(report):
    if report.when == "call" and report.passed and "workspace-write" in report.nodeid and not done:
        path = Path({path!r})
        {change}
        done.append(path)
"""
ONLY = "--codex-only=filesystem.outside-mode-refused,filesystem.workspace-writable"
REPLACED = "new = path.with_name('new'); new.write_bytes(path.read_bytes() + b' '); new.chmod(0o755); new.replace(path)"
SWITCHED = (
    "was = AgentEnvironment.state; AgentEnvironment.state = lambda self: "
    "{'sysctls': {**was(self)['sysctls'], 'user.max_user_namespaces': '0'}}"
)


@pytest.fixture
def bwrap() -> Iterator[Path]:
    """A copy of the one that Codex brings, alone in a folder."""
    folder = Path(tempfile.mkdtemp(prefix="codexsandbox-bwrap-", dir="/var/tmp"))
    folder.chmod(0o755)
    own = Path(installed_codex(cache_folder()).binary).resolve().parents[1] / "codex-resources" / "bwrap"
    yield Path(shutil.copy(own, folder / "bwrap"))
    shutil.rmtree(folder)


def measured(matrix: Matrix, bwrap: Path, change: str) -> Done:
    """By a Codex that finds this bubblewrap first on its PATH."""
    real = installed_codex(cache_folder())
    launcher = bwrap.with_name("codex")
    launcher.write_text(f'#!/bin/sh\nPATH={bwrap.parent}:$PATH exec "{real.binary}" "$@"\n')
    launcher.chmod(0o755)
    plugin = AFTER_THE_FIRST.format(path=str(bwrap), change=change)
    words = (ONLY, f"--codex-bin=mine={launcher}@{real.capabilities.version}")
    return matrix.run(*words, files={"changes.py": plugin}, plugins=("changes",))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("path.unlink()", "sandboxes of Codex mine at the door sandbox were set up by"),
        (REPLACED, "sandboxes of Codex mine at the door sandbox were set up by"),
        (SWITCHED, "user.max_user_namespaces was"),
    ],
    ids=["removed", "replaced", "switched"],
)
def test_results_after_the_change_are_broken_and_both_sides_are_named(
    matrix: Matrix, bwrap: Path, change: str, told: str
) -> None:
    run = measured(matrix, bwrap, change)
    found = run.journal.states()
    before = {record.verdict for record in found.values() if record.key.policy == "read-only"}
    after = [record for record in found.values() if record.key.policy == "workspace-write-no-tmp"]
    assert before == {Verdict.CONFORMS}, run.out
    assert {record.verdict for record in after} == {Verdict.BROKEN}, run.out
    assert all("this machine changed" in record.reason for record in after)
    changed = [line.facts["changed"] for line in run.journal.environments if "changed" in line.facts]
    assert len(changed) == 1
    assert changed[0][0].startswith(told)
    assert re.search(rf"changed [a-z ]+: {re.escape(told)}", " ".join(run.out.split()))
    assert run.code not in (0, 1)


def test_a_machine_that_stays_as_it_is_says_nothing(matrix: Matrix, bwrap: Path) -> None:
    """A new time of the same file is no change."""
    run = measured(matrix, bwrap, "path.touch()")
    assert run.code == 0, run.out
    assert {call.bwrap_used.path for call in run.journal.calls if call.bwrap_used} == {str(bwrap)}
    assert "changed while" not in run.out
