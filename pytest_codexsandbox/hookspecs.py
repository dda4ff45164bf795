"""Three hooks for a plugin or a conftest.py: change the cells, see each record, add fingerprints. See
docs/how-to/hooks.md."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_codexsandbox.model.cell import Cell
    from pytest_codexsandbox.model.record import Record


@pytest.hookspec()
def pytest_codexsandbox_cells(config: pytest.Config, cells: "list[Cell]") -> None:
    """Change the list in place: leave cells out, reorder them, add some.

    Asked before anything is collected, in every process of a run: the answer must be the same each time. What is left
    out is told as not planned; a cell that keeps its id has to stay what it is.
    """


@pytest.hookspec()
def pytest_codexsandbox_record(config: pytest.Config, record: "Record") -> None:
    """Look at one result, as it is written into the journal; nothing can be changed by it.

    Called once for each attempt at a key, and again where the end of the run says something else (a deviation that is
    stale), in the process that keeps the journal. A key that never ran has no record.
    """


@pytest.hookspec()
def pytest_codexsandbox_fingerprints(config: pytest.Config) -> "Path | str | Iterable[Path | str] | None":
    """Folders with fingerprints of your own, one TOML file each; a relative path begins at pytest's rootdir."""
