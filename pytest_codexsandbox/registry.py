"""Registry: finds the shipped data (scenarios, matrix files) and the installed entry points."""

import hashlib
import os
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final

from platformdirs import user_cache_path

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.model.door_traits import DoorTraits, DoorUse
from pytest_codexsandbox.protocols import Door

_PACKAGE: Final = Path(__file__).resolve().parent
_OWN: Final = "pytest-codexsandbox"


def data_folder(name: str) -> Path:
    """Returns the folder `scenarios`, `matrix` or `incidents/matrix`: of the checkout if imported from one, else of the
    wheel."""
    checkout = _PACKAGE.parent / name
    if (_PACKAGE.parent / "pyproject.toml").is_file() and checkout.is_dir():
        return checkout
    return _PACKAGE / "shipped" / name


def cache_folder() -> Path:
    """Returns $CODEXSANDBOX_CACHE, else the user's cache folder."""
    named = os.environ.get("CODEXSANDBOX_CACHE", "")
    try:
        return Path(named).expanduser().absolute() if named else user_cache_path("pytest-codexsandbox")
    except RuntimeError as problem:  # a user without a home: HOME is not set, and /etc/passwd has no entry
        raise InputError(
            "cannot determine a cache folder",
            where=named,
            why=str(problem),
            next_step="CODEXSANDBOX_CACHE=DIR",
        ) from problem


def runs_folder() -> Path:
    """Returns the folder below which runs have their worlds: in the cache, or beside the user's default cache.

    Its path names no product, so that a subject cannot tell from its folders that it is measured.
    """
    if os.environ.get("CODEXSANDBOX_CACHE", ""):
        return cache_folder() / "runs"
    cache = cache_folder()
    return cache.with_name(f"areas-{hashlib.sha256(cache.name.encode()).hexdigest()[:8]}")


def home_folder() -> str:
    """Returns the user's home; "" where neither HOME nor /etc/passwd names one."""
    try:
        return str(Path.home())
    except RuntimeError:
        return ""


@cache
def load_plugin(group: str, name: str) -> Any:
    """Returns the object behind the entry point `name` of `codexsandbox.<group>`."""
    found = points(group)
    named = [point for point in found if point.name == name]
    if len(named) > 1:
        raise InputError(
            f"several distributions have a {group.removesuffix('s')} {name!r}",
            where=origin(group, name),
            next_step="uninstall all but one",
        )
    if named:
        return named[0].load()
    known = ", ".join(sorted({point.name for point in found})) or "none"
    raise InputError(f"there is no {group.removesuffix('s')} called {name!r}", why=f"known: {known}")


def origin(group: str, name: str) -> str:
    """Returns the name and the distribution of an entry point; several where several distributions have it."""
    named = (point for point in points(group) if point.name == name)
    return " and ".join(f"entry point {name!r} of {distribution_of(point)}" for point in named)


def distribution_of(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value


def is_own(point: EntryPoint) -> bool:
    return point.dist is not None and point.dist.name == _OWN


def install_command(group: str, name: str, missing: str) -> str:
    """Returns the command that installs a package that an entry point needs: the extra of that name, else the
    package."""
    for point in entry_points(group=f"codexsandbox.{group}"):
        if point.name == name and point.dist is not None:
            extras = point.dist.metadata.get_all("Provides-Extra") or ()
            return f"pip install '{point.dist.name}[{name}]'" if name in extras else f"pip install {missing}"
    return f"pip install {missing}"


@cache
def names(group: str) -> tuple[str, ...]:
    """Returns the names of all entry points of `codexsandbox.<group>`, sorted. Imports nothing."""
    return tuple(sorted({point.name for point in points(group)}))


@cache
def points(group: str) -> tuple[EntryPoint, ...]:
    """Returns the entry points of `codexsandbox.<group>` of every installed distribution. Imports nothing."""
    return tuple(entry_points(group=f"codexsandbox.{group}"))


@cache
def doors() -> dict[str, DoorTraits]:
    """Returns the traits that each installed door declares, sorted by name."""
    return {name: _traits(name) for name in names("doors")}


def _traits(name: str) -> DoorTraits:
    point = next(point for point in points("doors") if point.name == name)
    place = f"{point.value}, of {point.dist.name if point.dist else 'an unknown package'}"
    try:
        made: Door = load_plugin("doors", name)()
        found = DoorTraits(
            name=made.name,
            is_control=made.is_control,
            asks_own_calls=made.asks_own_calls,
            reads_config_files=made.reads_config_files,
            takes_shell_snapshots=made.takes_shell_snapshots,
            default_for=made.default_for,
        )
    except Exception as fault:
        raise InputError(
            f"the door {name!r} cannot be loaded",
            where=place,
            why=f"{type(fault).__name__}: {fault}",
            next_step="install its package again if the module was moved"
            if isinstance(fault, ImportError)
            else "a door is a subclass of pytest_codexsandbox.protocols.Door",
        ) from fault
    if found.name != name:
        raise InputError(f"the door {name!r} calls itself {found.name!r}", where=place, next_step=f'name = "{name}"')
    return found


def measured_doors() -> tuple[str, ...]:
    """Returns the names of the doors that a matrix file may name."""
    return tuple(name for name, door in doors().items() if not door.is_control)


def default_door(use: DoorUse) -> str:
    """Returns the door to use where the user names none."""
    found = [name for name, door in doors().items() if use in door.default_for]
    if len(found) != 1:
        raise InputError(
            f"one door must be the default for {use}",
            why=f"these say so: {', '.join(found) or 'none'}",
            next_step="uninstall the package of the door that should not",
        )
    return found[0]
