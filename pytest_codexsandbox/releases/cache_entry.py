"""Cache entry: an unpacked package, and where it came from."""

from pathlib import Path

import msgspec

from pytest_codexsandbox.releases.cache_files import PackageFile


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Origin of a release. Nothing in it is secret."""

    release: str
    arch: str
    source: str  # pypi | npm
    url: str
    integrity: str = ""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """Unpacked package in the cache."""

    id: str
    folder: str
    binary: str  # below folder
    digest: str  # sha256 of the binary
    files: tuple[PackageFile, ...]
    origin: Origin

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def program(self) -> str:
        return str(Path(self.folder) / self.binary)


class Pointer(msgspec.Struct, frozen=True, kw_only=True):
    entry: str
    origin: Origin
