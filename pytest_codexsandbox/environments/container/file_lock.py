"""Many processes may want one thing made: one makes it, the others wait, and not for ever."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from pytest_codexsandbox.errors import HarnessError

_PATIENCE: Final = 300.0


@contextmanager
def exclusive(path: Path, what: str, *, patience: float = _PATIENCE) -> Iterator[None]:
    """`what`: what is made. The kernel gives a lock back when its process dies."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=patience)
    except Timeout:
        raise HarnessError(
            f"waited {patience:.0f} s for another process that makes {what}",
            where=str(path),
            why="it is still working, or it hangs",
            next_step="end it, then run again",
        ) from None
    try:
        yield
    finally:
        lock.release()
