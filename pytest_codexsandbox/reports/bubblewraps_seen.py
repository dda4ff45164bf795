"""Bubblewraps seen: names the bubblewrap of each call consistently, whether its digest, path or version is known.

The agent reads the file on PATH. From outside, the running program is seen, whose digest or version may be missing. One
file gets one name in a report.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from pytest_codexsandbox.model.bwrap_used import BwrapUsed, used
from pytest_codexsandbox.model.journal_lines import CallLine

_HEX = 64  # letters of a digest; `unreadable` is shorter


def seen(calls: Iterable[CallLine], facts: Mapping[str, Mapping[str, Any]]) -> dict[str, BwrapUsed]:
    """Returns call id → what set up its sandbox, for each call that was inspected. `facts`: by environment."""
    found = {call.id: one for call in calls if (one := _of(call, facts.get(call.environment, {}))) is not None}
    best: dict[str, BwrapUsed] = {}
    for one in found.values():
        earlier = best.get(one.sha256)
        if one.sha256 and (earlier is None or (one.version and not earlier.version)):
            best[one.sha256] = one
    return {id: best.get(one.sha256, one) for id, one in found.items()}


def _of(call: CallLine, facts: Mapping[str, Any]) -> BwrapUsed | None:
    found = call.bwrap_used or used(call.observation.readings, facts)
    there = facts.get("bwrap") or {}
    if found is None or found.kind != "found" or not found.path or not isinstance(there, Mapping):
        return found
    digest, version = str(there.get("sha256", "")), str(there.get("version", ""))
    same_file = found.sha256 == digest or (not found.sha256 and found.path in (there.get("path"), there.get("real")))
    if not same_file or len(digest) != _HEX:
        return found
    path = str(there.get("path") or found.path)
    return msgspec.structs.replace(found, path=path, sha256=digest, version=found.version or version)
