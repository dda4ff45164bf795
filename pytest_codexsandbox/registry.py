"""Finds what is shipped (scenarios, matrix data) and what others plug in."""

import os
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final

from platformdirs import user_cache_path

from pytest_codexsandbox.errors import InputError

_PACKAGE: Final = Path(__file__).resolve().parent
CONTROLS: Final = ("unconfined", "bare-bwrap")


def data_folder(name: str) -> Path:
    """Returns `scenarios`, `matrix` or `incidents/matrix`: of the checkout if imported from one, else of the wheel."""
    checkout = _PACKAGE.parent / name
    if (_PACKAGE.parent / "pyproject.toml").is_file() and checkout.is_dir():
        return checkout
    return _PACKAGE / "shipped" / name


def cache_folder() -> Path:
    """$CODEXSANDBOX_CACHE, else the user's cache folder."""
    named = os.environ.get("CODEXSANDBOX_CACHE", "")
    try:
        return Path(named).expanduser().absolute() if named else user_cache_path("pytest-codexsandbox")
    except RuntimeError as problem:  # a user without a home: HOME is not set, and /etc/passwd knows nobody
        raise InputError(
            "nobody knows where a cache may be",
            where=named,
            why=str(problem),
            next_step="CODEXSANDBOX_CACHE=DIR",
        ) from problem


def home_folder() -> str:
    """Returns the user's home; "" where neither HOME nor /etc/passwd names one."""
    try:
        return str(Path.home())
    except RuntimeError:
        return ""


@cache
def load_plugin(group: str, name: str) -> Any:
    """The object behind the entry point `name` of `codexsandbox.<group>`."""
    found = points(group)
    for point in found:
        if point.name == name:
            return point.load()
    known = ", ".join(sorted({point.name for point in found})) or "none"
    raise InputError(f"there is no {group.removesuffix('s')} called {name!r}", why=f"known: {known}")


def install_command(group: str, name: str, missing: str) -> str:
    """Returns what installs a package that an entry point needs: the extra of its own name, else the package."""
    for point in entry_points(group=f"codexsandbox.{group}"):
        if point.name == name and point.dist is not None:
            extras = point.dist.metadata.get_all("Provides-Extra") or ()
            return f"pip install '{point.dist.name}[{name}]'" if name in extras else f"pip install {missing}"
    return f"pip install {missing}"


@cache
def names(group: str) -> tuple[str, ...]:
    """The names of all entry points of `codexsandbox.<group>`, sorted; nothing is imported."""
    return tuple(sorted({point.name for point in points(group)}))


@cache
def points(group: str) -> tuple[EntryPoint, ...]:
    """Returns the entry points of `codexsandbox.<group>` of every installed distribution; nothing is imported."""
    return tuple(entry_points(group=f"codexsandbox.{group}"))
