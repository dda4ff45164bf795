"""Launch: descriptors that a careless caller leaves open for its command, a file as its stdin, or closed streams."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Sequence
from typing import Final

FIRST: Final = 210  # model.act.FIRST_DESCRIPTOR; the agent itself has fewer open


class LeftOpen:
    """Opens what a command inherits, each as a fixed number. The agent closes its own end at once."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def open(self, words: Sequence[str]) -> None:
        for number, word in enumerate(words, FIRST):
            if os.path.lexists(f"/proc/self/fd/{number}"):
                raise OSError(errno.EBUSY, f"descriptor {number} is open in the agent already")
            handle = _opened(*word.split(":", 1))
            try:
                os.dup2(handle, number, inheritable=False)
            finally:
                os.close(handle)
            self.numbers.append(number)

    def close(self) -> None:
        while self.numbers:
            os.close(self.numbers.pop())


def _opened(kind: str, path: str) -> int:
    if kind == "folder":
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    if kind == "file":
        return os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)  # an address holds 107 bytes, a path more
    try:
        made.connect(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
    finally:
        os.close(folder)
    return made.detach()


def swap_for_a_file(path: str, theirs: list[int], ours: list[int]) -> None:
    """Replaces the pipe of stdin. The command reads the file; our end appends to it, as a growing log does."""
    flags = os.O_NOFOLLOW | os.O_CLOEXEC
    for ends, mode in ((theirs, os.O_RDONLY), (ours, os.O_WRONLY | os.O_APPEND)):
        made = os.open(path, mode | flags)
        os.close(ends[0])
        ends[0] = made


def closing(numbers: Sequence[int]) -> Callable[[], None] | None:
    """Returns what the command's process does before it becomes the command: it closes these descriptors."""

    def close() -> None:
        for number in numbers:
            os.close(number)

    return close if numbers else None
