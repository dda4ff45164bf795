"""Disk space: checked before a download begins, and explained where it is too small."""

from pathlib import Path
from typing import Final

from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.guest import disk_space

_RESERVE: Final = 64 << 20


def room_for(bytes_needed: int, folder: Path) -> None:
    """Raises CodexSandboxError when the disk below `folder` has less than `bytes_needed` and a reserve."""
    free = disk_space.least([str(folder)])
    if 0 <= free < bytes_needed + _RESERVE:
        raise full_disk(folder, f"{bytes_needed / 1e6:,.0f} MB needed, {free / 1e6:,.0f} MB free")


def full_disk(folder: Path, why: str) -> CodexSandboxError:
    return CodexSandboxError(
        "not enough disk space",
        where=str(folder),
        why=why,
        next_step="codexsandbox cache prune --limit 2GB, or set CODEXSANDBOX_CACHE to a folder on another disk",
    )
