"""File watch: a process that reads the configuration all the time while generators write it."""

import base64
import os
import select
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

import msgspec

from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.generators.required_paths import GUEST
from pytest_codexsandbox.model.generator import FileState
from pytest_codexsandbox.system import process

_PATIENCE: Final = 10.0
_LARGEST: Final = 256 * 1024 * 1024


class FileSample(msgspec.Struct, frozen=True, kw_only=True):
    """One observed state of the file. `looks`: how often it was seen."""

    kind: Literal["file", "missing", "unreadable", "other"]
    content: bytes = b""
    looks: int = 1
    file: int = 0  # number of the file (its inode) in order of first sight; 0: unknown


class FileSamples(msgspec.Struct, frozen=True, kw_only=True):
    looks: int = 0
    seen: tuple[FileSample, ...] = ()

    def saw(self, state: bytes | None) -> bool:
        return any(is_at(one, state) for one in self.seen)

    def other_than(self, states: Sequence[bytes | None]) -> tuple[FileSample, ...]:
        return tuple(one for one in self.seen if not any(is_at(one, state) for state in states))


def is_at(sight: FileSample, state: bytes | None) -> bool:
    return sight.kind == "missing" if state is None else (sight.kind == "file" and sight.content == state)


def content(state: FileState | None) -> bytes | None:
    return state.content if state is not None and state.kind == "file" else None


class FileWatcher:
    def __init__(self, child: process.Child) -> None:
        self._child = child
        self.looks = FileSamples()

    def begin(self) -> None:
        self._line("look for the first time")

    def end(self) -> None:
        assert self._child.stdin is not None
        self._child.stdin.close()
        answer = msgspec.json.decode(self._line("report what it saw"))
        seen = tuple(
            FileSample(kind=one["kind"], content=base64.b64decode(one["content"]), looks=one["looks"], file=one["file"])
            for one in answer["seen"]
        )
        self.looks = FileSamples(looks=answer["looks"], seen=seen)

    def _line(self, what: str) -> bytes:
        assert self._child.stdout is not None
        fd, end, said = self._child.stdout.fileno(), time.monotonic() + _PATIENCE, bytearray()
        while not said.endswith(b"\n"):
            ready, _, _ = select.select([fd], [], [], max(0.0, end - time.monotonic()))
            data = os.read(fd, 1 << 20) if ready else b""
            if not data or len(said) > _LARGEST:
                raise HarnessError(f"the file watcher did not {what} within {_PATIENCE:.0f} s")
            said += data
        return bytes(said)


@contextmanager
def looking(top: str, path: str) -> Iterator[FileWatcher]:
    """Runs the file watcher. Its `looks` are available after the block."""
    argv = (sys.executable, "-I", "-S", str(GUEST / "file_watcher.py"), top, str(Path(path)))
    with process.running(argv, cwd="/", env={"PATH": os.defpath}) as child:
        watcher = FileWatcher(child)
        watcher.begin()
        yield watcher
        watcher.end()
