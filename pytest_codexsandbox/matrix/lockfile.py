"""Lock files: the cells that were picked from a matrix file, so that the next run measures the same ones.

`mine.lock.toml` is beside `mine.toml`. Rows stay while their values exist. A new value only adds rows, and a removed
value removes its rows. `codexsandbox plan ./mine.toml --update-lock` writes the file.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.errors import InputError, os_errors_as
from pytest_codexsandbox.matrix import toml_files
from pytest_codexsandbox.model.coverage import AXES, WORDS

SUFFIX: Final = ".lock.toml"
Row = tuple[str, ...]


class Lock(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pairs: int  # 2: the cells hold every pair of values; 3: every triple
    cells: tuple[Row, ...]


def path_of(matrix_file: Path) -> Path:
    return matrix_file.with_name(matrix_file.stem + SUFFIX)


def read(path: Path) -> Lock | None:
    """Returns the lock; None if there is no lock file."""
    if not path.is_file():
        return None
    file = toml_files.read(path)
    lock = toml_files.convert(file, Lock)
    if lock.pairs not in WORDS:
        raise InputError("pairs is 2 or 3", where=file.place("pairs"))
    for row in lock.cells:
        if len(row) != len(AXES):
            raise InputError(
                f"cells: {', '.join(row)} has {len(row)} values",
                where=file.place("cells"),
                why=f"each has {_NAMES}",
                next_step="codexsandbox plan PRESET|FILE --update-lock",
            )
    return lock


def write(path: Path, pairs: int, rows: Iterable[Row]) -> None:
    """Writes sorted rows, one on a line, so that a change of the axes is a short diff."""
    lines = [f"  [{', '.join(_quoted(value) for value in row)}]," for row in sorted(set(rows))]
    text = "\n".join([_HEAD, f"pairs = {pairs}", f"cells = [ # {_NAMES}", *lines, "]", ""])
    with os_errors_as(InputError, "the lock file cannot be written", where=path):
        path.write_text(text, encoding="utf-8")


def _quoted(value: str) -> str:
    """Quotes a value. Axis values contain no character that TOML would escape."""
    return f'"{value}"'


_NAMES: Final = ", ".join(AXES)
_HEAD: Final = "# Written by `codexsandbox plan … --update-lock`: the picked cells. Cells that are listed here stay."
