"""Disk space: how much is free on a file system. On a full one, a failed write says nothing about a sandbox."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_FILES = 64  # fewer than this many new files: as good as full


def least(places: Iterable[str]) -> int:
    """Returns the bytes that an ordinary user has free on the fullest of these file systems; -1 if unknown."""
    found = []
    for place in places:
        try:
            status = os.statvfs(place)
        except OSError:
            continue
        counts_files = status.f_files > 0  # some file systems have no such limit
        found.append(0 if counts_files and status.f_favail < _FILES else status.f_bavail * status.f_frsize)
    return min(found, default=-1)
