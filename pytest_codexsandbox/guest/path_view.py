"""Path view: the state of a path, seen from outside. It follows no link, and every read is bounded."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from typing import Any, Final

from pytest_codexsandbox.guest import safe_paths

_TEXT: Final = 4096
_HASHED: Final = 256 * 1024 * 1024
_NAMES: Final = 200
_DEPTH: Final = 4
_ENTRIES: Final = 2000  # of one search for leftovers


def path_state(top: str, path: str) -> dict[str, Any]:
    """Returns a Look without its `path`, as JSON. `path` is below `top`, which no subject could replace."""
    try:
        here = safe_paths.folder(top, os.path.dirname(path) if path != top else path)
    except (FileNotFoundError, NotADirectoryError):
        return {"kind": "missing"}
    except OSError as problem:
        return {"kind": "unreadable", "error": _said(problem)}
    try:
        return _look_at("." if path == top else os.path.basename(path), here)
    except FileNotFoundError:
        return {"kind": "missing"}
    except OSError as problem:
        return {"kind": "unreadable", "error": _said(problem)}
    finally:
        os.close(here)


def _look_at(name: str, here: int) -> dict[str, Any]:
    status = os.stat(name, dir_fd=here, follow_symlinks=False)
    seen: dict[str, Any] = {"mode": stat.S_IMODE(status.st_mode), "inode": status.st_ino}
    if stat.S_ISLNK(status.st_mode):
        return {**seen, "kind": "symlink", "link": os.readlink(name, dir_fd=here)}
    if stat.S_ISDIR(status.st_mode):
        return {**seen, "kind": "dir", **_listed(name, here)}
    if stat.S_ISREG(status.st_mode):
        return {**seen, "kind": "file", "size": status.st_size, **_content(name, here, status)}
    return {**seen, "kind": "other"}


def _listed(name: str, here: int) -> dict[str, Any]:
    try:
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
    except OSError as problem:
        return {"error": _said(problem)}
    try:
        return {"names": sorted(os.listdir(below))[:_NAMES]}
    finally:
        os.close(below)


def _content(name: str, here: int, status: os.stat_result) -> dict[str, Any]:
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=here)
    except OSError as problem:
        return {"error": _said(problem)}
    with open(fd, "rb", buffering=0) as file:
        now = os.fstat(fd)
        if (now.st_dev, now.st_ino) != (status.st_dev, status.st_ino) or not stat.S_ISREG(now.st_mode):
            return {"error": "replaced while it was looked at"}
        digest, first, rest = hashlib.sha256(), b"", _HASHED
        while rest > 0:
            part = file.read(min(rest, 1 << 20))
            if not part:
                return {"sha256": digest.hexdigest(), "text": first[:_TEXT].decode("latin-1")}
            digest.update(part)
            first = first or part
            rest -= len(part)
    return {"text": first[:_TEXT].decode("latin-1"), "error": f"larger than {_HASHED} bytes, not read to its end"}


def names_below(top: str, *, shallow: bool = False) -> set[str]:
    """Returns relative names below `top`, to a depth; adds `…` if it stopped because there are too many."""
    found: set[str] = set()
    waiting = [""]
    for at in waiting:
        try:
            here = safe_paths.folder(top, os.path.join(top, at) if at else top)
        except OSError:
            continue
        try:
            _collect(here, at, found, waiting)
        finally:
            os.close(here)
        if shallow:
            break
        if len(found) > _ENTRIES:
            found.add("…")
            break
    return found


def _collect(here: int, at: str, found: set[str], waiting: list[str]) -> None:
    try:
        reading = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=here)
    except OSError:
        return
    try:
        with os.scandir(reading) as entries:
            for entry in entries:
                name = os.path.join(at, entry.name)
                found.add(name)
                if entry.is_dir(follow_symlinks=False) and name.count("/") < _DEPTH - 1:
                    waiting.append(name)
    finally:
        os.close(reading)


def _said(problem: OSError) -> str:
    code = errno.errorcode.get(problem.errno or 0, "")
    return f"{code}: {problem.strerror}" if code else str(problem)
