"""Compares what users can name with tests/lint/inventory.toml: a clean-up cannot lose a promise or an option unseen.

`python -m tools.pages` adds what is new to the file. What goes away is named in GONE with the reason.
"""

import tomllib
from typing import Final

import pytest

from pytest_codexsandbox.errors import InputError
from tools import inventory

STORED: Final = inventory.stored()
_REPLAY: Final = "python -m benchmarks.replay_floor: a measurement of maintainers, which no user needs"
GONE: Final[dict[str, dict[str, str]]] = {
    "commands": {"replay-floor": _REPLAY},
    "command options": {
        **{f"replay-floor {word}": _REPLAY for word in ("--help", "-h", "--json", "--repeat", "journal")},
        "capabilities --update": "python -m tools.capability_snapshot: changes data of a checkout",
        "diagnose --markdown": "python -m tools.pages: writes a page of a checkout",
    },
}
FOUND: Final = inventory.inventory()


@pytest.mark.parametrize("kind", sorted({*STORED, *FOUND}))
def test_nothing_is_lost_and_nothing_is_unlisted(kind: str) -> None:
    stored, found = set(STORED.get(kind, ())), set(FOUND.get(kind, ()))
    assert sorted(stored - found) == sorted(GONE.get(kind, {})), (
        f"lost: bring it back, or name it in GONE of {__file__} and say why"
    )
    assert sorted(found - stored) == [], f"new: `{inventory.RENEW}` adds it to tests/lint/inventory.toml"


def test_a_new_name_is_added_and_a_lost_one_stays() -> None:
    text = inventory.written({"promises": ["a.b", "x.y"]}, {"promises": ["c.d", "x.y"], "ini keys": ["k"]})
    assert tomllib.loads(text) == {"promises": ["a.b", "c.d", "x.y"], "ini keys": ["k"]}


def test_entry_points_that_pip_has_not_read_are_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [*inventory.declared_points(), "codexsandbox.doors:new = package.door:NewDoor"]
    monkeypatch.setattr(inventory, "declared_points", lambda: rows)
    with pytest.raises(InputError) as caught:
        inventory.inventory()
    assert "codexsandbox.doors:new = package.door:NewDoor" in str(caught.value)
    assert inventory.INSTALL in str(caught.value)
