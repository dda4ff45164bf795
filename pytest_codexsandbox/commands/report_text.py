"""Reports of `codexsandbox report`: the screen's text, a block for each generator, and every installed format."""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.reports import by_generator, terminal
from pytest_codexsandbox.reports.installed_formats import TERMINAL, TERMINAL_FILE, ReportFormat
from pytest_codexsandbox.reports.text_file import put
from pytest_codexsandbox.reports.writer import rendered, write

MARKDOWN: Final = "markdown"
BY_GENERATOR: Final = (TERMINAL, MARKDOWN, "json")
_WIDTH: Final = 100  # of a file


class ReportText:
    """One journal in every requested format."""

    def __init__(
        self,
        journal: ReadJournal,
        run_dir: Path,
        formats: Mapping[str, ReportFormat],
        *,
        by: str = "",
        readme: bool = False,
        verbosity: int = 0,
    ) -> None:
        self._journal, self._run_dir, self._formats = journal, run_dir, formats
        self._by, self._readme, self._verbosity = by, readme, verbosity

    def file_name(self, name: str) -> str:
        return TERMINAL_FILE if name == TERMINAL else self._formats[name].file_name

    def on_screen(self, name: str) -> str:
        if self._is_text(name):
            return self._text(name, screen=True)
        with rendered(self._formats[name], self._journal, run_dir=self._run_dir) as made:
            return _text_of(made, name)

    def write(self, name: str, folder: Path, file: str) -> Path:
        """Writes into `folder`, as `file` if that is given. Raises OSError or ReportError."""
        if not self._is_text(name):
            return write(self._formats[name], self._journal, folder, run_dir=self._run_dir, file=file)
        path = folder / (file or self.file_name(name))
        put(path, self._text(name, screen=False))
        return path

    def _is_text(self, name: str) -> bool:
        """Checks whether this command renders the text itself."""
        return bool(self._by) or name == TERMINAL

    def _text(self, name: str, *, screen: bool) -> str:
        if self._readme:
            return by_generator.readme_of(self._journal)
        if self._by:
            return self._by_generator(name, screen=screen)
        shape = _shape(screen=screen)
        return terminal.render(self._journal, verbosity=self._verbosity, folder=self._run_dir, **shape)

    def _by_generator(self, name: str, *, screen: bool) -> str:
        if name == MARKDOWN:
            return by_generator.markdown_of(self._journal)
        if name == TERMINAL:
            return by_generator.render(self._journal, **_shape(screen=screen))
        data = by_generator.as_data(by_generator.blocks(self._journal))
        return msgspec.json.format(msgspec.json.encode(data)).decode()


def _text_of(made: Path, name: str) -> str:
    """Returns the text of a report. A folder and a file that is not UTF-8 cannot be shown on a screen."""
    try:
        return made.read_bytes().decode()
    except (IsADirectoryError, UnicodeDecodeError) as error:
        kind = "a folder" if isinstance(error, IsADirectoryError) else "a file that is not text"
        raise InputError(
            f"the format {name!r} writes {kind}", where=f"--format {name}", next_step="add: -o reports/"
        ) from error


def _shape(*, screen: bool) -> dict[str, Any]:
    return {
        "width": shutil.get_terminal_size((_WIDTH, 24)).columns if screen else _WIDTH,
        "color": screen and sys.stdout.isatty() and "NO_COLOR" not in os.environ,
        "ascii": screen and not _unicode(),
    }


def _unicode() -> bool:
    return "utf" in (sys.stdout.encoding or "").lower()
