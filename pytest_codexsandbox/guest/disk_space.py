"""How much room a file system has: where it is full, a write that fails says nothing about a sandbox."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_FILES = 64  # fewer than this many new files: as good as full


def least(places: Iterable[str]) -> int:
    """Bytes that an ordinary user finds free in the fullest of them; -1 where nobody can tell."""
    found = []
    for place in places:
        try:
            told = os.statvfs(place)
        except OSError:
            continue
        counts_files = told.f_files > 0  # some file systems have no such limit
        found.append(0 if counts_files and told.f_favail < _FILES else told.f_bavail * told.f_frsize)
    return min(found, default=-1)
