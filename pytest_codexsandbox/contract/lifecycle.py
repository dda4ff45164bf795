"""Contract of an environment's end: however it ends, no process keeps running and no file is left."""

import sys
import time
import uuid
from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.contract.process_tools import GENEROUS, fresh, processes_with, shell
from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.model.act import Given
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.protocols import Backend, Environment
from pytest_codexsandbox.system import process

# A separate runner: opens one more environment, starts a process in it, reports it, and waits to be killed.
RUNNER = """
import importlib, sys, msgspec
from pathlib import Path
from pytest_codexsandbox.contract.process_tools import shell
from pytest_codexsandbox.model.act import Given
from pytest_codexsandbox.model.cell import EnvironmentSpec
module, name, spec, folder, word = sys.argv[1:]
backend = getattr(importlib.import_module(module), name)()
with backend.open(msgspec.json.decode(spec, type=EnvironmentSpec), Path(folder)) as environment:
    world = environment.world()
    environment.lay(world, [Given(kind="file", path=f"@{top}@/@NAME@") for top in ("TMP", "SHM", "WORKSPACE")])
    environment.lay(world, [Given(kind="sqlite-held", path="@WORKSPACE@/db")])
    live = environment.spawn(shell(world, f"(setsid sh -c 'echo runs; sleep 1000; : {word}' &); sleep 1000; : {word}"))
    print(live.read(5, 100).decode().strip(), world.id, world.folder, flush=True)
    live.wait(1000)
"""


class LifecycleContract:
    def test_leaving_ends_every_process_and_removes_every_file(
        self, backend: Backend, environment: Environment, folder: Path
    ) -> None:
        word = f"leaver{uuid.uuid4().hex}"
        with backend.open(environment.spec, folder) as another:
            world = another.world()
            another.lay(world, [Given(kind="file", path=f"@{top}@/@NAME@") for top in ("TMP", "SHM", "TMPDIR")])
            live = another.spawn(
                shell(world, f"setsid sh -c 'sleep 1000; : {word}' & echo started; sleep 1000; : {word}")
            )
            assert live.read(100, GENEROUS)
            name = world.fill("@NAME@")
        assert processes_with(environment, word) == []
        assert self._left(environment, world.folder, name) == ""
        assert not folder.exists()

    def test_an_error_inside_is_not_swallowed(self, backend: Backend, environment: Environment, folder: Path) -> None:
        with pytest.raises(ZeroDivisionError), backend.open(environment.spec, folder) as another:
            another.world()
            _ = 1 / 0
        assert not folder.exists()

    def test_two_environments_stand_side_by_side(
        self, backend: Backend, environment: Environment, folder: Path
    ) -> None:
        with backend.open(environment.spec, folder) as another, fresh(another) as theirs, fresh(environment) as mine:
            assert mine.id != theirs.id
            assert another.run(shell(theirs, "echo two")).stdout == b"two\n"
            assert environment.run(shell(mine, "echo one")).stdout == b"one\n"

    def test_after_the_end_nothing_is_answered(self, backend: Backend, environment: Environment, folder: Path) -> None:
        with backend.open(environment.spec, folder) as another:
            pass
        with pytest.raises(CodexSandboxError):
            another.world()
        assert another.run(Command(argv=("/bin/sh", "-c", "true"), cwd="/", env={})).ended == "lost"

    def test_a_killed_runner_leaves_nothing(self, backend: Backend, environment: Environment, folder: Path) -> None:
        word = f"orphan{uuid.uuid4().hex}"
        started, world_id, world_folder = self._kill_a_runner(backend, environment.spec, folder, word)
        assert started == "runs"
        limit = time.monotonic() + GENEROUS
        left = "not looked yet"
        while left and time.monotonic() < limit:
            left = "".join(processes_with(environment, word))
            left += self._left(environment, world_folder, f"tmp-{world_id}-world")
            left += str(folder) if folder.exists() else ""
        assert left == ""

    @staticmethod
    def _kill_a_runner(backend: Backend, spec: EnvironmentSpec, folder: Path, word: str) -> list[str]:
        kind = type(backend)
        words = (kind.__module__, kind.__qualname__, msgspec.json.encode(spec).decode(), str(folder), word)
        environment = {"PYTHONPATH": ":".join(filter(None, sys.path)), "PATH": "/usr/bin:/bin"}
        argv = (sys.executable, "-c", RUNNER, *words)
        with process.running(argv, cwd="/", env=environment) as runner:  # leaving ends it by SIGKILL
            assert runner.stdout is not None
            return runner.stdout.readline().decode().split()

    @staticmethod
    def _left(environment: Environment, folder: str, name: str) -> str:
        with fresh(environment) as world:
            script = f"ls -d {folder} /tmp/{name} /dev/shm/{name} 2>/dev/null; true"
            return environment.run(shell(world, script)).stdout.decode()
