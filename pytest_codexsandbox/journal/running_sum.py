"""Running sum: the checksum at the end of each line of a journal, over every byte of the file before it.

A line that was edited, removed, inserted or moved makes its own sum wrong, and the sum of each line below it. The sum
is against accidents and careless edits. An author who computes all sums again is not caught by them.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Final

DIGITS: Final = 8
_MARK: Final = b',"sum":"'
_TAIL: Final = re.compile(rb'[0-9a-f]{%d}"\}\n?' % DIGITS)


class RunningSum:
    """SHA-256 over the bytes of a journal so far."""

    def __init__(self, before: "hashlib._Hash | None" = None) -> None:
        self._hash = hashlib.sha256() if before is None else before

    def copy(self) -> "RunningSum":
        return RunningSum(self._hash.copy())

    def sealed(self, lines: Iterable[bytes]) -> bytes:
        """Returns lines, each given as a JSON object, with their sums and line ends, and goes on behind them."""
        pieces: list[bytes] = []
        for line in lines:
            body = line[:-1]
            self._hash.update(body)
            tail = b'%s%s"}\n' % (_MARK, self._hash.hexdigest()[:DIGITS].encode())
            self._hash.update(tail)
            pieces += body, tail
        return b"".join(pieces)

    def fits(self, line: bytes) -> bool:
        """Checks the sum of a line, which may lack its line end, and goes on behind the line."""
        body, mark, tail = line.rpartition(_MARK)
        self._hash.update(body)
        fits = tail[:DIGITS] == self._hash.hexdigest()[:DIGITS].encode() and _TAIL.fullmatch(tail) is not None
        self._hash.update(mark + tail.rstrip(b"\n") + b"\n")
        return fits


def without_sum(line: bytes) -> bytes:
    """Returns a line as it was before it got its sum, without line end."""
    body, mark, _ = line.rpartition(_MARK)
    return body + b"}" if mark else line.rstrip(b"\n")


def resealed(lines: Iterable[bytes]) -> bytes:
    """Returns the content of a journal of these lines, each with a new sum."""
    return RunningSum().sealed(map(without_sum, lines))
