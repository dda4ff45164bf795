"""Show an old run again, from its journal alone.

Needs no Codex and starts nothing. Prints to the screen, unless --format or -o is given.

Exit code: 0 the report was made, however the run went; 4 the journal cannot be read; 11 the report was made, and the
journal contradicts itself (its lines were changed or lost) or has no end.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pytest_codexsandbox.commands.report_text import BY_GENERATOR, MARKDOWN, ReportText
from pytest_codexsandbox.diagnosis.explain import with_bare_tools
from pytest_codexsandbox.errors import InputError, ReportError, os_errors_as
from pytest_codexsandbox.harness.option_values import check_formats
from pytest_codexsandbox.harness.replay import read
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.reports.escape import visible
from pytest_codexsandbox.reports.headlines import contradiction
from pytest_codexsandbox.reports.installed_formats import (
    TERMINAL,
    TERMINAL_FILE,
    format_for,
    format_table,
    known_formats,
    load_formats,
)
from pytest_codexsandbox.reports.path_masking import private

EXAMPLES: Final = (
    "codexsandbox report .codexsandbox/2026-11-18T09-41-00",
    "codexsandbox report old.ndjson --format html -o old.html",
    "codexsandbox report old.ndjson --format html,markdown,json -o reports/",
    "codexsandbox report old.ndjson --by generator",
    "codexsandbox report old.ndjson --by generator --readme",
    "codexsandbox report old.ndjson --format markdown >> $GITHUB_STEP_SUMMARY",
)
CONTRADICTION: Final = 11


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help="a journal.ndjson, or the folder of a run")
    parser.add_argument(
        "--format",
        metavar="F[,F…]",
        help="terminal, html, markdown, json, or another installed format; --help lists all of them (default: by the "
        "name of FILE, else terminal)",
    )
    parser.add_argument("--by", choices=("generator",), help="a block for each generator, with a line for its README")
    parser.add_argument(
        "--readme", action="store_true", help="with --by generator: only a block to paste into its README"
    )
    parser.add_argument("-o", "--output", metavar="FILE|DIR", help="output file; several formats need a folder")
    parser.add_argument(
        "-v", "--verbose", action="count", default=0, help="show a line for each promise, and every cause in full"
    )
    formats = "\n".join(f"  {line}" for line in format_table())
    parser.epilog = f"{parser.epilog}\n\ninstalled formats, and the distribution of each:\n{formats}"


def run(options: argparse.Namespace) -> int:
    names = _names(options)
    target = Path(options.output) if options.output else None
    if len(names) > 1 and (target is None or (target.exists() and not target.is_dir())):
        raise InputError(
            "several formats need a folder", where=f"--format {options.format}", next_step="add: -o reports/"
        )
    if target is not None:
        _refuse_device(target)
    formats = {one.name: one for one in load_formats([name for name in names if name != TERMINAL])}
    journal = with_bare_tools(private(read(options.journal)))
    asked = {"by": options.by or "", "readme": options.readme, "verbosity": options.verbose}
    texts = ReportText(journal, _folder(options.journal), formats, **asked)
    if target is None:
        _say(texts.on_screen(names[0]))
        return _trust(journal)
    several = len(names) > 1 or target.is_dir() or options.output.endswith(os.sep)
    failed = list(_write_all(texts, names, target, several=several))
    code = _trust(journal)
    if failed:
        raise failed[0]
    return code


def _refuse_device(target: Path) -> None:
    """Refuses a device: a report replaces the file that it is written to, and must not replace /dev/null or a pipe."""
    is_special = target.exists() and not target.is_file() and not target.is_dir()
    if is_special or target.absolute().parts[:2] == ("/", "dev"):
        raise InputError(
            "a report cannot replace a device or a pipe", where=f"-o {target}", next_step="leave out -o, and redirect"
        )


def _write_all(texts: ReportText, names: list[str], target: Path, *, several: bool) -> Iterator[ReportError]:
    """Writes each format. Yields the errors of reporters: they do not keep other formats from being written."""
    folder, file = (target, "") if several else (target.parent, target.name)
    for name in names:
        try:
            path = _write(texts, name, folder, file)
        except ReportError as error:
            yield error
        else:
            print(f"{name}: {path}")


def _trust(journal: ReadJournal) -> int:
    """Returns the exit code. A report in a file may not be read at once: its fault is said here as well."""
    missing = contradiction(journal, journal.states())
    if missing:
        print(f"codexsandbox report: {visible(missing)}", file=sys.stderr)
    return CONTRADICTION if missing else 0


def _names(options: argparse.Namespace) -> list[str]:
    """Returns the names of the formats, each of which exists and fits the other options."""
    if options.readme and not options.by:
        raise InputError("--readme is a block about generators", next_step="add: --by generator")
    if options.readme and options.format not in (None, MARKDOWN):
        raise InputError(
            "--readme writes Markdown only", where=f"--format {options.format}", next_step="leave --format out"
        )
    if options.readme:
        return [MARKDOWN]
    names = [_name_for(options.output)] if options.format is None else _split(options.format)
    check_formats(names, (TERMINAL, *known_formats()), where="--format")
    unfit = [name for name in names if options.by and name not in BY_GENERATOR]
    if unfit:
        raise InputError(
            f"the report format {unfit[0]} has no --by generator",
            where="--format",
            why=f"known: {', '.join(BY_GENERATOR)}",
            next_step="the html report has its generators without --by",
        )
    return names


def _split(text: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in text.split(",")))


def _name_for(output: str | None) -> str:
    """Returns the format that writes files of this suffix; the screen's text where there is none."""
    if not output or Path(output).suffix.lower() == Path(TERMINAL_FILE).suffix:
        return TERMINAL
    return format_for(Path(output)) or TERMINAL


def _folder(journal: str) -> Path:
    """Returns the folder of the run, which holds its evidence and its repro scripts."""
    path = Path(journal)
    return path if path.is_dir() else path.parent


def _say(text: str) -> None:
    """Prints the report; spells characters that the stream cannot encode, in any format."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), end="")


def _write(texts: ReportText, name: str, folder: Path, file: str) -> Path:
    where, next_step = folder / (file or texts.file_name(name)), "name another file or folder: -o FILE|DIR"
    with os_errors_as(InputError, "the report cannot be written", where=where, next_step=next_step):
        folder.mkdir(parents=True, exist_ok=True)
        return texts.write(name, folder, file)
