"""The screen of each command is the golden one: the one test per screen that compares sentences.

`python -m tools.regold` renews the texts; review their difference. The golden texts of `--help` are on
docs/reference/cli.md.
"""

from pathlib import Path

import pytest

from tests.unit.commands.screen_builders import SCREENS

HERE = Path(__file__).parent


@pytest.mark.parametrize("name", sorted(SCREENS))
def test_the_screen_of_a_command_is_the_golden_one(name: str) -> None:
    assert SCREENS[name]() + "\n" == (HERE / f"{name}.txt").read_text(encoding="utf-8")


def test_no_golden_text_is_left_without_its_screen() -> None:
    assert {path.stem for path in HERE.glob("*.txt")} == set(SCREENS)
