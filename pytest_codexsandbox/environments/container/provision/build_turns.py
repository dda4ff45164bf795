"""Build turns: several processes may need one image at once; one makes it, the others wait and say so."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from pytest_codexsandbox.environments.container.provision.cache_errors import keeping
from pytest_codexsandbox.system import locks
from pytest_codexsandbox.system.progress import Progress

_PATIENCE: Final = 3600.0
_FOLDER: Final = Path("images", "turns")


@contextmanager
def turn(cache: Path, digest: str, what: str, watch: Progress) -> Iterator[None]:
    """Holds the lock of a base image; reports a wait to the watch."""
    path = cache / _FOLDER / f"{digest}.lock"

    def notify(line: str) -> None:
        watch.say(line)
        watch.stage(what, line)

    with ExitStack() as stack:
        with keeping(path.parent):
            stack.enter_context(locks.exclusive(path, f"makes the image {what}", patience=_PATIENCE, notify=notify))
        yield


def held(cache: Path) -> tuple[str, ...]:
    """Returns the digests of the bases that are being made at the moment."""
    found = sorted((cache / _FOLDER).glob("*.lock"))
    return tuple(path.stem for path in found if locks.is_held(path, if_unreadable=False))
