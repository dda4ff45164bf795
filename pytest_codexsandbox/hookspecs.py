"""Hook specifications: three hooks for a plugin or a conftest.py. They change the cells, see each record and add
fingerprints. See docs/how-to/hooks.md."""

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

    Called before collection, in every process of a run: the result must be the same each time. Reports list a removed
    cell as not planned. A cell that keeps its id must not change otherwise.
    """


@pytest.hookspec()
def pytest_codexsandbox_record(config: pytest.Config, record: "Record") -> None:
    """Look at one result as it is written into the journal. The hook cannot change the result.

    Called once for each attempt at a key, in the process that writes the journal. Called again where the end of the run
    changes the result (a stale deviation). A key that never ran has no record.
    """


@pytest.hookspec()
def pytest_codexsandbox_fingerprints(config: pytest.Config) -> "Path | str | Iterable[Path | str] | None":
    """Return folders with your own fingerprints, one TOML file each. A relative path begins at pytest's rootdir."""
