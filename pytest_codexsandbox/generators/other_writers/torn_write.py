"""The writer that every witness of half a file must have seen."""

import time
from pathlib import Path

from pytest_codexsandbox.generators.other_writers.file_save import Given, Result

_PAUSE = 0.1


def torn(given: Given) -> Result:
    """Empty, half, whole."""
    path = Path(given["config"])
    content = (path.read_bytes() if path.exists() else b"") + f"# run {given['run']}\n".encode()
    with path.open("wb", buffering=0) as file:
        time.sleep(_PAUSE)
        file.write(content[: len(content) // 2])
        time.sleep(_PAUSE)
        file.write(content[len(content) // 2 :])
    return {}
