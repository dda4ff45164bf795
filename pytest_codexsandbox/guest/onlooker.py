"""Looks at one file over and over until its stdin ends, and then says all that was ever there.

`PYTHON -I -S onlooker.py TOP PATH`: one byte on stdout after the first look, a JSON line at the end. No link below TOP
is followed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
import sys
import types
from typing import Any, Dict, Final  # noqa: UP035

if __name__ == "__main__":  # alone: the folder that this file lies in is the package
    for _name, _path in (("pytest_codexsandbox", []), ("pytest_codexsandbox.guest", [os.path.dirname(__file__)])):
        sys.modules[_name] = types.ModuleType(_name)
        sys.modules[_name].__path__ = _path

from pytest_codexsandbox.guest import paths

Seen = Dict[str, Any]  # noqa: UP006
MOST: Final = 64  # different states that are told apart
EACH: Final = 2 * 1024 * 1024
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_ASK: Final = 16  # looks between two questions whether to go on


def look(top: str, path: str) -> tuple[str, bytes]:
    """What is there: its kind, and its content where it is a file."""
    try:
        here = paths.folder(top, os.path.dirname(path))
    except OSError:
        return "missing", b""
    try:
        fd = os.open(os.path.basename(path), _READ, dir_fd=here)
    except FileNotFoundError:
        return "missing", b""
    except OSError:
        return "unreadable", b""
    finally:
        os.close(here)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return "other", b""
        return "file", _content(fd)
    finally:
        os.close(fd)


def _content(fd: int) -> bytes:
    """As a program reads a small file: at once, and once more to see that it ends there."""
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
    looks = 0
    os.set_blocking(0, False)
    over = False
    while not over:
        # Asked before the look: the last one is after the end, however long this program was kept waiting in between.
        over = looks % _ASK == 0 and _is_over()
        kind, content = look(top, path)
        digest = f"{kind} {hashlib.sha256(content).hexdigest()}"
        if digest in seen:
            seen[digest]["looks"] += 1
        elif len(seen) < MOST:
            seen[digest] = {"kind": kind, "content": base64.b64encode(content).decode(), "looks": 1}
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
