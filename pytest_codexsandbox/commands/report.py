"""Show an old run again, from its journal alone.

Needs no Codex and starts nothing. On the screen unless --format or -o says otherwise.

Exit code: 0 the report was made, however the run went; 4 the journal cannot be read; 11 the report was made, and the
journal contradicts itself (its lines were changed or lost) or has no end.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.diagnosis.explain import with_bare_tools
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.journal.store import read
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.registry import load_plugin
from pytest_codexsandbox.reports import by_generator, terminal
from pytest_codexsandbox.reports.escape import visible
from pytest_codexsandbox.reports.headlines import contradiction
from pytest_codexsandbox.reports.path_masking import private
from pytest_codexsandbox.reports.writer import FILES, put

EXAMPLES: Final = (
    "codexsandbox report .codexsandbox/2026-11-18T09-41-00",
    "codexsandbox report old.ndjson --format html -o old.html",
    "codexsandbox report old.ndjson --format html,markdown,json -o reports/",
    "codexsandbox report old.ndjson --by generator",
    "codexsandbox report old.ndjson --by generator --readme",
    "codexsandbox report old.ndjson --format markdown >> $GITHUB_STEP_SUMMARY",
)
_SUFFIXES: Final = {".html": "html", ".htm": "html", ".md": "markdown", ".json": "json", ".txt": "terminal"}
CONTRADICTION: Final = 11
_WIDTH: Final = 100  # of a file


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help="a journal.ndjson, or the folder of a run")
    parser.add_argument(
        "--format",
        metavar="F[,F…]",
        help="terminal, html, markdown, json (default: by the name of FILE, else terminal)",
    )
    parser.add_argument("--by", choices=("generator",), help="a block for each generator, with a line for its README")
    parser.add_argument(
        "--readme", action="store_true", help="with --by generator: only a block to paste into its README"
    )
    parser.add_argument("-o", "--output", metavar="FILE|DIR", help="where to; several formats need a folder")
    parser.add_argument("-v", "--verbose", action="count", default=0, help="every promise a line, every cause in full")


def run(options: argparse.Namespace) -> int:
    _need_generators(options)
    formats = _formats(options)
    target = Path(options.output) if options.output else None
    if len(formats) > 1 and (target is None or (target.exists() and not target.is_dir())):
        raise InputError(
            "several formats need a folder", where=f"--format {options.format}", next_step="add: -o reports/"
        )
    journal = with_bare_tools(private(read(options.journal)))
    folder = _folder(options.journal)

    def render(name: str, *, screen: bool) -> str:
        if options.readme:
            return by_generator.readme_of(journal)
        if options.by:
            return _by_generator(name, journal, screen=screen)
        return _rendered(name, journal, folder, options.verbose, screen=screen)

    if target is None:
        _say(render(formats[0], screen=True))
        return _trust(journal)
    several = len(formats) > 1 or target.is_dir() or options.output.endswith(os.sep)
    for name in formats:
        path = target / FILES[name] if several else target
        _write(path, render(name, screen=False))
        print(f"{name}: {path}")
    return _trust(journal)


def _trust(journal: ReadJournal) -> int:
    """Returns the exit code. A report in a file may not be read at once: its fault is said here as well."""
    missing = contradiction(journal, journal.states())
    if missing:
        print(f"codexsandbox report: {visible(missing)}", file=sys.stderr)
    return CONTRADICTION if missing else 0


def _need_generators(options: argparse.Namespace) -> None:
    if options.readme and not options.by:
        raise InputError("--readme is a block about generators", next_step="add: --by generator")
    if options.readme and options.format not in (None, "markdown"):
        raise InputError(
            "--readme is made as Markdown only", where=f"--format {options.format}", next_step="leave --format out"
        )


def _formats(options: argparse.Namespace) -> list[str]:
    if options.readme:
        return ["markdown"]
    if options.format is None:
        return [_SUFFIXES.get(Path(options.output).suffix.lower(), "terminal") if options.output else "terminal"]
    names = list(dict.fromkeys(name.strip() for name in options.format.split(",")))
    unknown = [name for name in names if name not in FILES]
    if unknown:
        raise InputError(
            f"there is no report format {unknown[0]!r}", where="--format", why=f"known: {', '.join(FILES)}"
        )
    return names


def _folder(journal: str) -> Path:
    """Of the run: where its evidence and its repro scripts lie."""
    path = Path(journal)
    return path if path.is_dir() else path.parent


def _rendered(name: str, journal: ReadJournal, folder: Path, verbosity: int, *, screen: bool) -> str:
    if name != "terminal":
        return str(load_plugin("reporters", name)(journal, folder))
    return terminal.render(journal, verbosity=verbosity, folder=folder, **_screen(screen=screen))


def _by_generator(name: str, journal: ReadJournal, *, screen: bool) -> str:
    match name:
        case "markdown":
            return by_generator.markdown_of(journal)
        case "json":
            return msgspec.json.format(msgspec.json.encode(by_generator.as_data(by_generator.blocks(journal)))).decode()
        case "terminal":
            return by_generator.render(journal, **_screen(screen=screen))
    raise InputError(
        f"--by generator is not made as {name}",
        where="--format",
        why="known: terminal, markdown, json",
        next_step="the html report has its generators without --by",
    )


def _screen(*, screen: bool) -> dict[str, Any]:
    return {
        "width": shutil.get_terminal_size((_WIDTH, 24)).columns if screen else _WIDTH,
        "color": screen and sys.stdout.isatty() and "NO_COLOR" not in os.environ,
        "ascii": screen and not _unicode(),
    }


def _unicode() -> bool:
    return "utf" in (sys.stdout.encoding or "").lower()


def _say(text: str) -> None:
    """A stream that cannot say a sign gets it spelled, whatever the format."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), end="")


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        put(path, text)
    except OSError as error:
        raise InputError(
            "the report cannot be written",
            where=str(path),
            why=error.strerror or str(error),
            next_step="name another file or folder: -o FILE|DIR",
        ) from error
