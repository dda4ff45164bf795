"""The cache: unpacked releases, addressed by what they hold, found by (release, architecture).

    entries/<sha256 of the manifest>/…    a package as its publisher laid it out, and entry.json
    releases/<release>~<arch>.json        which entry it is, and where it came from
    staging/                              what is being unpacked; never looked at by a reader
    locks/                                `<release>~<arch>.build` and `<entry>.use`; its time is the last use

An entry appears by one rename. Who uses it holds a shared lock, which pruning respects; the kernel gives the lock
back when a process dies. Nothing here is ever half-written: a killed builder leaves only staging, swept by the next.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
from filelock import FileLock, Timeout
from platformdirs import user_cache_path

from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.releases.files import File, ensure_folder, intact, remove, tree_digest, write_whole

BUILD_PATIENCE: Final = 1800.0  # seconds that a worker waits for the one that downloads
FOLDERS: Final = ("entries", "releases", "staging", "locks")


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a release came from; nothing in it is secret."""

    release: str
    arch: str
    source: str  # pypi | npm
    url: str
    integrity: str = ""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """An unpacked package."""

    id: str
    folder: str
    binary: str  # below folder
    digest: str  # sha256 of the binary
    files: tuple[File, ...]
    origin: Origin

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def program(self) -> str:
        return str(Path(self.folder) / self.binary)


class Pointer(msgspec.Struct, frozen=True, kw_only=True):
    entry: str
    origin: Origin


def cache_folder() -> Path:
    """$CODEXSANDBOX_CACHE, else the user's cache folder."""
    named = os.environ.get("CODEXSANDBOX_CACHE", "")
    return Path(named).expanduser().absolute() if named else user_cache_path("pytest-codexsandbox")


class Store:
    """The cache below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, release: str, arch: str) -> Entry | None:
        """The whole entry of a release, or None: a damaged one is as good as none."""
        try:
            pointer = msgspec.json.decode(self._pointer(release, arch).read_bytes(), type=Pointer)
        except (OSError, msgspec.MsgspecError):
            return None
        entry = self._entry(pointer.entry)
        if entry is None or not intact(Path(entry.folder), entry.files):
            return None
        return msgspec.structs.replace(entry, origin=pointer.origin)

    def entries(self) -> tuple[Entry, ...]:
        """Every entry, the least recently used first."""
        try:
            names = sorted(path.name for path in (self.folder / "entries").iterdir())
        except OSError:
            return ()
        found = [entry for entry in map(self._entry, names) if entry is not None]
        return tuple(sorted(found, key=lambda entry: (self.last_used(entry), entry.id)))

    def names(self, entry: Entry) -> tuple[str, ...]:
        """The releases that are this entry."""
        return tuple(sorted(p.name.removesuffix(".json").partition("~")[0] for p in self._pointers(entry)))

    def last_used(self, entry: Entry) -> float:
        try:
            return self._use_lock(entry).stat().st_mtime
        except OSError:
            return 0.0

    @contextmanager
    def building(self, release: str, arch: str) -> Iterator[Path]:
        """One process at a time builds a release, in a folder that vanishes again unless it is put."""
        for name in FOLDERS:
            ensure_folder(self.folder / name)
        name = f"{release}~{arch}"
        lock = FileLock(self.folder / "locks" / f"{name}.build", timeout=BUILD_PATIENCE)
        try:
            lock.acquire()
        except Timeout:
            raise CodexSandboxError(
                f"waited {BUILD_PATIENCE / 60:.0f} minutes for another process that gets Codex {release}",
                where=lock.lock_file, next_step="end that process, then run again",
            ) from None  # fmt: skip
        staging = self.folder / "staging" / f"{name}.{os.getpid()}"
        try:
            for orphan in (self.folder / "staging").glob(f"{name}.*"):
                remove(orphan)
            ensure_folder(staging)
            yield staging
        finally:
            remove(staging)
            lock.release()

    def put(self, staging: Path, *, binary: str, files: tuple[File, ...], origin: Origin) -> Entry:
        """Make what was unpacked below `staging` an entry. Only inside `building`."""
        digests = {file.path: file.sha256 for file in files}
        target = self.folder / "entries" / tree_digest(files)
        entry = Entry(id=target.name, folder="", binary=binary, digest=digests[binary], files=files, origin=origin)
        known = self._entry(entry.id)
        if known is None or not intact(Path(known.folder), known.files):
            if target.exists():
                remove(target, by_way_of=self.folder / "staging")
            write_whole(staging / "entry.json", msgspec.json.encode(entry))
            try:
                staging.rename(target)
            except OSError:  # another release with the same content was put a moment ago
                if not intact(target, files):
                    raise
        pointer = Pointer(entry=entry.id, origin=origin)
        write_whole(self._pointer(origin.release, origin.arch), msgspec.json.encode(pointer))
        return msgspec.structs.replace(entry, folder=str(target))

    @contextmanager
    def in_use(self, entry: Entry) -> Iterator[bool]:
        """Nobody prunes the entry meanwhile. False: it is gone already."""
        lock = self._shared_lock(entry)
        try:
            yield (Path(entry.folder) / "entry.json").is_file()
        finally:
            if lock >= 0:
                os.close(lock)

    def prune(self, limit: int) -> tuple[Entry, ...]:
        """Remove the least recently used entries that nobody uses until the rest is no larger than `limit` bytes."""
        kept = self.entries()
        size = sum(entry.size for entry in kept)
        gone: list[Entry] = []
        for entry in kept:
            if size <= limit:
                break
            if self._drop(entry):
                size -= entry.size
                gone.append(entry)
        self._sweep()
        return tuple(gone)

    def _drop(self, entry: Entry) -> bool:
        lock = _open_lock(self._use_lock(entry))
        if lock < 0:
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for pointer in self._pointers(entry):
                pointer.unlink(missing_ok=True)
            remove(Path(entry.folder), by_way_of=self.folder / "staging")
        except OSError:  # somebody uses it, or it is not ours to remove
            return False
        finally:
            os.close(lock)
        return True

    def _sweep(self) -> None:
        """What killed builders left. A builder at work holds its lock."""
        for orphan in (self.folder / "staging").glob("*"):
            name = orphan.name.rpartition(".")[0]
            try:
                with FileLock(self.folder / "locks" / f"{name}.build", timeout=0):
                    remove(orphan)
            except (Timeout, OSError):
                continue

    def _shared_lock(self, entry: Entry) -> int:
        path = self._use_lock(entry)
        lock = _open_lock(path)
        if lock >= 0:
            fcntl.flock(lock, fcntl.LOCK_SH)
            try:
                os.utime(lock)
            except OSError:  # somebody else's warm cache: we may read it, no more
                pass
        return lock

    def _entry(self, name: str) -> Entry | None:
        folder = self.folder / "entries" / name
        try:
            entry = msgspec.json.decode((folder / "entry.json").read_bytes(), type=Entry)
        except (OSError, msgspec.MsgspecError):
            return None
        return msgspec.structs.replace(entry, folder=str(folder))

    def _pointers(self, entry: Entry) -> list[Path]:
        found = []
        for path in sorted((self.folder / "releases").glob("*.json")):
            try:
                pointer = msgspec.json.decode(path.read_bytes(), type=Pointer)
            except (OSError, msgspec.MsgspecError):
                continue
            if pointer.entry == entry.id:
                found.append(path)
        return found

    def _pointer(self, release: str, arch: str) -> Path:
        return self.folder / "releases" / f"{release}~{arch}.json"

    def _use_lock(self, entry: Entry) -> Path:
        return self.folder / "locks" / f"{entry.id}.use"


def _open_lock(path: Path) -> int:
    for flags in (os.O_RDWR | os.O_CREAT, os.O_RDONLY):
        try:
            return os.open(path, flags | os.O_CLOEXEC, 0o666)
        except OSError:
            continue
    return -1


def entries(cache: Path | None = None) -> tuple[Entry, ...]:
    return Store(cache or cache_folder()).entries()


def prune(limit: int, cache: Path | None = None) -> tuple[Entry, ...]:
    return Store(cache or cache_folder()).prune(limit)


@contextmanager
def in_use(entry: Entry) -> Iterator[bool]:
    with Store(Path(entry.folder).parent.parent).in_use(entry) as there:
        yield there


_held: Final[dict[str, int]] = {}


def hold(entry: Entry) -> bool:
    """Keep the entry from being pruned for as long as this process lives. False: it is gone already."""
    if entry.folder not in _held:
        _held[entry.folder] = Store(Path(entry.folder).parent.parent)._shared_lock(entry)
    return (Path(entry.folder) / "entry.json").is_file()


def let_go(entry: Entry) -> None:
    lock = _held.pop(entry.folder, -1)
    if lock >= 0:
        os.close(lock)


def room_for(bytes_needed: int, folder: Path) -> None:
    """CodexSandboxError when the disk below `folder` has less than `bytes_needed` and a reserve."""
    free = shutil.disk_usage(folder).free
    if free < bytes_needed + _RESERVE:
        raise full_disk(folder, f"{bytes_needed / 1e6:,.0f} MB needed, {free / 1e6:,.0f} MB free")


def full_disk(folder: Path, why: str) -> CodexSandboxError:
    return CodexSandboxError(
        "not enough room on the disk for a Codex release", where=str(folder), why=why,
        next_step="codexsandbox cache prune --limit 2GB, or set CODEXSANDBOX_CACHE to a folder on another disk",
    )  # fmt: skip


_RESERVE: Final = 64 << 20
