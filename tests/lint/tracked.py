"""The files of the project: git's list, or, where git or its folder is missing, what lies there and is not ignored."""

import shutil
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


@cache
def files() -> tuple[Path, ...]:
    return tuple(sorted(_from_git() or _walked()))


@cache
def text(path: Path) -> str | None:
    """None for what is no text."""
    data = path.read_bytes()
    return None if b"\0" in data else data.decode("utf-8")


def pages() -> tuple[Path, ...]:
    """What a person reads; golden recordings of reports are data."""
    golden = ROOT / "tests" / "golden"
    return tuple(path for path in files() if path.suffix == ".md" and golden not in path.parents)


def _from_git() -> set[Path]:
    """Tracked and not deleted; nothing where this is no checkout of its own."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        return set()
    command = [git, "-c", "safe.directory=*", "-C", str(ROOT), "ls-files", "-z"]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    names = done.stdout.decode().split("\0") if done.returncode == 0 else []
    return {ROOT / name for name in names if name and (ROOT / name).is_file()}


def _walked() -> set[Path]:
    ignored = [line.strip().rstrip("/") for line in (ROOT / ".gitignore").read_text().splitlines()]
    return set(_walk(ROOT, [".git", *(name for name in ignored if name)]))


def _walk(folder: Path, ignored: list[str]) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if any(fnmatch(path.name, pattern) for pattern in ignored) or path.is_symlink():
            continue
        if path.is_dir():
            yield from _walk(path, ignored)
        else:
            yield path
