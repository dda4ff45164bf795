"""Run folders: finds the folders of runs below a report folder, and removes the older ones.

A folder is that of a run if its name is a time and its journal names that folder. Other folders, links, and folders of
other users are never touched. A running run holds a lock on its journal. A run that was killed has no `end`. It is kept
for a day, because a file system without locks cannot show whether another machine still writes there.
"""

import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

import msgspec

from pytest_codexsandbox.environments.run_dirs import mounted_below
from pytest_codexsandbox.environments.sweep import find
from pytest_codexsandbox.guest import safe_paths
from pytest_codexsandbox.journal.store import FILE
from pytest_codexsandbox.system.disk_use import disk_use

NAME: Final = re.compile(r"(?P<time>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)(?:-(?P<number>\d+))?")
UNFINISHED: Final = 24 * 3600  # seconds after its last line for which a run without `end` is kept
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FIRST_LINE: Final = 1024 * 1024
_LAST_LINE: Final = 8 * 1024 * 1024
_END: Final = b'\n{"line":"end"'


class _Head(msgspec.Struct, frozen=True):
    """The first line of a journal, of any schema."""

    line: Literal["run"]
    id: str


class RunFolder(msgspec.Struct, frozen=True, kw_only=True):
    """Folder of a run. `kept`: why it must stay; "" if it may be removed."""

    path: Path
    size: int  # bytes on the disk
    kept: str = ""


class PrunedRun(msgspec.Struct, frozen=True, kw_only=True):
    """Folder that was to be removed. `left`: what could not be removed, and why."""

    run: RunFolder
    left: tuple[str, ...] = ()


def find_runs(parent: Path) -> tuple[RunFolder, ...]:
    """Returns the runs below a report folder, the newest first."""
    try:
        here = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return ()
    try:
        names = sorted(filter(NAME.fullmatch, os.listdir(here)), key=_age, reverse=True)  # noqa: PTH208 (a descriptor)
        return tuple(found for name in names if (found := _run(parent, name, here)) is not None)
    finally:
        os.close(here)


def prunable(parent: Path, *, keep: int) -> tuple[RunFolder, ...]:
    """Returns the runs that may be removed, after the newest `keep`."""
    return tuple(run for run in find_runs(parent)[keep:] if not run.kept)


def prune(parent: Path, *, keep: int) -> tuple[PrunedRun, ...]:
    """Removes the runs that `prunable` returns. What began to run meanwhile stays."""
    return tuple(PrunedRun(run=run, left=_removed(run)) for run in prunable(parent, keep=keep))


def _age(name: str) -> tuple[str, int]:
    found = NAME.fullmatch(name)
    return (found["time"], int(found["number"] or 0)) if found else ("", 0)


def _run(parent: Path, name: str, here: int) -> RunFolder | None:
    """Returns the run in a folder; None if it is no folder of a run."""
    try:
        with _opened(name, here) as (folder, journal):
            if _head(journal) != name:
                return None
            kept = _why_kept(parent / name, folder, journal)
    except OSError:
        return None
    return RunFolder(path=parent / name, size=disk_use(parent / name), kept=kept)


@contextmanager
def _opened(name: str, here: int) -> Iterator[tuple[int, int]]:
    """Opens a folder and its journal, and follows no link on the way."""
    folder = os.open(name, _FOLDER, dir_fd=here)
    try:
        journal = os.open(FILE, _FILE, dir_fd=folder)
        try:
            yield folder, journal
        finally:
            os.close(journal)
    finally:
        os.close(folder)


def _head(journal: int) -> str:
    if not stat.S_ISREG(os.fstat(journal).st_mode):
        return ""
    try:
        return msgspec.json.decode(os.pread(journal, _FIRST_LINE, 0).partition(b"\n")[0], type=_Head).id
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""


def _why_kept(path: Path, folder: int, journal: int) -> str:
    if os.fstat(folder).st_uid != os.getuid():
        return "it belongs to another user"
    try:
        fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return "it is running"
    except OSError as problem:
        return f"its journal cannot be locked: {problem.strerror}"
    if not _has_end(journal) and time.time() - os.fstat(journal).st_mtime < UNFINISHED:
        return "it has not ended, and wrote its last line less than a day ago"
    if any(True for _ in find(path)):
        return "an environment is in it; codexsandbox sweep removes one of a killed run"
    return "; ".join(mounted_below(path)[:1])


def _has_end(journal: int) -> bool:
    size = os.fstat(journal).st_size
    length = min(size, _LAST_LINE)
    return _END in os.pread(journal, length, size - length)


def _removed(run: RunFolder) -> tuple[str, ...]:
    """Removes a run, its journal last: half a folder is still known as that of a run."""
    with _parent(run.path.parent) as here:
        try:
            with _opened(run.path.name, here) as (folder, journal):
                why = _why_kept(run.path, folder, journal)
                if why:
                    return (why,)
                failed = safe_paths.empty(run.path.name, here, lambda name: name == FILE)
                return tuple(failed or safe_paths.remove(run.path.name, here))
        except FileNotFoundError:  # another process removed it
            return ()
        except OSError as problem:
            return (f"{run.path.name}: {problem.strerror}",)


@contextmanager
def _parent(folder: Path) -> Iterator[int]:
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield here
    finally:
        os.close(here)
