"""Messages over a byte stream: a fixed head, a JSON object, then any number of byte strings ("blobs")."""

from __future__ import annotations

import json
import struct
from typing import Any, Final, Iterator, List, Sequence, Tuple  # noqa: UP035

MAGIC: Final = b"cxh1"
_HEAD: Final = struct.Struct(">4sIQ")  # magic, length of the JSON, length of all blobs together
_JSON_LIMIT: Final = 64 * 1024 * 1024
_BLOB_LIMIT: Final = 4 * 1024 * 1024 * 1024

Message = Tuple[Any, List[bytes]]  # noqa: UP006


class ProtocolError(Exception):
    """The stream carries something that is no message of this protocol."""


def pack(body: dict[str, Any], blobs: Sequence[bytes] = ()) -> list[bytes]:
    """Returns the pieces to write, in order. Copies nothing."""
    text = json.dumps({**body, "blobs": [len(blob) for blob in blobs]}, separators=(",", ":")).encode("ascii")
    return [_HEAD.pack(MAGIC, len(text), sum(len(blob) for blob in blobs)) + text, *(b for b in blobs if b)]


class Unpacker:
    """Turns bytes into whole messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        self._buffer += data
        while True:
            message = self._next()
            if message is None:
                return
            yield message

    def _next(self) -> Message | None:
        if len(self._buffer) < _HEAD.size:
            return None
        magic, length, payload = _HEAD.unpack_from(self._buffer)
        if magic != MAGIC or length > _JSON_LIMIT or payload > _BLOB_LIMIT:
            raise ProtocolError(f"not a message of the agent: {bytes(self._buffer[:80])!r}")
        end = _HEAD.size + length + payload
        if len(self._buffer) < end:
            return None
        body = json.loads(bytes(self._buffer[_HEAD.size : _HEAD.size + length]))
        blobs, at = [], _HEAD.size + length
        for size in body.pop("blobs"):
            blobs.append(bytes(self._buffer[at : at + size]))
            at += size
        del self._buffer[:end]
        return body, blobs
