"""Axis files: the values of the container axes, one TOML file each below matrix/distros, bwrap, profiles, users.

A user's own values are in folders of these names beside their matrix file. They cannot take a shipped value's name.
"""

from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix import toml_files
from pytest_codexsandbox.matrix.suggestions import did_you_mean
from pytest_codexsandbox.model.container import BwrapSpec, ImageSpec, Profile, UserSpec
from pytest_codexsandbox.model.ids import is_value
from pytest_codexsandbox.registry import data_folder

DISTROS: Final = "distros"
FOLDERS: Final = (DISTROS, "bwrap", "profiles", "users")
_FILE: Final = "file:"  # prefix of a seccomp profile: a file in `seccomp/` beside the profile, else a shipped one


class Catalogue(msgspec.Struct, frozen=True, kw_only=True):
    """Finds the values of axes: shipped ones, then the user's own."""

    beside: Path | None = None  # the folder of a user's matrix file
    images: tuple[ImageSpec, ...] = ()  # defined in the matrix file itself

    def values(self, axis: str) -> tuple[str, ...]:
        own = [one.name for one in self.images] if axis == DISTROS else []
        return tuple(sorted({*own, *(path.stem for folder in self._folders(axis) for path in folder.glob("*.toml"))}))

    def image(self, name: str) -> ImageSpec:
        found: ImageSpec = next((one for one in self.images if one.name == name), None) or self._read(
            DISTROS, name, ImageSpec
        )
        return found

    def bwrap(self, name: str) -> BwrapSpec:
        found: BwrapSpec = self._read("bwrap", name, BwrapSpec)
        return found

    def profile(self, name: str) -> Profile:
        found: Profile = self._read("profiles", name, Profile)
        return found

    def user(self, name: str) -> UserSpec:
        found: UserSpec = self._read("users", name, UserSpec)
        return found

    def _folders(self, axis: str) -> tuple[Path, ...]:
        own = () if self.beside is None else (self.beside / axis,)
        return (data_folder("matrix") / axis, *own)

    def _read(self, axis: str, name: str, kind: Any) -> Any:
        """Reads a value. A name has one meaning everywhere: otherwise cell ids would be ambiguous."""
        path = _found(name, self._folders(axis))
        if path is None:
            raise InputError(f"{axis}: there is no {name!r}", why=did_you_mean(name, self.values(axis)))
        return _read(path, kind)


SHIPPED: Final = Catalogue()


def of_reference(name: str, reference: str, *, where: str) -> ImageSpec:
    """Reads `mine=registry.example/agent:1.2`: a user's own image as a distribution, used unchanged."""
    if not is_value(name):
        raise InputError(f"images: {name!r} cannot be the value of an axis", where=where, why=_VALUE)
    if name in SHIPPED.values(DISTROS):
        raise InputError(f"images: {name!r} is shipped: give yours another name", where=where)
    if not reference or len(reference) > _LONGEST or not set(reference) <= _REFERENCE or not reference[0].isalnum():
        raise InputError(f"images: {reference!r} is not the name of an image", where=where, why=_AS_IN)
    return ImageSpec(name=name, reference=reference, pull=reference)


_VALUE: Final = "lower-case letters, digits and . + _ -"
_AS_IN: Final = 'as in "mine=registry.example/agent:1.2" or "mine=agent"'
_LONGEST: Final = 300
_REFERENCE: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/@-")


@cache
def _found(name: str, folders: tuple[Path, ...]) -> Path | None:
    paths = [folder / f"{name}.toml" for folder in folders]
    found = [path for path in paths if path.is_file()]
    if len(found) > 1:
        raise InputError(f"{folders[0].name}: {name!r} is shipped: give yours another name", where=str(found[-1]))
    return found[0] if found else None


@cache
def _read(path: Path, kind: Any) -> Any:
    file = toml_files.read(path)
    if "name" in file.data:
        raise InputError("name is not written: it is the file's name", where=file.place("name"))
    if not is_value(path.stem):
        raise InputError(f"{path.stem!r} cannot be the value of an axis", where=str(path), why=_VALUE)
    data = {**file.data, "name": path.stem}
    if str(data.get("seccomp", "")).startswith(_FILE):
        data["seccomp"] = _seccomp(file, str(data["seccomp"]).removeprefix(_FILE))
    return toml_files.convert(msgspec.structs.replace(file, data=data), kind)


def _seccomp(file: toml_files.TomlFile, name: str) -> str:
    folders = (file.path.parent / "seccomp", data_folder("matrix") / "profiles" / "seccomp")
    path = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if "/" in name or path is None:
        raise InputError(f"there is no seccomp profile {name!r}", where=file.place("seccomp"), why=str(folders[0]))
    return path.read_text(encoding="utf-8")
