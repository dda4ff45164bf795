"""FIFO channel: carries a command's output past Codex by two FIFOs beside its world. The driver relays them.

Codex collects, cuts and mixes what its commands print. A command that is started with its stdin and stdout on these
FIFOs says every byte to us, and the agent, which made them, knows its stdout again. Opening a FIFO that is there makes
nothing and writes to no disk: it works on a mount that can only be read.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import threading

IN, OUT = "in", "out"
INHERITED = (8, 9)  # the same as descriptors: a shell takes one digit
_STARTED = b"\x06"  # the shell writes it once it holds both FIFOs, just before it becomes the command
_CHUNK = 1 << 16


def made(folder: str) -> tuple[int, int]:
    """Makes new FIFOs before Codex starts, whatever was there. Returns device and inode of the command's output:
    another file that is put there later does not have those."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    for name in (IN, OUT):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, name))
        os.mkfifo(os.path.join(folder, name), 0o600)
    said = os.lstat(os.path.join(folder, OUT))
    return said.st_dev, said.st_ino


def found(folder: str) -> None:
    """Makes the FIFOs if the agent did not: in a script that shows a call again."""
    if not os.path.isdir(folder):
        made(folder)


def wrapped(folder: str, command: list[str]) -> list[str]:
    """Returns `command` with its stdin and stdout on the FIFOs, so that its process keeps the command's own words.

    Landlock refuses to open a file for writing that the policy does not name, and keeps open files usable. So under
    Landlock the FIFOs are inherited. Where bubblewrap sets the sandbox up, no descriptor is inherited, so they are
    opened.
    """
    given, said = (shlex.quote(os.path.join(folder, name)) for name in (IN, OUT))
    start = 'printf \'\\006\'; exec "$0" "$@"'
    by_name, inherited = f"exec <{given} >{said}", f"exec <&{INHERITED[0]} >&{INHERITED[1]}"
    return [
        "/bin/sh",
        "-c",
        f"if {{ true >{said}; }} 2>/dev/null; then {by_name}; else {inherited}; fi; {start}",
        *command,
    ]


class Channel:
    """The driver's end: passes its own stdin to the command, and the command's output to its own stdout."""

    def __init__(self, folder: str) -> None:
        found(folder)
        # For reading and writing: then an open never waits for the driver, and the FIFOs have no end while it runs.
        self._given, self._said = (os.open(os.path.join(folder, name), os.O_RDWR | os.O_CLOEXEC) for name in (IN, OUT))
        os.set_blocking(self._said, False)
        self._hand_down(folder)
        self._over, self._wake = os.pipe()
        self._begun = b""
        self._reading = threading.Thread(target=self._relay, daemon=True)
        self._reading.start()

    def finish(self) -> None:
        """Passes on the output that is still in the FIFO after the command has ended."""
        os.write(self._wake, b"!")
        self._reading.join()

    def _hand_down(self, folder: str) -> None:
        for name, way, number in ((IN, os.O_RDONLY, INHERITED[0]), (OUT, os.O_WRONLY, INHERITED[1])):
            opened = os.open(os.path.join(folder, name), way)
            os.dup2(opened, number)
            os.close(opened)

    def _relay(self) -> None:
        waiting = select.poll()
        waiting.register(self._said, select.POLLIN)
        waiting.register(self._over, select.POLLIN)
        while True:
            ready = {fd for fd, _ in waiting.poll()}
            while self._said in ready and self._pass_on():
                continue
            if self._over in ready:
                while self._pass_on():
                    continue
                return

    def _pass_on(self) -> bool:
        try:
            data = os.read(self._said, _CHUNK)
        except BlockingIOError:
            return False
        if not self._begun:
            self._begun = data[:1]
            data = data[1:] if self._begun == _STARTED else data
            threading.Thread(target=self._feed, daemon=True).start()
        write_all(1, data)
        return True

    def _feed(self) -> None:
        """Feeds stdin once the command holds its end, because a FIFO that every process closes loses its content.

        When the driver closes its end, the command sees the end of its stdin.
        """
        try:
            while data := os.read(0, _CHUNK):
                write_all(self._given, data)
        finally:
            os.close(self._given)


def write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
