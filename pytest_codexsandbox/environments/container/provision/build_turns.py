"""Many processes may want one image at once: one makes it, the others wait for it and say so."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from pytest_codexsandbox.environments.container.provision.cache_errors import keeping
from pytest_codexsandbox.environments.container.provision.progress import Watch
from pytest_codexsandbox.errors import HarnessError

PATIENCE: Final = 3600.0
_FOLDER: Final = Path("images", "turns")


@contextmanager
def turn(cache: Path, digest: str, what: str, watch: Watch, *, patience: float = PATIENCE) -> Iterator[None]:
    """The kernel gives a lock back when its process dies: nothing here goes stale."""
    path = cache / _FOLDER / f"{digest}.lock"
    with keeping(path.parent):
        lock = FileLock(path)
        _acquire(lock, what, watch, patience)
    try:
        path.with_suffix(".who").write_text(str(os.getpid()), encoding="ascii")
        yield
    finally:
        lock.release()


def held(cache: Path) -> tuple[str, ...]:
    """The digests of bases that somebody works on at the moment."""
    return tuple(path.stem for path in sorted((cache / _FOLDER).glob("*.lock")) if _is_held(path))


def _acquire(lock: FileLock, what: str, watch: Watch, patience: float) -> None:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        by = _who(Path(lock.lock_file))
        watch.say(f"image {what}: process {by} makes it; waiting for that")
        watch.stage(what, f"waiting for process {by}, which makes it")
    else:
        return
    try:
        lock.acquire(timeout=patience)
    except Timeout:
        raise HarnessError(
            f"waited {patience / 60:.0f} minutes for another process that makes the image {what}",
            where=lock.lock_file,
            why=f"process {_who(Path(lock.lock_file))}",
            next_step="end it, then run again",
        ) from None


def _who(path: Path) -> str:
    try:
        return path.with_suffix(".who").read_text(encoding="ascii")[:12]
    except OSError:
        return "(unknown)"


def _is_held(path: Path) -> bool:
    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:
        return False
