"""Create a generator, a program that writes Codex's configuration, or try one on a few files.

  new   a declaration and a program that work at once, in the folder `generators` (or --folder): change them, or put
        your own command behind `run`. Existing files stay as they are
  try   run it on a few files that have broken others (or on one of yours), and show its changes, how the real Codex
        reads them, and each promise: confined as in a run. Exit code 1 when a promise is violated, 10 when a promise
        has no verdict

A generator needs no file at all: pytest --codex-matrix --codex-generator "mytool render --out @CONFIG@"
"""

import argparse
import keyword
from pathlib import Path
from typing import Final

from pytest_codexsandbox.commands import generator_try
from pytest_codexsandbox.errors import InputError, os_errors_as
from pytest_codexsandbox.generators.scaffold import LANGUAGES, README, written
from pytest_codexsandbox.matrix import generator_files
from pytest_codexsandbox.model.ids import as_value, is_value

EXAMPLES: Final = (
    "codexsandbox generator new mytool",
    "codexsandbox generator new mytool --lang python",
    *generator_try.EXAMPLES,
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("do", choices=("new", "try"), metavar="new|try", help="what to do")
    parser.add_argument(
        "words",
        nargs="+",
        metavar="NAME|SPEC",
        help="new: its name, shown in every cell; try, after --: a command, a name, py:, ep:, launch:",
    )
    parser.add_argument("--lang", choices=tuple(LANGUAGES), default="sh", help="new: of the program; toml: none")
    parser.add_argument("--folder", default=generator_files.FOLDER, metavar="DIR", help="new: where to (generators)")
    generator_try.add(parser)


def run(options: argparse.Namespace) -> int:
    if options.do == "try":
        return generator_try.run(options)
    if len(options.words) != 1:
        raise InputError(f"one name is needed, not {len(options.words)}", next_step="codexsandbox generator new mytool")
    return _new(options.words[0], options.lang, Path(options.folder))


def _new(name: str, language: str, folder: Path) -> int:
    _refuse(name, language)
    files = written(name, language)
    there = [file for file in files if (folder / file).exists() and file != README]
    if there:
        raise InputError(
            f"{there[0]} already exists",
            where=str(folder),
            why="nothing was written",
            next_step="give another name, or remove it",
        )
    with os_errors_as(InputError, f"cannot write to {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        for file, (text, executable) in files.items():
            _write(folder / file, text, executable=executable)
    print("\n".join(f"wrote {folder / file}" for file in files if file != README or (folder / file).is_file()))
    named = name if folder == Path(generator_files.FOLDER) else f"{folder / name}.toml"
    print(f"next  codexsandbox generator try -- {named}")
    print(f"then  pytest --codex-matrix --codex-generator {named}")
    return 0


def _write(path: Path, text: str, *, executable: bool) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:  # the page that all generators here share
        return
    if executable:
        path.chmod(0o755)


def _refuse(name: str, language: str) -> None:
    if not is_value(name):
        raise InputError(
            f"{name!r} cannot be the name of a generator",
            why="lower-case letters, digits, `.`, `+`, `_` and `-`",
            next_step=f"codexsandbox generator new {as_value(name)}",
        )
    if name in generator_files.files():
        raise InputError(f"{name!r} is the name of a shipped generator: choose another")
    if language == "python" and (name[0].isdigit() or keyword.iskeyword(name)):
        raise InputError(f"{name!r} cannot be the name of a Python module", next_step="begin with a letter")
