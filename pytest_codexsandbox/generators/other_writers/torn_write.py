"""Torn write: the writer that every detector of half-written files must detect."""

import time
from pathlib import Path

from pytest_codexsandbox.generators.other_writers.file_save import Given, Result

_PAUSE = 0.1


def torn(given: Given) -> Result:
    """Writes the file in steps: empty, half, whole."""
    path = Path(given["config"])
    content = (path.read_bytes() if path.exists() else b"") + f"# run {given['run']}\n".encode()
    with path.open("wb", buffering=0) as file:
        time.sleep(_PAUSE)
        file.write(content[: len(content) // 2])
        time.sleep(_PAUSE)
        file.write(content[len(content) // 2 :])
    return {}
