"""Installation: turns a declaration's `install` into a tool on this machine, from the cache or from its registry.

One rename makes the tool an entry of the cache, as for a release of Codex. One process installs it while others wait.
Pruning never removes an entry that a run uses.
"""

import os
import shlex
import shutil
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.errors import CodexSandboxError, InputError, Unavailable
from pytest_codexsandbox.generators.third_party import npm, pypi
from pytest_codexsandbox.generators.third_party.package import Package, package_of
from pytest_codexsandbox.model.generator import Declaration
from pytest_codexsandbox.releases.artefact import Run
from pytest_codexsandbox.releases.cache_entry import Entry, Origin
from pytest_codexsandbox.releases.cache_files import PackageFile, ensure_folder, sha256_of
from pytest_codexsandbox.releases.cache_limits import limit_from
from pytest_codexsandbox.releases.disk_space import room_for
from pytest_codexsandbox.releases.download_estimate import Forecast
from pytest_codexsandbox.releases.locks import hold
from pytest_codexsandbox.releases.store import Store
from pytest_codexsandbox.system import pip, process
from pytest_codexsandbox.system.progress import Progress

Commands = Mapping[str, tuple[str, ...]]
_BRING: Final[dict[str, Callable[..., None]]] = {"npm": npm.bring, "pypi": pypi.bring}
_COMMANDS: Final[dict[str, Callable[[Package, Path], Commands]]] = {"npm": npm.commands, "pypi": pypi.commands}
_SCHEMES: Final = ("cmd", "launch")
_MOST_FILES: Final = 100_000
_MOST_BYTES: Final = 2 << 30


class InstalledTool(msgspec.Struct, frozen=True, kw_only=True):
    """An installed tool. Its cache entry is kept for as long as this process lives."""

    folder: str = ""  # "" if nothing had to be installed
    commands: dict[str, tuple[str, ...]] = {}  # name → command that starts it
    env: dict[str, str] = {}  # variables that the tool needs in order to be found
    shown: tuple[str, ...] = ()  # folders that it reads besides its interpreter's
    facts: dict[str, str] = {}  # its origin, without secrets
    size: int = 0


def install(
    declaration: Declaration,
    cache: Path,
    *,
    offline: bool = False,
    progress: Progress | None = None,
    run: Run = process.run,
) -> InstalledTool:
    """Installs a tool, or returns the cached one. Raises Unavailable, with the next step, if that is impossible. Leaves
    no half-written entry."""
    package = package_of(declaration)
    if package is None:
        return InstalledTool()
    if declaration.node:
        npm.check_node(declaration.node, who=declaration.name, run=run)
    store = Store(cache)
    entry = cached(store, package)
    if entry is None:
        if offline:
            raise Unavailable(
                f"{package} is not in the cache, and nothing may be downloaded",
                where=str(cache),
                next_step="run once with a network",
            )
        entry = _brought(package, declaration, store, progress or Progress(), run)
    return _installed(package, entry)


def forecast_of(declaration: Declaration, cache: Path) -> Forecast:
    """Returns what installing a tool would cost, without starting anything. Raises InputError for an invalid
    `install`."""
    package = package_of(declaration)
    if package is None:
        return Forecast(cached=True)
    if package.source == "npm" and not shutil.which("node"):
        return Forecast(why_not="it needs node, which is not on PATH")
    if Store(cache).find(package.key, package.fits) is not None:
        return Forecast(source="cache", cached=True)
    if package.source == "npm" and not shutil.which("npm"):
        return Forecast(why_not="it is installed by npm, which is not on PATH")
    if package.source == "pypi" and not pip.program():
        return Forecast(why_not="it is installed by pip, which is missing: python -m ensurepip")
    return Forecast(source=package.source, megabytes=declaration.megabytes)


def ready(declaration: Declaration, installed: InstalledTool) -> Declaration:
    """Returns the declaration with the commands of the installed programs instead of their names."""
    if not installed.folder:
        return declaration
    scheme, sign, text = declaration.run.partition(":")
    if scheme not in _SCHEMES:
        scheme, sign, text = "cmd", ":", declaration.run
    first, _, rest = text.strip().partition(" ")
    if first not in installed.commands:
        raise InputError(
            f"{first!r} is not among the programs that {declaration.name} installs",
            where=f"run = {declaration.run!r}",
            why=f"it installs: {', '.join(installed.commands)}",
        )
    started = shlex.join(installed.commands[first])
    return msgspec.structs.replace(
        declaration,
        run=f"{scheme}{sign}{started} {rest}".rstrip(),
        env={**installed.env, **declaration.env},
        installed=tuple(dict.fromkeys((*declaration.installed, *installed.shown))),
    )


def cached(store: Store, package: Package) -> Entry | None:
    """Returns the entry, held by this process. A changed entry, or one of another lock file, does not count."""
    entry = store.find(package.key, package.fits)
    if entry is None or entry.origin.integrity != _lock_digest(package) or not hold(entry):
        return None
    try:
        return entry if sha256_of(Path(entry.program)) == entry.digest else None
    except OSError:
        return None


def _brought(package: Package, declaration: Declaration, store: Store, progress: Progress, run: Run) -> Entry:
    limit = limit_from()  # reports an invalid value before the download
    with store.building(package.key, package.fits, what=str(package), say=progress.say) as staging:
        entry = cached(store, package)  # another process may have installed it meanwhile
        if entry is None:
            damaged = store.find(package.key, package.fits)
            if damaged is not None and damaged.origin.integrity == _lock_digest(package):
                store.discard(damaged)
            room_for(2_000_000 * max(declaration.megabytes, 1), store.folder)
            progress.say(f"installing {package} from {package.registry}")
            entry = _put(package, store, staging, run)
    store.prune(limit)
    return entry


def _put(package: Package, store: Store, staging: Path, run: Run) -> Entry:
    place, aside = staging / "package", staging / "aside"
    for folder in (place, aside):
        ensure_folder(folder)
    lock = package.lock() if package.lock().is_file() else None
    _BRING[package.source](package, place, aside, lock=lock, run=run)
    files = files_below(place)
    programs = _COMMANDS[package.source](package, place)
    first = Path(next(iter(programs.values()))[-1]).relative_to(place).as_posix() if programs else files[0].path
    origin = Origin(
        release=package.key,
        arch=package.fits,
        source=package.source,
        url=f"{package.source}:{package.name}=={package.version}",
        integrity=_lock_digest(package),
    )
    return store.put(place, binary=first, files=files, origin=origin)


def files_below(folder: Path) -> tuple[PackageFile, ...]:
    """Returns the files, sorted by path. Raises CodexSandboxError for links and devices, which neither npm nor a wheel
    installs, and for too many or too large files."""
    found: list[PackageFile] = []
    size = 0
    for base, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names + [one for one in folders if (Path(base) / one).is_symlink()]):
            path = Path(base) / name
            seen = path.lstat()
            if not stat.S_ISREG(seen.st_mode):
                raise CodexSandboxError("the package holds a link or a device", where=str(path.relative_to(folder)))
            size += seen.st_size
            if len(found) >= _MOST_FILES or size > _MOST_BYTES:
                raise CodexSandboxError(
                    "the package is too large for a tool",
                    where=str(folder),
                    why=f"{len(found):,} files, {size / 1e6:,.0f} MB",
                )
            found.append(
                PackageFile(
                    path=path.relative_to(folder).as_posix(),
                    size=seen.st_size,
                    mode=stat.S_IMODE(seen.st_mode),
                    sha256=sha256_of(path),
                )
            )
    return tuple(sorted(found, key=lambda file: file.path))


def _lock_digest(package: Package) -> str:
    """Returns the digest of the lock file; "" if there is none."""
    return f"lock sha256:{sha256_of(package.lock())}" if package.lock().is_file() else ""


def _installed(package: Package, entry: Entry) -> InstalledTool:
    folder = Path(entry.folder)
    programs = dict(_COMMANDS[package.source](package, folder))
    own = {"node": (npm.node(),)} if package.source == "npm" else {"python": (pypi.python(),)}
    return InstalledTool(
        folder=entry.folder,
        commands={**programs, **own},
        size=entry.size,
        env=pypi.variables(folder) if package.source == "pypi" else {},
        shown=(entry.folder,),
        facts={"package": entry.origin.url, "entry": entry.id, "lock": entry.origin.integrity},
    )
