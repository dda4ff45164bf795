"""Plan key: a step of the plan, and the key of its record."""

import hashlib
from collections.abc import Iterable

import msgspec


class Key(msgspec.Struct, frozen=True, kw_only=True, order=True):
    cell: str
    door: str
    policy: str
    promise: str
    case: str = ""

    def __str__(self) -> str:
        case = f" [{self.case}]" if self.case else ""
        return f"{self.promise}{case} · {self.cell} · {self.door} · {self.policy}"


def keys_digest(keys: Iterable[Key]) -> str:
    """Returns the SHA-256 of keys: of a list of JSON, without spaces, with the five texts of each key as a list."""
    rows = [(key.cell, key.door, key.policy, key.promise, key.case) for key in keys]
    return hashlib.sha256(msgspec.json.encode(rows)).hexdigest()


class NotPlanned(msgspec.Struct, frozen=True, kw_only=True):
    """Requested name that is not in the plan, with the reason."""

    what: str
    why: str
    kind: str = ""  # excluded | impossible | unavailable | budget | deselected; "" not asked for, or older journals
    required: bool = False  # no other cell measures it: without it the run is no success
