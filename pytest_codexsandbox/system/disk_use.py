"""Disk use: how many bytes a folder occupies on its file system."""

import os
import stat


def disk_use(folder: str | os.PathLike[str]) -> int:
    """Returns the bytes on the disk of everything below a folder. Follows no link, enters no other file system, and
    counts a file with several names once."""
    try:
        top = os.lstat(folder)
    except OSError:
        return 0
    found: dict[tuple[int, int], int] = {(top.st_dev, top.st_ino): top.st_blocks * 512}
    folders = [os.fspath(folder)] if stat.S_ISDIR(top.st_mode) else []
    while folders:
        try:
            entries = list(os.scandir(folders.pop()))
        except OSError:  # removed meanwhile, or closed to this user
            continue
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if status.st_dev == top.st_dev:
                found[status.st_dev, status.st_ino] = status.st_blocks * 512
                folders += [entry.path] if stat.S_ISDIR(status.st_mode) else []
    return sum(found.values())


def in_words(size: int) -> str:
    """Returns a size for a reader, in MB or GB."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"
