"""Codex files: the files of this machine that a Codex needs in a container: its program and its own files beside it.

A program may be anywhere, in a home or in /usr/bin. The folder around it is mounted into a container only if it holds
nothing but Codex. Otherwise the files of Codex are copied out, once.
"""

import hashlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pytest_codexsandbox.system.locks import exclusive

_NEIGHBOURS: Final = ("codex-resources", "codex-path", "path")  # beside the program's folder
_BELONGS: Final = re.compile(
    r"codex-[\w.-]+|bin|path|bwrap|rg|__init__\.py|__pycache__|py\.typed|package\.json|(?:LICENSE|NOTICE|README)(?:\.\w+)?"
)
_digests: dict[tuple[object, ...], str] = {}
_brought: dict[tuple[str, str], str] = {}
_OWN: Final = re.compile(r"codex-[\w.-]+|bwrap|rg")  # files of Codex beside the program itself


def place_of(binary: str, digest: str, cache: Path) -> tuple[Path, str]:
    """Returns a folder that is safe to mount into any container, and the program's path in it."""
    program = Path(binary)
    root = _root(program)
    inside = program.relative_to(root).as_posix()
    if not _is_anybody_elses(root, program):
        return root, inside
    return _copied(root, program, digest, cache), inside


def contents(binary: str, digest: str) -> str:
    """Returns a digest of all files of a Codex. Two builds may have the same program, and another bubblewrap
    beside it.
    """
    program = Path(binary)
    lines = [f"{to} {digest if at == program else _digest(at)}" for to, at in sorted(_files(_root(program), program))]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def is_still(binary: str, digest: str, cache: Path) -> bool:
    """Checks whether the program is unchanged since its first use: users may rebuild their own builds meanwhile.

    A program in the cache never changes.
    """
    program = Path(binary)
    if program.is_relative_to(cache):
        return True
    now = _digest(program)
    return _brought.setdefault((binary, digest), now) == now


def _digest(file: Path) -> str:
    """Returns the digest of a file. Reads the file again only if the kernel reports a change."""
    status = file.stat()
    key = (str(file), status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    if key not in _digests:
        with file.open("rb") as reading:
            _digests[key] = hashlib.file_digest(reading, "sha256").hexdigest()
    return _digests[key]


def _root(program: Path) -> Path:
    """Returns the folder that holds Codex: its resources are beside the program's folder."""
    above = program.parent.parent
    return above if any((above / name).is_dir() for name in _NEIGHBOURS) else program.parent


def _is_anybody_elses(root: Path, program: Path) -> bool:
    folders = {root, program.parent}
    names = {entry.name for folder in folders for entry in folder.iterdir()}
    return any(name != program.name and not _BELONGS.fullmatch(name) for name in names)


def _copied(root: Path, program: Path, digest: str, cache: Path) -> Path:
    files = dict(_files(root, program))
    folder = cache / "subjects" / contents(str(program), digest)[:24]
    with exclusive(folder.with_name(f"{folder.name}.lock"), "makes a copy of this Codex"):
        if not folder.is_dir():
            making = folder.with_name(f"{folder.name}.making")
            shutil.rmtree(making, ignore_errors=True)
            for to, at in files.items():
                (making / to).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(at, making / to)
                (making / to).chmod(at.stat().st_mode & 0o755 | 0o444)
            making.rename(folder)
    return folder


def _files(root: Path, program: Path) -> Iterator[tuple[str, Path]]:
    yield program.relative_to(root).as_posix(), program
    for entry in program.parent.iterdir():
        if entry != program and _OWN.fullmatch(entry.name) and entry.is_file():
            yield entry.relative_to(root).as_posix(), entry
    if root == program.parent:
        return
    for name in (*_NEIGHBOURS, "codex-package.json"):
        top = root / name
        for file in (top, *top.rglob("*")) if top.is_dir() else (top,):
            if file.is_file() and file.resolve().is_relative_to(root.resolve()):
                yield file.relative_to(root).as_posix(), file
