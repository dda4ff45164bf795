"""Put what writes Codex's configuration to the test, without a matrix.

  try   run it on a few files that have broken others (or on one of yours), and show what it did, what the real Codex
        says and does, and each promise: confined as in a run. Exit code 1 when a promise is violated, 10 when
        something could not be told

A generator needs no file at all: pytest --codex-matrix --codex-generator "mytool render --out @CONFIG@"
"""

import argparse
from typing import Final

from pytest_codexsandbox.commands import generator_try

EXAMPLES: Final = generator_try.EXAMPLES


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("do", choices=("try",), metavar="try", help="what to do")
    parser.add_argument("words", nargs="+", metavar="SPEC", help="try, after --: a command, a name, py:, ep:, launch:")
    generator_try.add(parser)


def run(options: argparse.Namespace) -> int:
    return generator_try.run(options)
