"""Installed package: the Codex that `openai-codex-cli-bin` put into this Python."""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.releases.version_names import release_name

PACKAGE: Final = "openai-codex-cli-bin"
_BINARY: Final = "codex_cli_bin/bin/codex"


class InstalledPackage(msgspec.Struct, frozen=True, kw_only=True):
    release: str
    binary: str


def find() -> InstalledPackage | None:
    try:
        package = distribution(PACKAGE)
    except PackageNotFoundError:
        return None
    binary = Path(str(package.locate_file(_BINARY)))
    try:
        release = release_name(package.version)
    except InputError:
        return None
    return InstalledPackage(release=release, binary=str(binary.resolve())) if binary.is_file() else None


def installed() -> SubjectSpec | None:
    found = find()
    return SubjectSpec(label=found.release, release=found.release, source="installed") if found else None
