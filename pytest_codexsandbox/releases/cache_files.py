"""Cache files: what was unpacked into an entry, whether it is still whole, and how a folder is removed at once."""

import hashlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import msgspec

from pytest_codexsandbox.errors import CodexSandboxError, os_errors_as


class PackageFile(msgspec.Struct, frozen=True, kw_only=True):
    path: str  # relative, with `/`
    size: int
    mode: int
    sha256: str


def tree_digest(files: Iterable[PackageFile]) -> str:
    """Returns the address of a package: a digest of its paths, modes and contents."""
    lines = sorted(f"{file.sha256} {file.mode:o} {file.path}" for file in files)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def intact(folder: Path, files: Iterable[PackageFile]) -> bool:
    """Checks whether every file is there in its size. Its bytes were checked when it was put."""
    for file in files:
        try:
            if (folder / file.path).lstat().st_size != file.size:
                return False
        except OSError:
            return False
    return True


def ensure_folder(folder: Path) -> None:
    next_step = "set CODEXSANDBOX_CACHE to a folder that you may write to"
    with os_errors_as(CodexSandboxError, "the cache folder cannot be created", where=folder, next_step=next_step):
        folder.mkdir(parents=True, exist_ok=True)


def remove(folder: Path, *, by_way_of: Path | None = None) -> None:
    """Removes a folder. With `by_way_of` it is renamed there first, so that no reader ever sees half of it."""
    if by_way_of is not None:
        ensure_folder(by_way_of)
        going = by_way_of / f"{folder.name}.gone-{os.getpid()}"
        folder.rename(going)
        folder = going
    shutil.rmtree(folder, ignore_errors=True)


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file at once: a reader sees the old file or the new one."""
    ensure_folder(path.parent)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
