"""Matrix files: `matrix/presets/*.toml`, and a user's own by path.

description  = "this machine and the Codex that is installed on it"
environments = ["local"]            # what is started; here: this machine
releases     = ["installed"]        # Codex releases, and "installed"
doors        = ["sandbox"]          # optional
policies     = ["workspace-write"]  # optional; omitted: all of them

[containers]                        # optional: one environment for each combination of
distros  = ["debian-bookworm"]      #   matrix/distros/*.toml
bwraps   = ["distro", "none"]       #   matrix/bwrap/*.toml
profiles = ["docker-default"]       #   matrix/profiles/*.toml
users    = ["root", "u1000"]        #   matrix/users/*.toml

[[exclude]]                         # optional: cells that are not wanted; `where` as in files of deviations
where = { codex = "<0.100", arch = "aarch64" }
why   = "no build for this architecture"
"""

from pathlib import Path
from typing import Final

import msgspec
from packaging.version import InvalidVersion, Version

from pytest_codexsandbox.errors import WrongInput
from pytest_codexsandbox.matrix import axes, toml_files
from pytest_codexsandbox.matrix.nearest import known
from pytest_codexsandbox.matrix.toml_files import TomlFile
from pytest_codexsandbox.matrix.where import AXES, range_fault, values
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.registry import CONTROLS, names, shipped

ENVIRONMENTS: Final = ("local",)
INSTALLED: Final = "installed"


class Exclude(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    where: dict[str, str | tuple[str, ...]]
    why: str


class Containers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Names of axis values."""

    distros: tuple[str, ...]
    bwraps: tuple[str, ...] = ("distro",)
    profiles: tuple[str, ...] = ("docker-default",)
    users: tuple[str, ...] = ("root",)


class _Written(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    description: str = ""
    environments: tuple[str, ...] = ()
    containers: Containers | None = None
    releases: tuple[str, ...]
    doors: tuple[str, ...] = ("sandbox",)
    policies: tuple[str, ...] = tuple(POLICIES)
    exclude: tuple[Exclude, ...] = ()


class MatrixFile(msgspec.Struct, frozen=True, kw_only=True):
    preset: str  # its name, or the path as it was given
    description: str
    environments: tuple[str, ...]
    doors: tuple[str, ...]
    policies: tuple[str, ...]
    releases: tuple[str, ...]
    exclude: tuple[Exclude, ...] = ()
    containers: Containers | None = None

    @property
    def name(self) -> str:
        return self.preset


def presets() -> tuple[str, ...]:
    """The names that `--codex-matrix=` takes."""
    return tuple(sorted(path.stem for path in _folder().glob("*.toml")))


def load(name_or_path: str) -> MatrixFile:
    path = _find(name_or_path)
    file = toml_files.read(path)
    written = toml_files.convert(file, _Written)
    _check(file, written)
    return MatrixFile(
        preset=name_or_path, description=written.description, environments=written.environments,
        doors=written.doors, policies=written.policies, releases=written.releases, exclude=written.exclude,
        containers=written.containers,
    )  # fmt: skip


def _folder() -> Path:
    return shipped("matrix") / "presets"


def _find(name_or_path: str) -> Path:
    if name_or_path in presets():
        return _folder() / f"{name_or_path}.toml"
    path = Path(name_or_path).expanduser()
    if path.is_file():
        return path
    if "/" in name_or_path or path.suffix == ".toml":
        raise WrongInput(f"there is no matrix file {name_or_path}", why=f"presets: {', '.join(presets())}")
    raise WrongInput(
        f"there is no preset {name_or_path!r}", why=known(name_or_path, presets()),
        next_step="a matrix file of your own is given by its path: --codex-matrix=./mine.toml",
    )  # fmt: skip


def _check(file: TomlFile, written: _Written) -> None:
    doors = tuple(name for name in names("doors") if name not in CONTROLS)
    if written.containers is None or written.environments:
        _axis(file, "environments", written.environments, ENVIRONMENTS)
    if written.containers is not None:
        for key, folder in (("distros", "distros"), ("bwraps", "bwrap"), ("profiles", "profiles"), ("users", "users")):
            _axis(file, key, getattr(written.containers, key), axes.values(folder))
    _axis(file, "doors", written.doors, doors)
    _axis(file, "policies", written.policies, tuple(POLICIES))
    _axis(file, "releases", written.releases, None)
    for release in written.releases:
        _release(file, release)
    for index, exclude in enumerate(written.exclude):
        _exclude(file, index, exclude)


def _axis(file: TomlFile, key: str, asked: tuple[str, ...], exist: tuple[str, ...] | None) -> None:
    """At least one value, each one known, none twice."""
    if not asked:
        raise WrongInput(f"{key} is empty: nothing would be measured", where=file.place(key))
    for position, value in enumerate(asked):
        if value in asked[:position]:
            raise WrongInput(f"{key} names {value!r} twice", where=file.place(key))
        if exist is not None and value not in exist:
            raise WrongInput(f"{key}: there is no {value!r}", where=file.place(key), why=known(value, exist))


def _release(file: TomlFile, release: str) -> None:
    if release == INSTALLED:
        return
    try:
        Version(release)
    except InvalidVersion as error:
        raise WrongInput(
            f"releases: {release!r} is not a Codex release", where=file.place("releases"),
            why=f'a release is a version like "0.163.0", or "{INSTALLED}"',
        ) from error  # fmt: skip


def _exclude(file: TomlFile, index: int, exclude: Exclude) -> None:
    where = file.place("where", table="exclude", index=index)
    if not exclude.where:
        raise WrongInput("exclude: where is empty: every cell would be excluded", where=where)
    for name in exclude.where:
        if name not in AXES:
            raise WrongInput(f"exclude: there is no axis {name!r}", where=where, why=known(name, AXES))
    if fault := range_fault(values(exclude.where, "codex")):
        raise WrongInput(f"exclude: {fault}", where=where)
    if not exclude.why.strip():
        raise WrongInput("exclude: why is empty", where=file.place("why", table="exclude", index=index))
