"""Deviation: a known way in which a promise is violated. Read from TOML, and kept in the plan of a journal."""

import datetime
from typing import Literal

import msgspec


class Deviation(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    promise: str
    direction: Literal["leak", "denied", "wrong-claim", "litter"]
    issue: str
    owner: str
    until: datetime.date
    reason: str
    where: dict[str, str | tuple[str, ...]] = {}
    case: str | tuple[str, ...] = ()  # empty: every case
    fingerprint: str = ""
    intermittent: str = ""
