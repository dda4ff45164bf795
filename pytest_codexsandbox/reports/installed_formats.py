"""Report formats: the installed entry points of the group `codexsandbox.reporters`, found, loaded and checked."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path, PurePath
from typing import Final

import msgspec

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.protocols import Reporter
from pytest_codexsandbox.registry import distribution_of, is_own, origin, points
from pytest_codexsandbox.reports.escape import visible

GROUP: Final = "reporters"
TERMINAL: Final = "terminal"  # the closing screen's text: a format of `codexsandbox report` only
TERMINAL_FILE: Final = "report.txt"
_RESERVED: Final = ("journal.ndjson", "repro", TERMINAL_FILE)  # in the same folder
_SAME: Final = {".htm": ".html"}


class ReportFormat(msgspec.Struct, frozen=True):
    """A reporter and its origin."""

    reporter: Reporter
    source: str  # entry point and distribution
    is_own: bool = False  # whether it is part of this distribution

    @property
    def name(self) -> str:
        return self.reporter.name

    @property
    def file_name(self) -> str:
        return self.reporter.file_name


def known_formats() -> tuple[str, ...]:
    """Returns the names of all installed formats, our own first; nothing is imported."""
    own = {point.name for point in points(GROUP) if is_own(point)}
    others = {point.name for point in points(GROUP)} - own
    return (*sorted(own), *sorted(others))


def format_table() -> Iterator[str]:
    """Yields a line for each installed format: its name and its distribution; nothing is imported."""
    wide = max(map(len, known_formats()), default=0)
    for name in known_formats():
        yield f"{name:<{wide}}  {' and '.join(map(distribution_of, _points_of(name)))}"


def load_formats(names: Sequence[str]) -> tuple[ReportFormat, ...]:
    """Imports the reporters. Refuses two that write the same file."""
    formats = tuple(map(load_format, names))
    by_file: dict[str, ReportFormat] = {}
    for one in formats:
        other = by_file.setdefault(one.file_name, one)
        if other is not one:
            raise InputError(
                f"the report formats {other.name!r} and {one.name!r} write the same file: {one.file_name}",
                where=f"{other.source}; {one.source}",
                next_step="ask for one of them",
            )
    return formats


@cache
def load_format(name: str) -> ReportFormat:
    """Imports a reporter and checks that it is one. Every error names its entry point and its distribution."""
    found = _points_of(name)
    source = origin(GROUP, name)
    if len(found) > 1:
        raise InputError(
            f"several distributions have a report format {name!r}", where=source, next_step="uninstall all but one"
        )
    try:
        reporter = found[0].load()()
    except KeyboardInterrupt:
        raise
    except BaseException as fault:
        raise InputError(
            f"the report format {name!r} cannot be loaded",
            where=source,
            why=visible(f"{type(fault).__name__}: {fault}"),
        ) from fault
    if why := _defect(reporter, name):
        raise InputError(f"the report format {name!r} is not a Reporter", where=source, why=why)
    return ReportFormat(reporter, source, is_own(found[0]))


def format_for(file: Path) -> str:
    """Returns the format that writes files of this suffix; "" if there is none. Our own formats come first."""
    suffix = _SAME.get(file.suffix.lower(), file.suffix.lower())
    own = [name for name in known_formats() if all(map(is_own, _points_of(name)))]
    for names in (own, [name for name in known_formats() if name not in own]):
        fitting = [name for name in names if suffix and _suffix_of(name) == suffix]
        if len(fitting) > 1:
            raise InputError(
                f"several report formats write {suffix} files: {', '.join(fitting)}",
                where=f"-o {file}",
                next_step=f"name one: --format {fitting[0]}",
            )
        if fitting:
            return fitting[0]
    return ""


def _suffix_of(name: str) -> str:
    with suppress(InputError):  # a format that cannot be loaded is an error only if it is requested by name
        return PurePath(load_format(name).file_name).suffix.lower()
    return ""


def _defect(reporter: object, name: str) -> str:
    """Returns what the protocol requires and the object lacks; "" if nothing."""
    named, file_name = getattr(reporter, "name", None), getattr(reporter, "file_name", None)
    if named != name:
        return f"its name is {named!r}; it must be the name of the entry point"
    if not isinstance(file_name, str) or PurePath(file_name).name != file_name or file_name.startswith("."):
        return f"its file_name is {file_name!r}; it must be the plain name of a file or folder"
    if not file_name.isprintable():
        return f"its file_name is {file_name!r}; it must not have control characters"
    if name == TERMINAL or file_name in _RESERVED:
        return f"the name {TERMINAL!r} and the files {', '.join(_RESERVED)} belong to pytest-codexsandbox"
    return "" if callable(getattr(reporter, "render", None)) else "it has no method `render`"


def _points_of(name: str) -> tuple[EntryPoint, ...]:
    return tuple(point for point in points(GROUP) if point.name == name)
