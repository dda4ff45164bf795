"""Cache errors: reports an unusable folder of images in the same words everywhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_codexsandbox.errors import Unavailable, os_errors_as


@contextmanager
def keeping(folder: Path) -> Iterator[None]:
    """Creates the folder, and raises Unavailable if the block cannot use it."""
    next_step = "set CODEXSANDBOX_CACHE to a folder that you can write"
    with os_errors_as(Unavailable, "images cannot be stored here", where=folder, next_step=next_step):
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        yield
