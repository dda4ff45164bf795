"""What authors say of their generators: matrix/generators/*.toml, and a user's own folder `generators/`. Pure.

The file's name is the generator's. See docs/reference/generators.md for every key.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from pytest_codexsandbox.errors import WrongInput
from pytest_codexsandbox.matrix import toml_files
from pytest_codexsandbox.matrix.nearest import known
from pytest_codexsandbox.matrix.toml_files import TomlFile
from pytest_codexsandbox.matrix.where import in_range, is_range
from pytest_codexsandbox.model.generator import Declaration, Row, Wish
from pytest_codexsandbox.model.ids import is_value
from pytest_codexsandbox.registry import shipped

FOLDER: Final = "generators"
CAPABILITIES: Final = ("userns", "uid_map", "netns", "landlock", "seccomp")
_NETWORK: Final = {True: "on", False: "off", None: "unsaid"}
_WORDS: Final = {
    "platform": ("linux", "darwin", "windows", "wsl", "unknown"),
    "network": tuple(_NETWORK.values()),
    "roots": ("some", "none"),
    **dict.fromkeys(CAPABILITIES, ("yes", "no")),
}


def files(beside: Path | None = None) -> dict[str, Path]:
    """Name → file: what is shipped, then the folder beside a user's matrix file. A name means one thing."""
    found: dict[str, Path] = {}
    for folder in (shipped("matrix") / FOLDER, *(() if beside is None else (beside / FOLDER,))):
        for path in sorted(folder.glob("*.toml")):
            if path.stem in found and found[path.stem].resolve() != path.resolve():
                raise WrongInput(f"{FOLDER}: {path.stem!r} is shipped: give yours another name", where=str(path))
            found[path.stem] = path
    return found


def declared(name: str, beside: Path | None = None) -> Declaration:
    there = files(beside)
    if name not in there:
        raise WrongInput(f"{FOLDER}: there is no {name!r}", why=known(name, there))
    return load(there[name])


def real(beside: Path | None = None) -> tuple[str, ...]:
    """The names of the tools that people use, as they were published: what `real` stands for."""
    return tuple(name for name, path in files(beside).items() if load(path).real)


@cache
def load(path: Path) -> Declaration:
    file = toml_files.read(path)
    if "name" in file.data:
        raise WrongInput("name is not written: it is the file's name", where=file.place("name"))
    if not is_value(path.stem):
        raise WrongInput(
            f"{path.stem!r} cannot be the value of an axis", where=str(path),
            why="lower-case letters, digits and . + _ -",
        )  # fmt: skip
    found = toml_files.convert(file, Declaration)
    _check(file, found)
    return msgspec.structs.replace(found, name=path.stem)


def _check(file: TomlFile, found: Declaration) -> None:
    if not found.run:
        raise WrongInput("run is not written: it says how the generator is started", where=file.place("run"),
                         next_step='run = "cmd:mytool render --out @CONFIG@"')  # fmt: skip
    if not found.timeout > 0:
        raise WrongInput(f"timeout is {found.timeout}: it is in seconds, above zero", where=file.place("timeout"))
    for marker in found.markers:
        if not marker.begin.strip():
            raise WrongInput("a marker is empty", where=file.place("markers"))
    for index, row in enumerate(found.semantics):
        _check_row(file, index, row)


def _check_row(file: TomlFile, index: int, row: Row) -> None:
    place = file.place("when", table="semantics", index=index)
    for name, value in row.when.items():
        if name == "version":
            _check_range(value, place)
        elif name not in _WORDS:
            raise WrongInput(f"when: {name!r} is nothing that can be asked for", where=place,
                             why=known(name, ("version", *_WORDS)))  # fmt: skip
        elif value not in _WORDS[name]:
            raise WrongInput(f"when: {name} is never {value!r}", where=place, why=known(value, _WORDS[name]))


def _check_range(text: str, place: str) -> None:
    if text in ("", "unknown"):
        return
    try:
        SpecifierSet(text if is_range(text) else f"=={text}")
    except InvalidSpecifier as error:
        raise WrongInput(f"when: version = {text!r} is not a version range", where=place, why=str(error)) from error


def fit(when: Mapping[str, str], wish: Wish, version: str) -> bool:
    """Whether a row speaks of what is asked. `version`: of the cell; what the wish says instead goes before it."""
    told = version if wish.version is None else wish.version
    facts = {
        "platform": wish.platform, "network": _NETWORK[wish.network], "roots": "some" if wish.roots else "none",
    }  # fmt: skip
    for name, value in when.items():
        if name == "version":
            if not _version_fits(value, told):
                return False
        elif name in facts:
            if facts[name] != value:
                return False
        elif wish.capabilities.get(name, True) is not (value == "yes"):
            return False
    return True


def _version_fits(text: str, version: str) -> bool:
    """`unknown` is what has no place in ranges: nothing, or nonsense."""
    if text in ("", "unknown"):
        return not in_range(">=0", version)
    return in_range(text if is_range(text) else f"=={text}", version)


def row(declaration: Declaration, wish: Wish, version: str) -> Row | None:
    """The first row of the author's matrix that fits; None where none does."""
    return next((one for one in declaration.semantics if fit(one.when, wish, version)), None)
