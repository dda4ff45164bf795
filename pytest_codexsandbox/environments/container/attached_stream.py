"""Attached stream: stdin, stdout and stderr of a container's first process, through one attached connection."""

import io
import socket
import struct
from typing import IO, Any, Final, cast

_HEAD: Final = struct.Struct(">BxxxI")  # which stream, how many bytes follow
_STDERR: Final = 2
_KEPT: Final = 16 * 1024


class Attached:
    """Streams for an AgentClient: `writing` and `reading`. Keeps the last part of stderr."""

    def __init__(self, response: Any) -> None:
        self._response = response
        self._socket: Any = getattr(response, "_sock", response)
        if hasattr(self._socket, "settimeout"):
            self._socket.settimeout(None)  # the client's limit for one answer is not ours for a whole run
        self.errors = bytearray()
        self.writing: IO[bytes] = cast(IO[bytes], _Writing(self._socket))
        self.reading: IO[bytes] = cast(IO[bytes], _StdoutReader(self._socket, self.errors))

    def close(self) -> None:
        for closing in (self._response, self._socket):
            try:
                closing.close()
            except OSError:
                pass

    @property
    def said(self) -> str:
        return bytes(self.errors).decode("utf-8", "replace").strip()


class _Writing(io.RawIOBase):
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return int(self._connection.send(bytes(data[: 1 << 20])))

    def close(self) -> None:
        """Closes the process's stdin; its later output is still read."""
        if not self.closed:
            try:
                self._connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass
        super().close()


class _StdoutReader(io.RawIOBase):
    """Reads the payload of the frames of stdout."""

    def __init__(self, connection: Any, errors: bytearray) -> None:
        self._connection, self._errors = connection, errors
        self._stream = self._left = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while True:
            if not self._left:
                head = self._exactly(_HEAD.size)
                if not head:
                    return b""
                self._stream, self._left = _HEAD.unpack(head)
                continue
            data = bytes(self._connection.recv(min(self._left, size if size > 0 else 1 << 20)))
            if not data:
                return b""
            self._left -= len(data)
            if self._stream != _STDERR:
                return data
            self._errors += data
            del self._errors[:-_KEPT]

    def _exactly(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            data = bytes(self._connection.recv(size - len(found)))
            if not data:
                return b""
            found += data
        return found
