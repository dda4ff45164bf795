"""Safe paths: walks below folders that a subject could write, without ever following a link that the subject made."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ON_THE_WAY: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC  # needs no right to read the folder


class LinkOnTheWay(OSError):
    """A component of the path, not its last, is a symbolic link."""


def folder(top: str, path: str) -> int:
    """Returns a descriptor of the folder `path`, walked component by component from `top`, which is trusted."""
    here = os.open(top, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in _components(top, path):
        try:
            below = os.open(name, _ON_THE_WAY, dir_fd=here)
        except OSError as problem:
            link = _link_text(name, here)
            if link is not None:
                raise LinkOnTheWay(errno.ELOOP, f"{name} is a link to {link}") from None
            raise problem
        finally:
            os.close(here)
        here = below
    return here


def made_folder(top: str, path: str) -> int:
    """Returns the same as `folder`, and creates missing folders."""
    here = os.open(top, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in _components(top, path):
        try:
            try:
                os.mkdir(name, 0o755, dir_fd=here)
            except FileExistsError:
                pass
            below = os.open(name, _ON_THE_WAY, dir_fd=here)
        finally:
            os.close(here)
        here = below
    return here


def is_below(path: str, top: str) -> bool:
    return path.startswith(top.rstrip("/") + "/")


def normal(path: str) -> str:
    """Returns the path without `..` and `.`, by its text only; follows no links."""
    return "/" + os.path.normpath(path).lstrip("/")


def _components(top: str, path: str) -> list[str]:
    return [] if path == top else path[len(top.rstrip("/")) + 1 :].split("/")


def _link_text(name: str, here: int) -> str | None:
    try:
        return os.readlink(name, dir_fd=here)
    except OSError:
        return None


def remove(name: str, here: int, keep: Callable[[str], bool] = lambda _: False) -> list[str]:
    """Removes `name` in the folder `here` with all below. Returns what could not be removed, and why."""
    try:
        status = os.lstat(name) if here < 0 else os.stat(name, dir_fd=here, follow_symlinks=False)
    except FileNotFoundError:
        return []
    except OSError as problem:
        return [f"{name}: {problem.strerror}"]
    if not stat.S_ISDIR(status.st_mode):
        return _tried(lambda: os.unlink(name, dir_fd=here), name)
    failed = empty(name, here, keep)
    return failed or _tried(lambda: os.rmdir(name, dir_fd=here), name)


def empty(name: str, here: int, keep: Callable[[str], bool] = lambda _: False) -> list[str]:
    """Removes the content of the folder `name`, except the names to keep."""
    try:
        below = _opened(name, here)
    except FileNotFoundError:
        return []
    except OSError as problem:
        return [f"{name}: {problem.strerror}"]
    try:
        return [f"{name}/{one}" for entry in os.listdir(below) if not keep(entry) for one in remove(entry, below)]
    finally:
        os.close(below)


def _opened(name: str, here: int) -> int:
    """Opens a folder below `here`. Restores the owner's permissions first if a subject removed them."""
    try:
        below = os.open(name, _FOLDER, dir_fd=here)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=here)
        return os.open(name, _FOLDER, dir_fd=here)
    try:
        if os.fstat(below).st_mode & 0o700 != 0o700:
            os.fchmod(below, 0o700)
    except OSError:  # another user's folder: the removal reports it
        pass
    return below


def _tried(act: Callable[[], None], name: str) -> list[str]:
    try:
        act()
    except FileNotFoundError:
        return []
    except OSError as problem:
        return [f"{name}: {problem.strerror}"]
    return []
