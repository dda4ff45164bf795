"""Generator files: authors' declarations in matrix/generators/*.toml and in a user's own folder `generators/`.

The file's name is the generator's. See docs/reference/generators.md for every key.
"""

from functools import cache
from pathlib import Path
from typing import Final

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix import decision_table, toml_files
from pytest_codexsandbox.matrix.suggestions import did_you_mean
from pytest_codexsandbox.matrix.toml_files import TomlFile
from pytest_codexsandbox.matrix.where_clause import is_range
from pytest_codexsandbox.model.generator import DecisionRow, Declaration, ExpectedPolicy
from pytest_codexsandbox.model.generator_spec import FOLDERS
from pytest_codexsandbox.model.ids import is_value
from pytest_codexsandbox.registry import data_folder

FOLDER: Final = "generators"
_ROOTS: Final = tuple(f"@{name}@" for name in FOLDERS)


def files(beside: Path | None = None) -> dict[str, Path]:
    """Returns name → file: shipped declarations, then those beside a user's matrix file. A name may exist only once."""
    found: dict[str, Path] = {}
    for folder in (data_folder("matrix") / FOLDER, *(() if beside is None else (beside / FOLDER,))):
        for path in sorted(folder.glob("*.toml")):
            if path.stem in found and found[path.stem].resolve() != path.resolve():
                raise InputError(f"{FOLDER}: {path.stem!r} is shipped: give yours another name", where=str(path))
            found[path.stem] = path
    return found


def declared(name: str, beside: Path | None = None) -> Declaration:
    there = files(beside)
    if name not in there:
        raise InputError(f"{FOLDER}: there is no {name!r}", why=did_you_mean(name, there))
    return load(there[name])


def real(beside: Path | None = None) -> tuple[str, ...]:
    """Returns the names of published third-party tools, which the name `real` means."""
    return tuple(name for name, path in files(beside).items() if load(path).real)


@cache
def load(path: Path) -> Declaration:
    file = toml_files.read(path)
    if "name" in file.data:
        raise InputError("name is not written: it is the file's name", where=file.place("name"))
    if not is_value(path.stem):
        raise InputError(
            f"{path.stem!r} cannot be the value of an axis",
            where=str(path),
            why="lower-case letters, digits and . + _ -",
        )
    found = toml_files.convert(file, Declaration)
    _check(file, found)
    return msgspec.structs.replace(found, name=path.stem)


def _check(file: TomlFile, found: Declaration) -> None:
    if not found.run:
        raise InputError(
            "run is missing: it is the command that starts the generator",
            where=file.place("run"),
            next_step='run = "cmd:mytool render --out @CONFIG@"',
        )
    if not found.timeout > 0:
        raise InputError(f"timeout is {found.timeout}: it is in seconds, above zero", where=file.place("timeout"))
    for marker in found.markers:
        if not marker.begin.strip():
            raise InputError("a marker is empty", where=file.place("markers"))
    for index, row in enumerate(found.semantics):
        _check_row(file, index, row)
    for index in range(len(found.semantics)):
        _check_decides(file, index, found)


def _check_row(file: TomlFile, index: int, row: DecisionRow) -> None:
    place = file.place("when", table="semantics", index=index)
    for name, value in row.when.items():
        if name == "version":
            _check_range(value, place)
        elif name not in decision_table.WORDS:
            raise InputError(
                f"when: {name!r} is not a condition of a row",
                where=place,
                why=did_you_mean(name, ("version", *decision_table.WORDS)),
            )
        elif value not in decision_table.WORDS[name]:
            raise InputError(
                f"when: {name} is never {value!r}", where=place, why=did_you_mean(value, decision_table.WORDS[name])
            )
    _check_kept(row.expect, file.place("expect", table="semantics", index=index))
    for root in row.expect.roots or ():
        name, _, _ = root.partition("/")
        if root and root[0] != "/" and name not in _ROOTS:
            raise InputError(
                f"expect: a root cannot be {root!r}",
                where=file.place("expect", table="semantics", index=index),
                why=did_you_mean(name, _ROOTS),
            )


def _check_kept(expect: ExpectedPolicy, place: str) -> None:
    for part in expect.kept:
        said = getattr(expect, part)
        if said not in ("", None):
            raise InputError(
                f"expect: {part} is kept as the user has it, but is expected to be {said!r}",
                where=place,
                why="keeps = true keeps all parts of a policy; a list names some of them",
                next_step=f"remove {part} from one of the two",
            )


def _check_decides(file: TomlFile, index: int, found: Declaration) -> None:
    """Raises InputError for a row that can never decide: its case would measure nothing."""
    earlier = decision_table.shadowed(found, index)
    if earlier:
        raise InputError(
            f"row {index + 1} never decides: its requests are already matched by row {earlier}",
            where=file.place("when", table="semantics", index=index),
            why="the first row that matches decides",
            next_step="move it up, or remove it",
        )


def _check_range(text: str, place: str) -> None:
    if text in ("", "unknown"):
        return
    try:
        SpecifierSet(text if is_range(text) else f"=={text}")
    except InvalidSpecifier as error:
        raise InputError(f"when: version = {text!r} is not a version range", where=place, why=str(error)) from error
