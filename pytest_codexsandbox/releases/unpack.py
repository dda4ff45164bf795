"""Unpack: takes from a published archive what a sandbox needs, in the layout in which Codex looks for it.

An archive holds foreign bytes: a link, a device, a name that leaves the folder, or a size that no publisher would
choose ends the unpacking. Layouts by release: `bin/codex-<triple>` (0.40), `vendor/<triple>/codex/codex`,
`vendor/<triple>/bin/codex` with `codex-resources/`, and in wheels the same below `codex_cli_bin/`.
"""

import hashlib
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, Protocol

import msgspec

from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.releases.cache_files import PackageFile

_CHUNK: Final = 1 << 20
_MOST_BYTES: Final = 2 << 30
_MOST_MEMBERS: Final = 20_000
_BINARIES: Final = ("bin/codex", "codex/codex")
# The code-mode host (70 MB), the voice host (50 MB) and the launcher's ripgrep have no part in a sandbox.
_WANTED: Final = re.compile(r"bin/codex|codex/codex|codex-package\.json|codex-path/.+|codex-resources/(?!voice/).+")


class Unpacked(msgspec.Struct, frozen=True, kw_only=True):
    binary: str
    files: tuple[PackageFile, ...]


class Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class BadArchive(CodexSandboxError):
    """The downloaded bytes are no archive that may be unpacked."""


def unpack_tar(stream: Readable, folder: Path, triple: str) -> Unpacked:
    """Unpacks npm's `.tgz` while it arrives."""
    files = []
    try:
        with tarfile.open(fileobj=_as_file(stream), mode="r|gz", bufsize=_CHUNK) as archive:
            for name, member in _tar_members(archive):
                place = wanted(name, triple)
                source = archive.extractfile(member) if place and member.isfile() else None
                if source is not None:
                    files.append(_copy(source, folder, place, member.mode, member.size))
    except (tarfile.TarError, EOFError, zlib.error, ValueError) as problem:
        raise BadArchive("the archive is damaged", why=str(problem)) from problem
    return _checked(files)


def unpack_wheel(path: Path, folder: Path, triple: str) -> Unpacked:
    files = []
    try:
        with zipfile.ZipFile(path) as archive:
            for info in _zip_members(archive):
                place = wanted(info.filename, triple)
                if place and not info.is_dir():
                    with archive.open(info) as source:
                        files.append(_copy(source, folder, place, info.external_attr >> 16, info.file_size))
    except (zipfile.BadZipFile, EOFError, zlib.error, ValueError) as problem:
        raise BadArchive("the wheel is damaged", why=str(problem)) from problem
    return _checked(files)


def wanted(name: str, triple: str) -> str:
    """Returns the place of an archive's member; "" when it is not needed here."""
    for start in (f"package/vendor/{triple}/", "codex_cli_bin/"):
        if name.startswith(start):
            rest = name.removeprefix(start)
            return rest if _WANTED.fullmatch(rest) else ""
    return "bin/codex" if name == f"package/bin/codex-{triple}" else ""


def refuse_escape(name: str) -> None:
    path = PurePosixPath(name)
    if not name or path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
        raise BadArchive("the archive contains a path outside its folder", why=repr(name), next_step=_NEXT)


_NEXT: Final = "no published Codex does: ask the owner of the registry that it came from"


def _tar_members(archive: tarfile.TarFile) -> Iterator[tuple[str, tarfile.TarInfo]]:
    budget = _Budget()
    for member in archive:
        refuse_escape(member.name)
        if not (member.isfile() or member.isdir()):
            raise BadArchive("the archive contains a link or a device", why=repr(member.name), next_step=_NEXT)
        budget.spend(member.size)
        yield member.name.removeprefix("./"), member


def _zip_members(archive: zipfile.ZipFile) -> Iterator[zipfile.ZipInfo]:
    budget = _Budget()
    for info in archive.infolist():
        refuse_escape(info.filename)
        kind = (info.external_attr >> 16) & 0o170000
        if kind not in (0, 0o100000, 0o040000):
            raise BadArchive("the wheel contains a link or a device", why=repr(info.filename), next_step=_NEXT)
        budget.spend(info.file_size)
        yield info


class _Budget:
    def __init__(self) -> None:
        self._bytes = self._members = 0

    def spend(self, size: int) -> None:
        self._bytes, self._members = self._bytes + size, self._members + 1
        if self._bytes > _MOST_BYTES or self._members > _MOST_MEMBERS:
            raise BadArchive("the unpacked archive is larger than any Codex", next_step=_NEXT)


def _copy(source: IO[bytes], folder: Path, place: str, mode: int, size: int) -> PackageFile:
    target = folder / place
    if target.exists():
        raise BadArchive("the archive contains a path twice", why=repr(place), next_step=_NEXT)
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, count = hashlib.sha256(), 0
    mode = 0o755 if mode & 0o100 or place in _BINARIES else 0o644
    with target.open("xb") as out:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            count += len(chunk)
            out.write(chunk)
    if count != size:
        raise BadArchive("the archive is damaged", why=f"{place}: {count} of {size} bytes")
    target.chmod(mode)
    return PackageFile(path=place, size=count, mode=mode, sha256=digest.hexdigest())


def _checked(files: list[PackageFile]) -> Unpacked:
    for file in files:
        if file.path in _BINARIES:
            return Unpacked(binary=file.path, files=tuple(sorted(files, key=lambda file: file.path)))
    raise BadArchive(
        "the archive contains no Codex for this machine",
        why=f"looked for {' or '.join(_BINARIES)} of this platform",
        next_step="another release, or --codex-bin with your own binary",
    )


def _as_file(stream: Readable) -> Any:
    """Returns the stream itself: tarfile's stream mode calls nothing but `read`."""
    return stream
