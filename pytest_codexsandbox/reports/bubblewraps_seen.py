"""Name the bubblewrap of each call once, however it was seen: by its digest, by its path alone, with a version or not.

The agent reads the file on PATH; from outside the running program is seen, of which the digest or the version may be
missing. One file is one name in a report.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from pytest_codexsandbox.model.bwrap_used import BwrapUsed, used
from pytest_codexsandbox.model.journal_lines import CallLine

_HEX = 64  # letters of a digest; `unreadable` is none


def seen(calls: Iterable[CallLine], facts: Mapping[str, Mapping[str, Any]]) -> dict[str, BwrapUsed]:
    """Return what set up the sandbox of each call that was looked at, by the call's id. `facts`: by environment."""
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
