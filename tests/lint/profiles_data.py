"""What was measured of every profile: tests/golden/profiles/measured.json, written by tools.profiles_measured."""

from pathlib import Path
from typing import Final

import msgspec

MEASURED: Final = Path(__file__).resolve().parents[1] / "golden" / "profiles" / "measured.json"
USERS: Final = ("root", "u1000")


class Result(msgspec.Struct, frozen=True):
    exit: int | None
    said: str


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    profile: str
    user: str
    facts: dict[str, str]  # those that any profile's expectations look at
    results: dict[str, Result]


class Everything(msgspec.Struct, frozen=True, kw_only=True):
    machine: dict[str, str]
    measured: tuple[Measured, ...] = ()


def load() -> Everything:
    return msgspec.json.decode(MEASURED.read_bytes(), type=Everything)
