"""Begin with a generator of your own: what writes Codex's configuration, put under test.

  new   a declaration and a program that work at once, in the folder `generators` (or --folder): change them, or put
        your own command behind `run`. Files that are there already stay as they are

A generator needs no file at all: pytest --codex-matrix --codex-generator "mytool render --out @CONFIG@"
"""

import argparse
import keyword
from pathlib import Path
from typing import Final

from pytest_codexsandbox.errors import WrongInput
from pytest_codexsandbox.generators.scaffold import LANGUAGES, README, written
from pytest_codexsandbox.matrix import generators
from pytest_codexsandbox.model.ids import as_value, is_value

EXAMPLES: Final = (
    "codexsandbox generator new mytool",
    "codexsandbox generator new mytool --lang python",
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("do", choices=("new",), metavar="new", help="what to do")
    parser.add_argument("name", metavar="NAME", help="the generator's: it stands in every cell")
    parser.add_argument("--lang", choices=tuple(LANGUAGES), default="sh", help="new: of the program; toml: none")
    parser.add_argument("--folder", default=generators.FOLDER, metavar="DIR", help="new: where to (generators)")


def run(options: argparse.Namespace) -> int:
    return _new(options.name, options.lang, Path(options.folder))


def _new(name: str, language: str, folder: Path) -> int:
    _refuse(name, language)
    files = written(name, language)
    there = [file for file in files if (folder / file).exists() and file != README]
    if there:
        raise WrongInput(f"{there[0]} is there already", where=str(folder), why="nothing was written",
                         next_step="give another name, or remove it")  # fmt: skip
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, (text, executable) in files.items():
            _write(folder / file, text, executable=executable)
    except OSError as problem:
        raise WrongInput(f"cannot write to {folder}", why=problem.strerror or str(problem)) from problem
    print("\n".join(f"wrote {folder / file}" for file in files if file != README or (folder / file).is_file()))
    print(f"next  pytest --codex-matrix --codex-generator {folder / name}.toml")
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
        raise WrongInput(
            f"{name!r} cannot be the name of a generator", why="lower-case letters, digits, `.`, `+`, `_` and `-`",
            next_step=f"codexsandbox generator new {as_value(name)}",
        )  # fmt: skip
    if name in generators.files():
        raise WrongInput(f"{name!r} is shipped: give yours another name")
    if language == "python" and (name[0].isdigit() or keyword.iskeyword(name)):
        raise WrongInput(f"{name!r} cannot be the name of a Python module", next_step="begin with a letter")
