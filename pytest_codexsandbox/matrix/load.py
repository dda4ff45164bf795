"""Matrix files: `matrix/presets/*.toml`, `incidents/matrix/*.toml`, and a user's own by path.

See docs/reference/matrix-files.md.
"""

from pathlib import Path
from typing import Final

import msgspec
from packaging.version import InvalidVersion, Version

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix import axis_files, lockfile, toml_files
from pytest_codexsandbox.matrix.axis_files import Catalogue
from pytest_codexsandbox.matrix.lockfile import Lock
from pytest_codexsandbox.matrix.suggestions import did_you_mean
from pytest_codexsandbox.matrix.toml_files import TomlFile
from pytest_codexsandbox.matrix.where_clause import AXES, range_fault, values
from pytest_codexsandbox.model.coverage import WORDS
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.registry import data_folder, default_door, measured_doors, names

INSTALLED: Final = "installed"
_PAIRS: Final = "2: cells that hold every pair of values; 3: every triple; left out: every combination"


class Exclude(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    where: dict[str, str | tuple[str, ...]]
    why: str


class Containers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The [containers] table: names of axis values."""

    distros: tuple[str, ...] = ()
    images: tuple[str, ...] | dict[str, str] = ()  # a user's own images, used as distros
    bwraps: tuple[str, ...] = ("distro",)
    profiles: tuple[str, ...] = ("docker-default",)
    users: tuple[str, ...] = ("root",)
    pairs: int = 0  # 2: few cells that hold every pair of values; 3: every triple; 0: every combination


def _default_doors() -> tuple[str, ...]:
    return (default_door("commands"),)


EVERY_CALL: Final = ("*",)


class _Written(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    description: str = ""
    environments: tuple[str, ...] = ()
    containers: Containers | None = None
    releases: tuple[str, ...]
    doors: tuple[str, ...] = msgspec.field(default_factory=_default_doors)
    policies: tuple[str, ...] = tuple(POLICIES)
    generators: tuple[str, ...] = ()  # as for --codex-generator; `none`: Codex without a generator
    skip: tuple[str, ...] = ()
    own_calls: tuple[str, ...] = EVERY_CALL
    exclude: tuple[Exclude, ...] = ()


class MatrixFile(msgspec.Struct, frozen=True, kw_only=True):
    preset: str  # the preset's name, or the path as the user typed it
    description: str
    environments: tuple[str, ...]
    doors: tuple[str, ...]
    policies: tuple[str, ...]
    releases: tuple[str, ...]
    generators: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()  # globs of promises that are not measured
    own_calls: tuple[str, ...] = EVERY_CALL  # globs: of the promises with a call of their own, only these are measured
    exclude: tuple[Exclude, ...] = ()
    containers: Containers | None = None
    catalogue: Catalogue = axis_files.SHIPPED
    path: Path | None = None
    lock: Lock | None = None

    @property
    def name(self) -> str:
        return self.preset


def presets() -> tuple[str, ...]:
    """Returns the names of the shipped presets."""
    return tuple(sorted(path.stem for path in _folder().glob("*.toml") if not path.name.endswith(lockfile.SUFFIX)))


def offered() -> tuple[str, ...]:
    """Returns the names that `--codex-matrix=` takes."""
    return (*presets(), *incidents())


def incidents() -> tuple[str, ...]:
    """Returns the names of reported incidents. Each has a red state as reported and a green one as fixed."""
    return tuple(sorted(path.stem for path in _incidents_folder().glob("*.toml")))


def load(name_or_path: str) -> MatrixFile:
    path = _find(name_or_path)
    file = toml_files.read(path)
    written = toml_files.convert(file, _Written)
    catalogue = _catalogue(file, written.containers)
    containers = _with_images(written.containers, catalogue)
    _check(file, msgspec.structs.replace(written, containers=containers), catalogue)
    return MatrixFile(
        preset=name_or_path,
        description=written.description,
        environments=written.environments,
        doors=written.doors,
        policies=written.policies,
        releases=written.releases,
        exclude=written.exclude,
        containers=containers,
        catalogue=catalogue,
        path=path,
        skip=written.skip,
        own_calls=written.own_calls,
        generators=written.generators,
        lock=lockfile.read(lockfile.path_of(path)) if containers is not None else None,
    )


def _folder() -> Path:
    return data_folder("matrix") / "presets"


def _incidents_folder() -> Path:
    """Returns the folder of incidents. Their generators are beside them, as with a user's own matrix file."""
    return data_folder("incidents/matrix")


def _find(name_or_path: str) -> Path:
    if name_or_path in presets():
        return _folder() / f"{name_or_path}.toml"
    if name_or_path in incidents():
        return _incidents_folder() / f"{name_or_path}.toml"
    path = Path(name_or_path).expanduser()
    if path.is_file():
        return path
    if "/" in name_or_path or path.suffix == ".toml":
        raise InputError(f"there is no matrix file {name_or_path}", why=f"presets: {', '.join(offered())}")
    raise InputError(
        f"there is no preset {name_or_path!r}",
        why=did_you_mean(name_or_path, offered()),
        next_step="give the path of your own matrix file: --codex-matrix=./mine.toml",
    )


def _catalogue(file: TomlFile, asked: Containers | None) -> Catalogue:
    """Returns where values are found. A user's own values are beside their matrix file; beside ours are the shipped
    ones."""
    written = asked.images if asked is not None else ()
    split = written.items() if isinstance(written, dict) else [_halves(file, text) for text in written]
    place = file.place("images")
    images = tuple(axis_files.of_reference(name, reference, where=place) for name, reference in split)
    own = file.path.parent.resolve() != _folder().resolve()
    return Catalogue(beside=file.path.parent.resolve() if own else None, images=images)


def _halves(file: TomlFile, text: str) -> tuple[str, str]:
    name, sign, reference = text.partition("=")
    if not sign:
        raise InputError(
            f"images: {text!r} is not NAME=IMAGE",
            where=file.place("images"),
            why='as in "mine=registry.example/agent:1.2"',
        )
    return name.strip(), reference.strip()


def _with_images(asked: Containers | None, catalogue: Catalogue) -> Containers | None:
    if asked is None:
        return None
    return msgspec.structs.replace(asked, distros=(*asked.distros, *(image.name for image in catalogue.images)))


def _check(file: TomlFile, written: _Written, catalogue: Catalogue) -> None:
    if written.containers is None or written.environments:
        _axis(file, "environments", written.environments, names("backends"))
    if written.containers is not None:
        _containers(file, written.containers, catalogue)
    _axis(file, "doors", written.doors, measured_doors())
    _axis(file, "policies", written.policies, tuple(POLICIES))
    _axis(file, "releases", written.releases, None)
    if written.skip:
        _axis(file, "skip", written.skip, None)
    for position, glob in enumerate(written.own_calls):
        if glob in written.own_calls[:position]:
            raise InputError(f"own_calls names {glob!r} twice", where=file.place("own_calls"))
    if written.generators:
        _axis(file, "generators", written.generators, None)
    for release in written.releases:
        _release(file, release)
    for index, exclude in enumerate(written.exclude):
        _exclude(file, index, exclude)


def _containers(file: TomlFile, asked: Containers, catalogue: Catalogue) -> None:
    for key, folder, read in (
        ("distros", "distros", catalogue.image),
        ("bwraps", "bwrap", catalogue.bwrap),
        ("profiles", "profiles", catalogue.profile),
        ("users", "users", catalogue.user),
    ):
        _axis(file, key, getattr(asked, key), catalogue.values(folder))
        for name in getattr(asked, key):
            read(name)  # reports an error in the value's file now
    if asked.pairs not in (0, *WORDS):
        raise InputError(f"pairs is {asked.pairs}", where=file.place("pairs"), why=_PAIRS)


def _axis(file: TomlFile, key: str, asked: tuple[str, ...], exist: tuple[str, ...] | None) -> None:
    """Checks for at least one value, each one known, none twice."""
    if not asked:
        known = ", ".join(exist or (f"{INSTALLED}, or a version",))
        raise InputError(f"{key} is empty: nothing would be measured", where=file.place(key), why=f"known: {known}")
    for position, value in enumerate(asked):
        if value in asked[:position]:
            raise InputError(f"{key} names {value!r} twice", where=file.place(key))
        if exist is not None and value not in exist:
            raise InputError(f"{key}: there is no {value!r}", where=file.place(key), why=did_you_mean(value, exist))


def _release(file: TomlFile, release: str) -> None:
    if release == INSTALLED:
        return
    try:
        Version(release)
    except InvalidVersion as error:
        raise InputError(
            f"releases: {release!r} is not a Codex release",
            where=file.place("releases"),
            why=f'a release is a version like "0.163.0", or "{INSTALLED}"',
        ) from error


def _exclude(file: TomlFile, index: int, exclude: Exclude) -> None:
    where = file.place("where", table="exclude", index=index)
    if not exclude.where:
        raise InputError("exclude: where is empty: every cell would be excluded", where=where)
    for name in exclude.where:
        if name not in AXES:
            raise InputError(f"exclude: there is no axis {name!r}", where=where, why=did_you_mean(name, AXES))
    if fault := range_fault(values(exclude.where, "codex")):
        raise InputError(f"exclude: {fault}", where=where)
    if not exclude.why.strip():
        raise InputError("exclude: why is empty", where=file.place("why", table="exclude", index=index))
