"""Reports as files: each is rendered in a folder of its own, checked, and then moved to its place."""

import copy
import errno
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from pytest_codexsandbox.errors import ReportError
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.reports.escape import visible
from pytest_codexsandbox.reports.installed_formats import ReportFormat

_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class WrittenReport(msgspec.Struct, frozen=True, kw_only=True):
    path: Path
    fault: str = ""  # why it was not written


def reports(
    formats: Sequence[ReportFormat], journal: ReadJournal, folder: Path, *, run_dir: Path
) -> Iterator[WrittenReport]:
    """Writes each report into `folder`, or yields why not. `run_dir` is the run's folder as a reader types it."""
    for one in formats:
        path = folder / one.file_name
        try:
            write(one, journal, folder, run_dir=run_dir)
        except OSError as fault:
            yield WrittenReport(path=path, fault=f"could not be written: {fault.strerror or fault}")
        except ReportError as fault:
            yield WrittenReport(path=path, fault=f"could not be made: {fault.why} ({fault.where})")
        else:
            yield WrittenReport(path=path)


def write(form: ReportFormat, journal: ReadJournal, folder: Path, *, run_dir: Path, file: str = "") -> Path:
    """Writes one report into `folder`. Raises OSError or ReportError, and then leaves no half-written file.

    `file` is another name for the report, or a folder for it if the report is a folder. Files replace files of the same
    name; other files of an existing folder stay.
    """
    with rendered(form, journal, run_dir=run_dir, beside=folder) as made:
        path = folder / file if file and not made.is_dir() else folder / file / form.file_name
        path.parent.mkdir(exist_ok=True)
        _move(made, path)
    return path


@contextmanager
def rendered(form: ReportFormat, journal: ReadJournal, *, run_dir: Path, beside: Path | None = None) -> Iterator[Path]:
    """Renders into a temporary folder and yields the file or folder in it. `beside`: where that folder is created."""
    with TemporaryDirectory(
        prefix=f".{form.file_name}.", suffix=".part", dir=beside, ignore_cleanup_errors=True
    ) as folder:
        _render(form, journal, Path(folder), run_dir)
        yield Path(folder) / form.file_name


def _render(form: ReportFormat, journal: ReadJournal, folder: Path, run_dir: Path) -> None:
    # The closing screen and the other reports use the same journal.
    shown = journal if form.is_own else copy.deepcopy(journal)
    try:
        form.reporter.render(shown, folder, run_dir=run_dir)
        names = sorted(path.name for path in folder.iterdir())
    except KeyboardInterrupt:
        raise
    except BaseException as fault:  # SystemExit too: a reporter must not decide how a run ends
        if isinstance(fault, OSError) and _cannot_write(fault, folder):
            raise
        raise _error(form, f"{type(fault).__name__}: {fault}{_line_of(fault)}") from fault
    if names != [form.file_name]:
        wrote = ", ".join(names) or "nothing"
        raise _error(form, f"it has to write {form.file_name} alone, and wrote {wrote}")


def _cannot_write(fault: OSError, folder: Path) -> bool:
    """Checks whether the report's folder cannot be written, as opposed to an error of the reporter."""
    return fault.errno in _NO_SPACE or str(fault.filename or "").startswith(str(folder))


def _error(form: ReportFormat, why: str) -> ReportError:
    return ReportError(f"the report {form.name!r} could not be made", where=form.source, why=visible(why))


def _line_of(fault: BaseException) -> str:
    frames = traceback.extract_tb(fault.__traceback__)
    return f", {frames[-1].filename}:{frames[-1].lineno}" if len(frames) > 1 else ""


def _move(source: Path, target: Path) -> None:
    """Moves a file; merges a folder into an existing one, file by file."""
    if source.is_symlink() or not source.is_dir():
        source.replace(target)
        return
    target.mkdir(exist_ok=True)
    for child in sorted(source.iterdir()):
        _move(child, target / child.name)
