"""What an installer left: every file with its hash. It becomes an entry of the cache."""

import os
import stat
from pathlib import Path
from typing import Final

from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.releases.cache_files import PackageFile, sha256_of

_MOST_FILES: Final = 100_000
_MOST_BYTES: Final = 2 << 30


def files_below(folder: Path) -> tuple[PackageFile, ...]:
    """Sorted by path. An error for a link or a device, which neither npm nor a wheel brings, and for too much."""
    found: list[PackageFile] = []
    size = 0
    for base, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names + [one for one in folders if (Path(base) / one).is_symlink()]):
            path = Path(base) / name
            seen = path.lstat()
            if not stat.S_ISREG(seen.st_mode):
                raise CodexSandboxError("the package holds a link or a device", where=str(path.relative_to(folder)))
            size += seen.st_size
            if len(found) >= _MOST_FILES or size > _MOST_BYTES:
                raise CodexSandboxError(
                    "the package is too large for a tool",
                    where=str(folder),
                    why=f"{len(found):,} files, {size / 1e6:,.0f} MB",
                )
            found.append(
                PackageFile(
                    path=path.relative_to(folder).as_posix(),
                    size=seen.st_size,
                    mode=stat.S_IMODE(seen.st_mode),
                    sha256=sha256_of(path),
                )
            )
    return tuple(sorted(found, key=lambda file: file.path))
