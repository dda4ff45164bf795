"""Text files of reports: their encoding, and how one replaces another."""

from contextlib import suppress
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Writes UTF-8. A character without UTF-8 form (from a file name that is not UTF-8) is spelled out."""
    path.write_text(text, encoding="utf-8", errors="backslashreplace")


def put(path: Path, text: str) -> None:
    """Replaces the file in one step. Raises OSError, and then leaves no half-written file."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError:
        with suppress(OSError):
            part.unlink()
        raise
