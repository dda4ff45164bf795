"""Locks between processes: one process works, the others wait for it, report that, and do not wait for ever.

The kernel gives a lock back when its process dies, so no lock goes stale. The file of a lock stays: removing it would
let two processes hold "the" lock of one name.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from pytest_codexsandbox.errors import HarnessError

_PATIENCE: Final = 300.0  # seconds


@contextmanager
def exclusive(
    path: Path, what: str, *, patience: float = _PATIENCE, notify: Callable[[str], None] = lambda line: None
) -> Iterator[None]:
    """Holds the lock `path`. `what` says what its holder does: "makes an image". `notify` gets a line when it has to
    wait."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        _acquire(lock, path, what, patience, notify)
    except Timeout:
        raise HarnessError(
            f"waited {_words(patience)} for {_holder(path)} that {what}",
            where=str(path),
            why="it is still running, or hangs",
            next_step="end that process, then run again",
        ) from None
    holder = path.with_suffix(".who")
    try:
        with suppress(OSError):  # it only helps to explain a wait
            holder.write_text(str(os.getpid()), encoding="ascii")
        yield
    finally:
        with suppress(OSError):
            holder.unlink()
        lock.release()


def is_held(path: Path, *, if_unreadable: bool) -> bool:
    """Checks whether a process holds the lock. `if_unreadable`: the answer where this user may not look."""
    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:
        return if_unreadable


def _acquire(lock: FileLock, path: Path, what: str, patience: float, notify: Callable[[str], None]) -> None:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        notify(f"{_holder(path)} {what}; waiting for it")
        lock.acquire(timeout=patience)


def _holder(path: Path) -> str:
    try:
        return f"process {path.with_suffix('.who').read_text(encoding='ascii')[:12]}"
    except (OSError, ValueError):
        return "another process"


def _words(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} s"
