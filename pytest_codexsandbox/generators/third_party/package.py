"""Package: one published package at one version, as a declaration's `install` names it."""

import platform
import re
import sys
import sysconfig
from pathlib import Path
from typing import Final, Literal, cast
from urllib.parse import quote

import msgspec

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.model.generator import Declaration
from pytest_codexsandbox.registry import data_folder

Source = Literal["npm", "pypi"]
_EXAMPLE: Final = 'install = { npm = "add-mcp==2.4.0" } or { pypi = "mcpm==2.15.0" }'
_NAMES: Final = {
    "npm": re.compile(r"(?:@[a-z0-9~][a-z0-9._~-]*/)?[a-z0-9~][a-z0-9._~-]*"),
    "pypi": re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"),
}
_VERSION: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+!-]*")
_LOCK_ENDS: Final = {"npm": "json", "pypi": "txt"}


class Package(msgspec.Struct, frozen=True, kw_only=True):
    source: Source
    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def registry(self) -> str:
        return "npm" if self.source == "npm" else "PyPI"

    @property
    def key(self) -> str:
        """Returns the key in the cache. No Codex release has an `@` in its name, so keys do not collide."""
        return quote(f"{self.name}@{self.version}", safe="@")

    @property
    def fits(self) -> str:
        """Returns the kind of machine that an installation fits, because packages have compiled parts. For PyPI it
        includes the minor release of Python."""
        machine = f"{sys.platform}-{platform.machine().lower()}"
        return f"npm-{machine}" if self.source == "npm" else f"pypi-{sysconfig.get_config_var('SOABI') or machine}"

    def lock(self, folder: Path | None = None) -> Path:
        """Returns the path of the lock file, which lists the versions of all dependencies."""
        folder = folder or data_folder("matrix") / "generators" / "locks"
        return folder / f"{self.name.replace('/', '+')}-{self.version}.{_LOCK_ENDS[self.source]}"


def package_of(declaration: Declaration) -> Package | None:
    """Returns the package to install; None if there is none. Raises InputError unless it names one package and
    version."""
    if not declaration.install:
        return None
    where = f"generator {declaration.name} (install)"
    if len(declaration.install) != 1 or not set(declaration.install) <= set(_NAMES):
        raise InputError(
            f"a generator is installed from npm or from PyPI, not from {' and '.join(sorted(declaration.install))}",
            where=where,
            next_step=_EXAMPLE,
        )
    source, text = next(iter(declaration.install.items()))
    name, sign, version = text.partition("==")
    if not sign or not _NAMES[source].fullmatch(name) or not _VERSION.fullmatch(version):
        raise InputError(
            f"{text!r} is not one package at one version",
            where=where,
            why="the measured package must be the same tomorrow: no range, no tag, no address",
            next_step=_EXAMPLE,
        )
    return Package(source=cast("Source", source), name=name, version=version)
