"""Run the matrix: the same as `pytest --codex-matrix`, for those who do not think of pytest first.

Everything that pytest takes may follow. The process becomes pytest, so its exit code is pytest's.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Final

from pytest_codexsandbox.errors import WrongInput

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
    argv = (sys.executable, "-m", "pytest", *pytest_words(options.preset, options.rest))
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, argv)  # noqa: S606 - nothing of ours stays between the user's signals and pytest


def pytest_words(preset: str, rest: Sequence[str]) -> tuple[str, ...]:
    given = [word for word in rest if word == _FLAG or word.startswith(f"{_FLAG}=")]
    if preset and given:
        raise WrongInput(f"--preset {preset} and {given[0]} contradict each other", next_step="give one of them")
    if given:
        return tuple(rest)
    return (f"{_FLAG}={preset}" if preset else _FLAG, *rest)
