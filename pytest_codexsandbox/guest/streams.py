"""The three streams of a command: output that is kept up to a limit, input that is fed as it is taken."""

from __future__ import annotations

import os
from collections.abc import Callable

from pytest_codexsandbox.guest.event_loop import CHUNK, READ, WRITE, Loop


class Pipe:
    """One stream of output: kept up to a limit, counted past it. Read only on request, so that a full pipe stays
    full.
    """

    def __init__(self, loop: Loop, fd: int, limit: int) -> None:
        self._loop, self.fd, self._limit = loop, fd, limit
        self.kept = bytearray()
        self.total = 0
        self.open = fd >= 0
        self.heard: Callable[[bytes], None] = lambda _: None
        self.listeners: list[Callable[[], None]] = []
        self._readers = 0
        if self.open:
            os.set_blocking(fd, False)

    def flow(self) -> None:
        self._readers += 1
        if self.open:
            self._loop.watch(self.fd, READ, self._read)

    def pause(self) -> None:
        """Removes one reader; the stream flows on while others remain."""
        self._readers -= 1
        if self.open and self._readers == 0:
            self._loop.forget(self.fd)

    def _read(self) -> None:
        try:
            data = os.read(self.fd, CHUNK)
        except BlockingIOError:
            return
        except OSError:  # EIO: the last holder of a terminal's other end is gone
            data = b""
        self.total += len(data)
        self.kept += data[: max(0, self._limit - len(self.kept))]
        if data:
            self.heard(data)
        else:
            self.close()
        for listener in tuple(self.listeners):
            listener()

    def take(self, limit: int) -> bytes:
        data = bytes(self.kept[:limit])
        del self.kept[:limit]
        return data

    def close(self) -> None:
        if self.open:
            self._loop.forget(self.fd)
            os.close(self.fd)
            self.open = False


class Feed:
    """The stdin of a command."""

    def __init__(self, loop: Loop, fd: int, *, terminal: bool = False) -> None:
        self._loop, self.fd, self._terminal = loop, fd, terminal
        self._rest = bytearray()
        self._ending = False
        self.open = fd >= 0
        if self.open:
            os.set_blocking(fd, False)

    def put(self, data: bytes, *, end: bool = False) -> None:
        self._rest += data
        self._ending = self._ending or end
        if end and self._terminal:
            self._rest += b"\x04"
        self._write()

    def _write(self) -> None:
        try:
            while self.open and self._rest:
                del self._rest[: os.write(self.fd, self._rest[:CHUNK])]
        except BlockingIOError:
            self._loop.watch(self.fd, WRITE, self._write)
            return
        except OSError:  # it does not want to read on: its right
            self._rest.clear()
            self._ending = True
        if not self.open:
            return
        self._loop.forget(self.fd)
        if self._ending:
            self.close()

    def close(self) -> None:
        if self.open:
            self._loop.forget(self.fd)
            os.close(self.fd)
            self.open = False
