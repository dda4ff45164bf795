"""The reference of the command line says what the program says."""

from tools.cli_reference import PAGE, page


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "renew it: python -m tools.cli_reference"
