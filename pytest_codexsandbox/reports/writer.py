"""Reports as files."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.registry import load_plugin

FILES: Final = {"html": "index.html", "markdown": "report.md", "json": "report.json", "terminal": "report.txt"}


class WrittenReport(msgspec.Struct, frozen=True, kw_only=True):
    path: Path
    fault: str = ""  # why it is not there


def reports(names: Sequence[str], journal: ReadJournal, folder: Path, *, shown: Path) -> Iterator[WrittenReport]:
    """Each of them beside the journal, or why not; `shown` is the folder as a reader types it."""
    for name in names:
        path = folder / FILES[name]
        try:
            put(path, load_plugin("reporters", name)(journal, shown))
        except OSError as fault:
            yield WrittenReport(path=path, fault=f"could not be written: {fault.strerror or fault}")
        except Exception as fault:  # noqa: BLE001 - the run is over: its screen and its exit code are still owed
            yield WrittenReport(path=path, fault=f"could not be made: {type(fault).__name__}: {fault}")
        else:
            yield WrittenReport(path=path)


def put(path: Path, text: str) -> None:
    """OSError, and nothing half written in sight."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError:
        with suppress(OSError):
            part.unlink()
        raise
