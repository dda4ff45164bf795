"""Folders for generators: outside the temp directory, gone afterwards."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

GENEROUS: Final = 60.0


@contextmanager
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="codexsandbox-tests-", dir="/var/tmp") as folder:
        yield Path(folder)
