"""Environment variables of this process, read whole in any thread.

pytest sets and removes one of its own between two tests. Another thread that reads all of `os.environ` just then asks
for a variable that is gone, and gets a KeyError. An environment that opens beside the tests would be lost by it.
"""

import os
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")
_TRIES: Final = 100  # one is nearly always enough; a KeyError of the reader's own must come out in the end


def copied() -> dict[str, str]:
    return settled(lambda: dict(os.environ))


def settled(read: Callable[[], T]) -> T:
    """Returns the result of `read`, which goes through `os.environ` and changes nothing. Tries again after a
    KeyError."""
    for _ in range(_TRIES):
        try:
            return read()
        except KeyError:
            continue
    return read()
