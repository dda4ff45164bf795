"""Cache limits: how large the cache may grow. $CODEXSANDBOX_CACHE_LIMIT, else 10 GB."""

import os
import re
from typing import Final

from pytest_codexsandbox.errors import InputError

VARIABLE: Final = "CODEXSANDBOX_CACHE_LIMIT"
DEFAULT: Final = "10GB"
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)B?", re.IGNORECASE)
_FACTORS: Final = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def parse_size(text: str, *, where: str = "") -> int:
    """Returns a size in bytes, with decimal factors: `5GB`, `500M`. `1e9` is none."""
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise InputError(f"{text!r} is not a size", where=where, why="a number and KB, MB, GB or TB, like 5GB")
    return int(float(found[1]) * _FACTORS[found[2].upper()])


def limit_from() -> int:
    return parse_size(os.environ.get(VARIABLE) or DEFAULT, where=f"${VARIABLE}")
