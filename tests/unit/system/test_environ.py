"""Environment variables are read whole, whatever another thread does to them."""

import os
from collections.abc import Iterator

import pytest

from pytest_codexsandbox.system import environ


class Blinking(dict[str, str]):
    """As pytest's own variable does: it is there while the names are read, and gone when its value is asked for."""

    asked = 0

    def keys(self) -> Iterator[str]:  # type: ignore[override]
        self.asked += 1
        return iter(["BLINKS", *self] if self.asked == 1 else list(self))


def test_a_variable_that_goes_away_meanwhile_disturbs_no_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    there = Blinking(STAYS="here")
    monkeypatch.setattr(os, "environ", there)
    assert environ.settled(lambda: {name: there[name] for name in there.keys()}) == {"STAYS": "here"}  # noqa: SIM118
    assert there.asked == 2
    assert environ.copied() == {"STAYS": "here"}


def test_a_really_missing_variable_is_reported() -> None:
    with pytest.raises(KeyError, match="nobody"):
        environ.settled(lambda: dict[str, str]()["nobody"])
