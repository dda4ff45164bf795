"""The version of the program is the newest one of the changelog, and later than the last one that wrote schema 1."""

import re
from pathlib import Path

from packaging.version import Version

from pytest_codexsandbox import __version__

CHANGELOG = Path(__file__).resolve().parents[2] / "CHANGELOG.md"
LAST_WITH_SCHEMA_1 = "0.1.0"


def test_the_newest_entry_of_the_changelog_is_this_version() -> None:
    headings = re.findall(r"^## (\S+) - (\S+)$", CHANGELOG.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0][0] == __version__
    assert headings[0][1] == "unreleased" or re.fullmatch(r"\d{4}-\d\d-\d\d", headings[0][1])
    versions = [Version(version) for version, _ in headings]
    assert versions == sorted(versions, reverse=True)


def test_a_version_that_writes_schema_2_is_later_than_the_last_one_with_schema_1() -> None:
    assert Version(__version__) > Version(LAST_WITH_SCHEMA_1)
