"""Hidden program: exists outside a sandbox, and not inside one.

Only a descriptor of the agent names it: `/proc/AGENT/fd/N`. Another process namespace does not know the agent, and
Landlock follows no link of a process outside its domain. A command that cannot find the program is therefore in a
sandbox, and a call can tell so while it runs nothing else.
"""

from __future__ import annotations

import fcntl
import os
from typing import Final

# Its effect is visible outside: it creates the file that it is given.
_SCRIPT: Final = b'#!/bin/sh\nprintf through > "$1"\n'
_NUMBERS: Final = (700, 100, 10)  # high: a process with the agent's pid inside a sandbox has no such descriptor


def lay(folder: str) -> str:
    """Returns the path that starts the program. It leaves no name of the program in `folder`."""
    path = os.path.join(folder, "hidden")
    with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o755), "wb") as file:
        file.write(_SCRIPT)
    low = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    os.unlink(path)
    try:
        return f"/proc/{os.getpid()}/fd/{_raised(low)}"
    finally:
        os.close(low)


def _raised(low: int) -> int:
    for number in _NUMBERS:
        try:
            return fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, number)
        except OSError:  # above the limit of open files
            continue
    raise OSError("no descriptor is free for the program that no sandbox sees")
