"""Each attempt in the threat model names the modules and tests that hold its answer, and they exist."""

import re

import pytest

from tests.lint.tracked import ROOT

PAGE = ROOT / "docs" / "explanation" / "threat-model.md"
ROW = re.compile(r"^\| (?!attempt|place|who|---)(?P<attempt>[^|]+) \| [^|]+ \| (?P<held>[^|]+) \|$", re.MULTILINE)
_, _, ATTEMPTS = PAGE.read_text(encoding="utf-8").partition("## Attempts of a subject")
ROWS = {found["attempt"]: re.findall(r"`([^`]+)`", found["held"]) for found in ROW.finditer(ATTEMPTS)}


def test_the_page_has_rows() -> None:
    assert len(ROWS) > 15


@pytest.mark.parametrize("attempt", ROWS)
def test_each_named_module_exists(attempt: str) -> None:
    assert ROWS[attempt], "name a module or a test"
    assert [path for path in ROWS[attempt] if not (ROOT / path).is_file()] == []
