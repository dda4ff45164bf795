"""The folder of a command: gone at its end, and after SIGKILL gone with the next run of the same command."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_codexsandbox.commands.scratch_dir import workbench

KILLED = """
import os, signal, sys
from pytest_codexsandbox.commands.scratch_dir import workbench
with workbench(sys.argv[1]) as folder:
    (folder / "world").mkdir()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CODEXSANDBOX_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "runs"


def killed(name: str) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED, name], env=dict(os.environ), check=False)
    assert ended.returncode == -signal.SIGKILL


def test_the_folder_is_gone_at_the_end(runs: Path) -> None:
    with workbench("boot-check") as folder:
        assert folder.parent == runs
    assert list(runs.iterdir()) == []


def test_folders_of_killed_runs_are_removed_by_the_next_one(runs: Path) -> None:
    killed("boot-check")
    assert len(list(runs.iterdir())) == 1
    with workbench("boot-check") as folder:
        assert list(runs.iterdir()) == [folder]


def test_folders_of_living_runs_and_of_other_commands_stay(runs: Path) -> None:
    killed("doctor")
    (other,) = runs.iterdir()
    with workbench("boot-check") as first, workbench("boot-check") as second:
        assert set(runs.iterdir()) == {other, first, second}
