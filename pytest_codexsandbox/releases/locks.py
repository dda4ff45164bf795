"""Locks of cache entries: a process that uses an entry keeps it from being pruned.

The kernel gives a lock back when its process dies, so no lock goes stale. The time of a lock's file is the entry's last
use, so the file stays.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pytest_codexsandbox.releases.cache_entry import Entry

_held: Final[dict[str, int]] = {}


def use_lock(entry: Entry) -> Path:
    folder = Path(entry.folder)
    return folder.parent.parent / "locks" / f"{entry.id}.use"


@contextmanager
def shared(entry: Entry) -> Iterator[bool]:
    """Keeps the entry from being pruned during the block. False: it is gone already."""
    lock = _share(entry)
    try:
        yield _is_there(entry)
    finally:
        if lock >= 0:
            os.close(lock)


@contextmanager
def exclusive(entry: Entry) -> Iterator[bool]:
    """Locks the entry for this process alone. False: another process uses the entry, or this user may not lock it."""
    lock = _open(use_lock(entry))
    try:
        yield lock >= 0 and _locked(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        if lock >= 0:
            os.close(lock)


def is_unused(entry: Entry) -> bool:
    """Checks whether no process uses the entry, as far as that is seen without a trace. A new lock file would say that
    the entry was used just now."""
    lock = _open(use_lock(entry), made=0)
    if lock < 0:
        return not use_lock(entry).exists()
    try:
        return _locked(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(lock)


def hold(entry: Entry) -> bool:
    """Keeps the entry from being pruned for as long as this process lives. False: it is gone already."""
    if entry.folder not in _held:
        _held[entry.folder] = _share(entry)
    return _is_there(entry)


def let_go(entry: Entry) -> None:
    lock = _held.pop(entry.folder, -1)
    if lock >= 0:
        os.close(lock)


def _is_there(entry: Entry) -> bool:
    return (Path(entry.folder) / "entry.json").is_file()


def _share(entry: Entry) -> int:
    lock = _open(use_lock(entry))
    if lock >= 0:
        _locked(lock, fcntl.LOCK_SH)
        try:
            os.utime(lock)
        except OSError:  # another user's cache: this user may only read it
            pass
    return lock


def _locked(lock: int, how: int) -> bool:
    try:
        fcntl.flock(lock, how)
    except OSError:
        return False
    return True


def _open(path: Path, *, made: int = os.O_CREAT) -> int:
    for flags in (os.O_RDWR | made, os.O_RDONLY):
        try:
            return os.open(path, flags | os.O_CLOEXEC, 0o666)
        except OSError:
            continue
    return -1
