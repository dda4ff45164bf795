"""Environment variables of this process, read whole in any thread.

pytest sets and removes one of its own between two tests. Another thread that reads all of `os.environ` just then asks
for a variable that is gone, and gets a KeyError. An environment that opens beside the tests would be lost by it.
"""

import os
from collections.abc import Callable
from pathlib import Path
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


def is_existing_path(value: str) -> bool:
    """Checks whether the value of a variable is an absolute path, or one below a home, that leads to something. A link
    that leads nowhere counts."""
    if not value.startswith(("/", "~")):
        return False
    try:
        return os.path.lexists(Path(value).expanduser())
    except (RuntimeError, ValueError):  # no such user, or a NUL
        return False
