"""However a run ends, within five seconds nothing of it is left in the engine."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.sweeping import find
from tests.plugin.conftest import INTERRUPTIBLE

MATRIX = """
releases = ["installed"]
policies = ["read-only", "workspace-write"]
[containers]
distros = ["debian-bookworm"]
profiles = ["docker-default", "seccomp-unconfined-systempaths"]
users = ["root", "u1000"]
"""
WITHIN = 5.0
ENDS = 60.0


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="codexsandbox-tests-", dir="/var/tmp") as place:
        (Path(place) / "m.toml").write_text(MATRIX)
        yield Path(place)


def left_of(pid: int) -> list[str]:
    with Engine() as engine:
        return [left.what for left in find(engine) if left.owner.pid == pid]


def start(folder: Path) -> subprocess.Popen[bytes]:
    words = (
        sys.executable, "-c", INTERRUPTIBLE, sys.executable, "-m", "pytest", "--codex-matrix=m.toml", "-p",
        "no:cacheprovider", "-p", "no:randomly",
    )  # fmt: skip
    with (folder / "out").open("wb") as out:
        return subprocess.Popen(words, cwd=folder, stdout=out, stderr=out, start_new_session=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("moment", ["as a container appears", "while Codex runs"])
def test_a_run_that_is_ended_leaves_nothing(folder: Path, number: signal.Signals, moment: str) -> None:
    run = start(folder)
    try:
        limit = time.monotonic() + 60
        while not left_of(run.pid):
            assert run.poll() is None, (folder / "out").read_text()
            assert time.monotonic() < limit, (folder / "out").read_text()
        if moment == "while Codex runs":
            time.sleep(1.5)
        run.send_signal(number)
        limit = time.monotonic() + WITHIN
        while left_of(run.pid) and time.monotonic() < limit:
            time.sleep(0.05)
        assert left_of(run.pid) == []
        run.wait(ENDS)  # who was asked to end still tells what was measured
        assert left_of(run.pid) == []
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
