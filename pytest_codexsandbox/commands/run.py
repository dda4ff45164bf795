"""Run the matrix: the same as `pytest --codex-matrix`.

All arguments of pytest may follow: its own options, and those of the matrix (--codex-…, which `pytest --help` explains
in its group codexsandbox). The process becomes pytest, so its exit code is pytest's.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.load import offered

EXAMPLES: Final = (
    "codexsandbox run",
    "codexsandbox run --preset releases -n 2",
    "codexsandbox run --codex-release 0.136.0,0.163.0 --codex-report html",
)
PASSES_ON: Final = True  # what is not known here is pytest's
_FLAG: Final = "--codex-matrix"


def add(parser: argparse.ArgumentParser) -> None:
    parser.usage = "codexsandbox run [--preset PRESET|FILE] [pytest's own arguments …]"
    parser.add_argument("--preset", default="", metavar="PRESET|FILE", help="default: local")


def run(options: argparse.Namespace) -> int:
    # -P: as with `pytest` itself, a `json.py` in the user's folder is not taken for Python's own.
    argv = (sys.executable, "-P", "-m", "pytest", *pytest_words(options.preset, options.rest))
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, argv)  # noqa: S606 - no process of ours remains between the user's signals and pytest


def pytest_words(preset: str, rest: Sequence[str]) -> tuple[str, ...]:
    given = [word for word in rest if word == _FLAG or word.startswith(f"{_FLAG}=")]
    if preset and given:
        raise InputError(f"--preset {preset} and {given[0]} contradict each other", next_step="give one of them")
    if given:
        return tuple(rest)
    _refuse_lone_preset(rest)
    return (f"{_FLAG}={preset}" if preset else _FLAG, *rest)


def _refuse_lone_preset(rest: Sequence[str]) -> None:
    """Refuses a preset without its option, as in `codexsandbox plan releases`: pytest reads a lone word as a path.

    A word after an option is the option's value.
    """
    known = offered()
    for before, word in zip(("", *rest), rest, strict=False):
        named = word in known or word.endswith(".toml")
        if named and not before.startswith("-") and not (word in known and Path(word).exists()):
            raise InputError(
                f"{word!r} is in the place of a path to tests", next_step=f"codexsandbox run --preset {word}"
            )
