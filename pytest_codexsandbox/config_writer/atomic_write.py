"""Atomic write: replaces a file in one step, so that no reader sees half of it, and keeps its mode and owner.

The folder is locked meanwhile, without a lock file. Symbolic links are followed and kept. A file that has changed since
it was read is read again.
"""

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.config_writer.request import Refusal, Refused

_TRIES: Final = 5
_NEW_FILE: Final = 0o600  # the mode that Codex itself uses
_PAUSE: Final = 0.01
_SUFFIX: Final = ".codexsandbox-new"


class FileSnapshot(msgspec.Struct, frozen=True):
    """A file as it was read; `content` is None if there is no file."""

    content: bytes | None
    found: os.stat_result | None = None


def rewrite(path: Path, change: Callable[[bytes | None], bytes | None], *, patience: float) -> bool:
    """Writes the bytes that `change` returns; None means that nothing has to change. Returns whether it wrote."""
    folder = path.parent
    _folder_made(folder)
    with _locked(folder, patience):
        _litter_removed(path)
        for _ in range(_TRIES):
            seen = look(path)
            content = change(seen.content)
            if content is None:
                return False
            if _replaced(path, content, seen):
                return True
    raise refused(Refusal(what="the file changes while it is read", next_step="stop the program that writes it"), path)


def where(config: str | os.PathLike[str]) -> Path:
    """Returns the path of the file itself, behind all links."""
    given = Path(config).expanduser()
    try:
        return Path(os.path.realpath(given, strict=True))
    except FileNotFoundError:  # or a dangling link: the file is created where it leads
        return Path(os.path.realpath(given))
    except OSError as problem:
        raise refused(Refusal(what="the file cannot be reached", why=str(problem)), given) from None


def look(path: Path) -> FileSnapshot:
    """Reads the file. Raises Refused if it cannot be replaced without loss."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return FileSnapshot(None)
    except OSError as problem:
        raise refused(Refusal(what="the file cannot be read", why=str(problem)), path) from None
    try:
        found = os.fstat(fd)
        refusal = _not_replaceable(found)
        if refusal:
            raise refused(refusal, path)
        with os.fdopen(fd, "rb", closefd=False) as file:
            return FileSnapshot(file.read(), found)
    finally:
        os.close(fd)


def refused(refusal: Refusal, path: Path) -> Refused:
    return Refused(refusal.what, where=str(path), why=refusal.why, next_step=refusal.next_step)


def _not_replaceable(found: os.stat_result) -> Refusal | None:
    if not stat.S_ISREG(found.st_mode):
        return Refusal(what="this is not a file", next_step="give the path of a file")
    if found.st_nlink > 1:
        return Refusal(
            what=f"the file has {found.st_nlink} names",
            why="replacing it under one name leaves the others unchanged",
            next_step="use a symbolic link instead of a hard one",
        )
    if not found.st_mode & 0o222:
        return Refusal(what="the file is read-only", why="it may be protected on purpose", next_step="chmod u+w")
    if os.geteuid() not in (0, found.st_uid):
        return Refusal(what=f"the file belongs to user {found.st_uid}", next_step="run as that user")
    return None


def _folder_made(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as problem:
        raise refused(Refusal(what="the folder cannot be created", why=str(problem)), folder) from None


@contextlib.contextmanager
def _locked(folder: Path, patience: float) -> Iterator[None]:
    """Locks the folder itself. A lock file would have to stay, or be removed while another process waits for it."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as problem:
        raise refused(Refusal(what="the folder cannot be read", why=str(problem)), folder) from None
    limit = time.monotonic() + patience
    try:
        while not _lock(fd):
            if time.monotonic() > limit:
                what = f"another program has held {folder} for {patience:g} s"
                raise refused(Refusal(what=what, next_step="end it, or try again"), folder)
            time.sleep(_PAUSE)
        yield
    finally:
        os.close(fd)


def _lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _new(path: Path) -> Path:
    return path.with_name(f".{path.name}{_SUFFIX}")


def _litter_removed(path: Path) -> None:
    """Removes the new file of a process that was killed before it finished. Only the holder of the lock may do so."""
    with contextlib.suppress(FileNotFoundError):
        _new(path).unlink()


def _replaced(path: Path, content: bytes, seen: FileSnapshot) -> bool:
    """Replaces the file. Returns False if another program has changed it meanwhile."""
    new = _new(path)
    try:
        _written(new, content, seen)
        now = look(path)
        if now.content != seen.content:
            return False
        new.replace(path)
        _synced(path.parent)
    except OSError as problem:
        raise refused(Refusal(what="the file cannot be written", why=str(problem)), path) from None
    finally:
        new.unlink(missing_ok=True)
    return True


def _written(new: Path, content: bytes, seen: FileSnapshot) -> None:
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, _NEW_FILE)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
        file.flush()
        if seen.found is not None:
            if (seen.found.st_uid, seen.found.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(fd, seen.found.st_uid, seen.found.st_gid)
            os.fchmod(fd, stat.S_IMODE(seen.found.st_mode))
        os.fsync(fd)


def _synced(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
