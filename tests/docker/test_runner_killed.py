"""However a run ends, within five seconds nothing of it is left in the engine."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_codexsandbox.environments.container.backend import ContainerBackend
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.sweep import find
from pytest_codexsandbox.guest import process_tree
from pytest_codexsandbox.registry import cache_folder
from tests.docker.profile_builders import profiled
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
def folder(folder: Path) -> Path:
    (folder / "m.toml").write_text(MATRIX)
    return folder


def left_of(pid: int) -> list[str]:
    with Engine() as engine:
        return [left.what for left in find(engine) if left.owner.pid == pid]


def start(folder: Path) -> subprocess.Popen[bytes]:
    words = (
        sys.executable,
        "-c",
        INTERRUPTIBLE,
        sys.executable,
        "-m",
        "pytest",
        "--codex-matrix=m.toml",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
    )
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


KEPT = """
import sys, time
from pathlib import Path
from tests.docker.profile_builders import opened
from tests.docker.profile_builders import profiled
with opened(profiled("own-network"), Path(sys.argv[1])):
    print("open", flush=True)
    time.sleep(600)
"""


def networks_of(pid: int) -> list[str]:
    with Engine() as engine:
        return [left.name for left in find(engine) if left.owner.pid == pid and left.kind == "network"]


def test_the_next_run_removes_the_network_of_one_that_was_killed_with_its_watchers(folder: Path) -> None:
    words = (sys.executable, "-c", KEPT, str(folder / "one"))
    said: list[str] = []
    with subprocess.Popen(words, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        try:
            assert run.stdout.readline() == b"open\n"
            (network,) = networks_of(run.pid)
        finally:
            process_tree.end([run.pid])  # stopped, then killed, with all that it started
    assert networks_of(run.pid) == [network], "nothing is left that could remove it"
    backend = ContainerBackend()
    with backend.open(profiled("docker-default"), folder / "next", cache=cache_folder(), say=said.append):
        assert networks_of(run.pid) == []
    assert any(f"network {network}" in line for line in said)
    assert backend.audit() == ()
