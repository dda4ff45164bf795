"""Print the JSON Schema of a run's journal.

`journal` (the default): the schema of each line of journal.ndjson. The wheel holds the same file.
"""

import argparse
from typing import Final

from pytest_codexsandbox.reports.journal_schema import SHIPPED

EXAMPLES: Final = (
    "codexsandbox schema",
    "codexsandbox schema journal > journal.schema.json",
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        nargs="?",
        default="journal",
        choices=("journal",),
        metavar="journal",
        help="the file to describe (default: journal)",
    )


def run(options: argparse.Namespace) -> int:
    print(SHIPPED.read_text(encoding="utf-8"), end="")
    return 0
