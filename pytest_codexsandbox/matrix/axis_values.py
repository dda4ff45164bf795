"""Axis values: every value that a `where` may name, from data files and from the cells of a run.

Other values fit no cell. Cells of other machines are recognised by their form: a distribution by its vendor and a
number, a release because it is newer than the data.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from itertools import product
from pathlib import Path
from typing import Final

from pytest_codexsandbox.matrix import generator_files, toml_files
from pytest_codexsandbox.matrix.axis_files import Catalogue
from pytest_codexsandbox.matrix.exclusions import ENGINE
from pytest_codexsandbox.matrix.where_clause import is_range, parse
from pytest_codexsandbox.model.ids import cell_id
from pytest_codexsandbox.registry import data_folder

_FOLDERS: Final = {"distro": "distros", "bwrap": "bwrap", "profile": "profiles", "user": "users"}
_CONTAINER: Final = ("distro", "bwrap", "profile", "user")
_LOCAL: Final = "~host~local"  # suffix of a local environment
_ELSEWHERE: Final[Mapping[str, tuple[str, ...]]] = {
    "kernel": ("host",), "engine": (ENGINE,), "arch": ("x86_64", "aarch64"), "user": ("root", "user"),
    "codex": ("candidate",), "bwrap": ("as-chosen",),
}  # fmt: skip
_NUMBERED: Final = re.compile(r"(?P<vendor>[a-z][a-z-]*?)-?[0-9][0-9.*?]*")
_RELEASE: Final = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+\S*")


class AxisValues:
    """`cells`: the axes of each cell of the run; `beside`: folders with a user's own values."""

    def __init__(self, cells: Iterable[Mapping[str, str]], beside: Iterable[Path | None] = ()) -> None:
        folders = dict.fromkeys(folder for folder in beside if folder is not None)
        self._catalogues = (Catalogue(), *(Catalogue(beside=folder) for folder in folders))
        self._folders = (None, *folders)
        self._cells: dict[str, set[str]] = {}
        for axes in cells:
            for axis, value in axes.items():
                self._cells.setdefault(axis, set()).add(value)

    def knows(self, axis: str, text: str) -> bool:
        """Checks whether a value, a glob or a range of versions can fit a cell, of this run or another."""
        if is_range(text) and axis == "codex":
            return True
        if _matches(text, self.of(axis)):
            return True
        if axis == "codex":
            return _is_newer(text)
        if axis == "distro":
            return self._is_a_machine(text)
        return axis == "environment" and self._is_an_environment(text)

    def of(self, axis: str) -> tuple[str, ...]:
        """Returns the known values of an axis, sorted; error messages list them too."""
        found = {*self._cells.get(axis, ()), *_ELSEWHERE.get(axis, ())}
        if axis in _FOLDERS:
            found |= {value for one in self._catalogues for value in one.values(_FOLDERS[axis])}
        if axis == "codex":
            found |= set(_releases())
        if axis == "generator":
            found |= {name for folder in self._folders for name in generator_files.files(folder)}
            found |= {path.stem for path in (data_folder("incidents/matrix") / generator_files.FOLDER).glob("*.toml")}
        return tuple(sorted(filter(None, found)))

    def _is_a_machine(self, text: str) -> bool:
        """Checks for a name like `debian-12`: a vendor that the data names, and a number."""
        found = _NUMBERED.fullmatch(text)
        vendors = {name.partition("-")[0] for one in self._catalogues for name in one.values(_FOLDERS["distro"])}
        return found is not None and found["vendor"].partition("-")[0] in vendors

    def _is_an_environment(self, text: str) -> bool:
        if text.endswith(_LOCAL) and self.knows("distro", text.removesuffix(_LOCAL)):
            return True
        return _matches(text, self._environments())

    def _environments(self) -> Iterator[str]:
        yield from (f"{distro}{_LOCAL}" for distro in self.of("distro"))
        for distro, bwrap, profile, user in product(*map(self.of, _CONTAINER)):
            yield cell_id(distro, f"bwrap-{bwrap}", profile, user)


def _matches(text: str, names: Iterable[str]) -> bool:
    return any(fnmatchcase(name, text) for name in names)


def _is_newer(text: str) -> bool:
    """Checks for a release that is newer than the data."""
    version = parse(text) if _RELEASE.fullmatch(text) else None
    newest = max(filter(None, map(parse, _releases())), default=None)
    return version is not None and newest is not None and version > newest


@cache
def _releases() -> Collection[str]:
    return tuple(toml_files.read(data_folder("matrix") / "codex" / "releases.toml").data.get("releases", {}))
