"""Probe copy: the probe under a neutral path, so that a subject cannot tell from its words that it is measured.

The package's own folder names the product. A Codex that confines only what looks like a test would pass all of them.
"""

from __future__ import annotations

import contextlib
import os
from typing import Final

_HERE: Final = os.path.dirname(os.path.abspath(__file__))
NAME: Final = "task.py"  # in the words of every call
_FOLDER: Final = "bin"
_MORE: Final = ("verbs.py", "kernel_verbs.py")  # the probe imports these by its own name and theirs
_COPIES: Final = {"probe.py": NAME, **{f"probe_{more}": f"{NAME[:-3]}_{more}" for more in _MORE}}


def lay(folder: str) -> str:
    """Copies the probe and its further verbs below `folder`. Returns the probe's path."""
    place = os.path.join(folder, _FOLDER)
    os.mkdir(place, 0o755)
    for name, copy in _COPIES.items():
        with open(os.path.join(_HERE, name), "rb") as source:
            content = source.read()
        path = os.path.join(place, copy)
        with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644), "wb") as file:
            file.write(content)
    return os.path.join(place, NAME)


def remove(folder: str) -> None:
    """Removes the copies, and nothing else."""
    with contextlib.suppress(OSError):
        for copy in _COPIES.values():
            os.unlink(os.path.join(folder, _FOLDER, copy))
        os.rmdir(os.path.join(folder, _FOLDER))
