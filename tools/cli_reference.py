"""CLI reference: writes docs/reference/cli.md, every command and its options, from the parsers."""

import argparse
import inspect
from collections.abc import Iterator
from typing import Final

from pytest_codexsandbox import cli
from pytest_codexsandbox.commands import NAMES

_HEAD: Final = r"""# The command `codexsandbox`

pytest runs the matrix (`pytest --codex-matrix`, see `pytest --help`, group codexsandbox). This page lists the other
commands. `python -m tools.pages` generates it from the program; do not edit.

| exit code | meaning |
|---|---|
| 0 | done |
| 4 | wrong words or input |
| 3 | an error of codexsandbox itself |
| 130 | interrupted (143 by SIGTERM) |
| 141 | the reader closed the pipe (`\| head`), so the output is incomplete |

Each command lists its own codes.
"""


def page() -> str:
    return "\n".join([_HEAD, *(line for name in NAMES for line in _command(name))]).rstrip() + "\n"


def _command(name: str) -> Iterator[str]:
    """Yields the section of a command, from the parser's actions: argparse's own text differs between Python
    versions."""
    module = cli.load(name)
    parser = cli.command_parser(name, module)
    yield f"## {name}\n"
    yield (inspect.getdoc(module) or "") + "\n"
    actions = [action for action in parser._actions if action.dest != "help"]
    words = " ".join(_written(action) for action in actions if not action.option_strings)
    yield f"```\ncodexsandbox {name} [options]{' ' + words if words else ''}\n```\n"
    rows = [(_written(action), " ".join((action.help or _choices(action)).split())) for action in actions]
    if rows:
        yield "| | |\n|---|---|"
        yield from (f"| `{_cell(left)}` | {_cell(right)} |" for left, right in rows)
        yield ""
    yield "```\n" + "\n".join(module.EXAMPLES) + "\n```\n"


def _written(action: argparse.Action) -> str:
    value = action.metavar if isinstance(action.metavar, str) else _choices(action) or action.dest.upper()
    if not action.option_strings:
        return f"[{value}]" if action.nargs in ("?", "*") else value
    return ", ".join(action.option_strings) + ("" if action.nargs == 0 else f" {value}")


def _choices(action: argparse.Action) -> str:
    return "|".join(map(str, action.choices or ()))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("%%", "%")
