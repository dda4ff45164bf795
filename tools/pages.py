"""Generated pages: renews the reference pages and the README's matrix: python -m tools.pages [--journal JOURNAL|FOLDER]

It also adds new names to tests/lint/inventory.toml, the list of what users can name.

`--journal` puts a real run into the README: it is reduced and kept at tests/golden/readme/journal.ndjson.gz.
"""

import argparse
from pathlib import Path
from typing import Final

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.reports import journal_schema
from tools import inventory, readme_matrix
from tools.cli_reference import page as cli_page
from tools.fingerprints_page import page as fingerprints_page
from tools.options_page import page as options_page
from tools.profiles_page import page as profiles_page
from tools.promises_page import page as promises_page

ROOT: Final = Path(__file__).resolve().parents[1]
README: Final = ROOT / "README.md"
REFERENCE: Final = ROOT / "docs" / "reference"


def generated() -> dict[Path, str]:
    """Returns every file that has a generated part, with its whole text as it should be."""
    readme = README.read_text(encoding="utf-8")
    return {
        REFERENCE / "promises.md": promises_page(),
        REFERENCE / "options.md": options_page(),
        REFERENCE / "fingerprints.md": fingerprints_page(),
        REFERENCE / "profiles.md": profiles_page(),
        journal_schema.SHIPPED: journal_schema.text(),
        REFERENCE / "cli.md": cli_page(),
        README: readme_matrix.put(readme, readme_matrix.text()),
        inventory.FILE: inventory.text(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--journal", type=Path, help="of a real run over one release: what the README shows")
    asked = parser.parse_args()
    try:
        inventory.check_installed()
    except InputError as problem:
        parser.exit(4, f"{problem}\n")
    if asked.journal is not None:
        readme_matrix.keep(asked.journal)
    for path, text in generated().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
