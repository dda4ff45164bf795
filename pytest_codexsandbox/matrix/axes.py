"""The values of the container axes: one TOML file each below matrix/distros, bwrap, profiles, users."""

from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.errors import WrongInput
from pytest_codexsandbox.matrix import toml_files
from pytest_codexsandbox.matrix.nearest import known
from pytest_codexsandbox.model.container import BwrapSpec, ImageSpec, Profile, UserSpec
from pytest_codexsandbox.model.ids import is_value
from pytest_codexsandbox.registry import shipped

KINDS: Final[dict[str, Any]] = {"distros": ImageSpec, "bwrap": BwrapSpec, "profiles": Profile, "users": UserSpec}
_FILE: Final = "file:"  # of a seccomp profile: beside the profiles, in `seccomp/`


def values(axis: str) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (shipped("matrix") / axis).glob("*.toml")))


def image(name: str) -> ImageSpec:
    found: ImageSpec = _read("distros", name, ImageSpec)
    return found


def bwrap(name: str) -> BwrapSpec:
    found: BwrapSpec = _read("bwrap", name, BwrapSpec)
    return found


def profile(name: str) -> Profile:
    found: Profile = _read("profiles", name, Profile)
    return found


def user(name: str) -> UserSpec:
    found: UserSpec = _read("users", name, UserSpec)
    return found


@cache
def _read(axis: str, name: str, kind: type[Any]) -> Any:
    if name not in values(axis):
        raise WrongInput(f"{axis}: there is no {name!r}", why=known(name, values(axis)))
    path = shipped("matrix") / axis / f"{name}.toml"
    file = toml_files.read(path)
    for own in ("name", "reference"):
        if own in file.data:
            raise WrongInput(f"{own} is not written: it is the file's name", where=file.place(own))
    if not is_value(name):
        raise WrongInput(f"{name!r} cannot be the value of an axis", where=str(path))
    data = {**file.data, "name": name}
    if str(data.get("seccomp", "")).startswith(_FILE):
        data["seccomp"] = _seccomp(file, str(data["seccomp"]).removeprefix(_FILE))
    return toml_files.convert(msgspec.structs.replace(file, data=data), kind)


def _seccomp(file: toml_files.TomlFile, name: str) -> str:
    path: Path = file.path.parent / "seccomp" / name
    if "/" in name or not path.is_file():
        raise WrongInput(f"there is no seccomp profile {name!r}", where=file.place("seccomp"), why=str(path.parent))
    return path.read_text(encoding="utf-8")
