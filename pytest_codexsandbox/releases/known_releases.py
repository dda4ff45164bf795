"""Known releases: those that matrix/codex/ names: where each is published, how much is downloaded, what it can do."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.registry import data_folder
from pytest_codexsandbox.releases.installed_package import installed
from pytest_codexsandbox.releases.version_names import order

__all__ = ["Known", "capabilities", "disagreement", "golden", "installed", "known", "named", "newest_before"]


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """Megabytes to download of the x86_64 archive; 0 where it is not published there."""

    npm: int = 0
    pypi: int = 0


def named() -> tuple[str, ...]:
    """Returns the releases known from data, oldest first."""
    return tuple(known())


@cache
def known() -> dict[str, Known]:
    table = _read(data_folder("matrix") / "codex" / "releases.toml").get("releases", {})
    found = msgspec.convert(table, dict[str, Known])
    return {release: found[release] for release in sorted(found, key=order)}


def golden() -> Path:
    return data_folder("matrix") / "codex" / "capabilities.toml"


@cache
def capabilities() -> dict[str, Capabilities]:
    """Returns the capabilities of released binaries, as they were measured."""
    table = _read(golden())
    return {
        release: msgspec.convert({"version": release, **row}, Capabilities, strict=True)
        for release, row in table.items()
    }


def newest_before(version: str) -> str:
    """Returns the newest measured release that is not newer than `version`; the newest of all where there is none."""
    measured = sorted(capabilities(), key=order)
    older = [release for release in measured if version and order(release) <= order(version)]
    return (older or measured or [""])[-1]


def disagreement(version: str, found: Capabilities) -> str:
    """Describes how a probe of a released binary differs from what was measured when it was released; "" if not at
    all."""
    expected = capabilities().get(version)
    if expected is None:
        expected = msgspec.structs.replace(found, version=version)
    pairs = zip(
        expected.__struct_fields__, msgspec.structs.astuple(expected), msgspec.structs.astuple(found), strict=True
    )
    return "; ".join(f"{name} is {now!r}, was {then!r}" for name, then, now in pairs if then != now)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise CodexSandboxError(
            "the data about releases cannot be read", where=str(path), why=str(problem)
        ) from problem
