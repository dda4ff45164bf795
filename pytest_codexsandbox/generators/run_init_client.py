"""Run init client: sends commands and calls through a pipe to the run init, and reads their results."""

import os
import select
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.errors import EnvironmentLost, HarnessError
from pytest_codexsandbox.generators.required_paths import GUEST
from pytest_codexsandbox.guest import wire
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.system import process

_PATIENCE: Final = 30.0  # beyond a time limit: the run init enforces every limit itself
_SAID: Final = 64 * 1024 * 1024
_FILE: Final = 64 * 1024 * 1024
_SIZE: Final = 256 * 1024 * 1024
_ENTRIES: Final = 20_000


class FunctionCall(msgspec.Struct, frozen=True, kw_only=True):
    """A Python function to call, instead of a command's argv."""

    module: str
    function: str
    path: tuple[str, ...]
    request: dict[str, Any]
    result: str


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a run, far above what writing a configuration needs."""

    said: int = _SAID  # bytes on both streams
    file: int = _FILE  # bytes of one file
    size: int = _SIZE  # bytes in all folders
    entries: int = _ENTRIES
    tops: tuple[str, ...] = ()  # the folders, by the paths that the run init sees
    shown: tuple[str, ...] = ()  # read-only paths bound into the folders: their content is not from this run


class Job(msgspec.Struct, frozen=True, kw_only=True):
    command: Command
    call: FunctionCall | None = None


class RunInitClient:
    """Client of one run init. Not for several threads at once."""

    def __init__(self, child: process.Child, name: str, log: Path) -> None:
        self._child, self._name, self._log = child, name, log
        self._numbers = count(1)
        self._unpacker = wire.Unpacker()
        self.lost = ""

    def run(self, jobs: Sequence[Job], limits: Limits) -> tuple[CommandResult, ...]:
        """Runs all jobs at once, each with its own time limit. Raises EnvironmentLost if the run init ended; then its
        processes have ended too."""
        commands = [
            {**msgspec.to_builtins(msgspec.structs.replace(job.command, stdin=b"")), "call": _words(job.call)}
            for job in jobs
        ]
        body = {"id": next(self._numbers), "commands": commands, "limits": msgspec.to_builtins(limits)}
        within = max(job.command.timeout for job in jobs) + _PATIENCE
        answer, blobs = self._ask(wire.pack(body, [job.command.stdin for job in jobs]), time.monotonic() + within)
        if "error" in answer:
            raise HarnessError("a generator could not be run", where=self._name, why=str(answer["error"]))
        return tuple(
            msgspec.structs.replace(
                msgspec.convert(result, CommandResult), stdout=blobs[2 * at], stderr=blobs[2 * at + 1]
            )
            for at, result in enumerate(answer["results"])
        )

    def _ask(self, pieces: Sequence[bytes], end: float) -> wire.Message:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            for piece in pieces:
                view = memoryview(piece)
                while view:
                    view = view[self._child.stdin.write(view) :]
            reading = self._child.stdout.fileno()
            while True:
                if not readable_by(reading, end):
                    raise self._gone("it did not answer in time")
                data = os.read(reading, 1 << 20)
                if not data:
                    raise self._gone("it ended without a message")
                for message in self._unpacker.feed(data):
                    return message
        except (OSError, ValueError, wire.ProtocolError) as problem:
            raise self._gone(str(problem)) from problem

    def _gone(self, why: str) -> EnvironmentLost:
        with self._log.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 2000))
            said = log.read().decode("utf-8", "replace").strip()
        self.lost = f"{why}\n{said}".strip()
        return EnvironmentLost("the process that runs generators has ended", where=self._name, why=self.lost)


def readable_by(fd: int, limit: float) -> bool:
    """Waits until `fd` is readable; False if `limit`, a time of the monotonic clock, comes first."""
    asked = select.poll()
    asked.register(fd, select.POLLIN)
    return bool(asked.poll(max(0.0, limit - time.monotonic()) * 1000))


def _words(call: FunctionCall | None) -> dict[str, Any] | None:
    return None if call is None else msgspec.to_builtins(call)


@contextmanager
def started_run_init(walls: Sequence[str], *, log: Path, name: str) -> Iterator[RunInitClient]:
    """Starts a run init and yields its client. `walls`: words before the program's. Leaving ends all its processes."""
    argv = (*walls, sys.executable, "-I", "-S", str(GUEST / "run_init.py"))
    env = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}
    with log.open("ab") as said, process.running(argv, cwd="/", env=env, stderr=said) as child:
        try:
            yield RunInitClient(child, name, log)
        finally:
            assert child.stdin is not None
            child.stdin.close()
            process.let_end(child, within=10.0)
