"""File watcher: looks at one file over and over until its stdin ends, and then prints every state that it saw.

`PYTHON -I -S file_watcher.py TOP PATH`: one byte on stdout after the first look, a JSON line at the end. It follows no
link below TOP.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
import sys
import types
from typing import Any, Dict, Final, Tuple  # noqa: UP035

if __name__ == "__main__":  # started as a file: this file's folder becomes the package
    for _name, _path in (("pytest_codexsandbox", []), ("pytest_codexsandbox.guest", [os.path.dirname(__file__)])):
        sys.modules[_name] = types.ModuleType(_name)
        sys.modules[_name].__path__ = _path

from pytest_codexsandbox.guest import safe_paths

Seen = Dict[str, Any]  # noqa: UP006
MOST: Final = 64  # different states that are distinguished
EACH: Final = 2 * 1024 * 1024
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_ASK: Final = 16  # looks between two questions whether to go on


class Files:
    """Numbers the files that were seen. Each stays open, so that the kernel gives its inode to no other file."""

    def __init__(self) -> None:
        self._numbers: Dict[Tuple[int, int], int] = {}  # noqa: UP006

    def number(self, fd: int) -> int:
        """Returns the number of an open file, from 1 on; 0 where there are too many of them."""
        found = os.fstat(fd)
        name = (found.st_dev, found.st_ino)
        if name not in self._numbers and len(self._numbers) < MOST:
            os.dup(fd)
            self._numbers[name] = len(self._numbers) + 1
        return self._numbers.get(name, 0)


def look(top: str, path: str, files: Files) -> tuple[str, bytes, int]:
    """Returns what is there: its kind, its content where it is a file, and the number of the file."""
    try:
        here = safe_paths.folder(top, os.path.dirname(path))
    except OSError:
        return "missing", b"", 0
    try:
        fd = os.open(os.path.basename(path), _READ, dir_fd=here)
    except FileNotFoundError:
        return "missing", b"", 0
    except OSError:
        return "unreadable", b"", 0
    finally:
        os.close(here)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return "other", b"", 0
        return "file", _content(fd), files.number(fd)
    finally:
        os.close(fd)


def _content(fd: int) -> bytes:
    """Reads a small file as a program does: all at once, then once more to see the end."""
    parts, size = [], 0
    while size < EACH:
        part = os.read(fd, EACH - size)
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def main(top: str, path: str) -> None:
    seen: Dict[str, Seen] = {}  # noqa: UP006
    looks, files = 0, Files()
    os.set_blocking(0, False)
    over = False
    while not over:
        # Asked before the look: the last one is after the end, however long this program was kept waiting in between.
        over = looks % _ASK == 0 and _is_over()
        kind, content, number = look(top, path, files)
        digest = f"{kind} {number} {hashlib.sha256(content).hexdigest()}"
        if digest in seen:
            seen[digest]["looks"] += 1
        elif len(seen) < MOST:
            seen[digest] = {"kind": kind, "content": base64.b64encode(content).decode(), "looks": 1, "file": number}
        if not looks:
            os.write(1, b"\n")
        looks += 1
    os.write(1, json.dumps({"looks": looks, "seen": list(seen.values())}).encode() + b"\n")


def _is_over() -> bool:
    try:
        return not os.read(0, 1)
    except BlockingIOError:
        return False


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
