"""Store: the cache of unpacked releases, addressed by content, found by (release, architecture).

Tools that write Codex's configuration are kept in the same way: their release is NAME@VERSION.

    entries/<sha256 of the manifest>/…    a package as its publisher laid it out, and entry.json
    releases/<release>~<arch>.json        which entry it is, and where it came from
    staging/                              what is being unpacked; never looked at by a reader
    locks/                                `<release>~<arch>.build` and `<entry>.use`; its time is the last use

An entry appears by one rename. A process that uses it holds a shared lock, which pruning respects; the kernel gives
the lock back when the process dies. No entry is ever half-written: a killed builder leaves only staging, which the
next one removes.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import msgspec

from pytest_codexsandbox.errors import InputError, os_errors_as
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.releases.cache_entry import Entry, Origin, Pointer
from pytest_codexsandbox.releases.cache_files import (
    PackageFile,
    ensure_folder,
    intact,
    remove,
    tree_digest,
    write_whole,
)
from pytest_codexsandbox.releases.locks import exclusive, hold, is_unused, use_lock
from pytest_codexsandbox.system import locks

BUILD_PATIENCE: Final = 1800.0  # seconds that a worker waits for the one that downloads
_FOLDERS: Final = ("entries", "releases", "staging", "locks")


class Store:
    """Cache below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def refuse_unreadable(self) -> None:
        """Raises InputError for a cache that cannot be read. Call it before listing all entries: such a cache is not
        empty."""
        next_step = "set CODEXSANDBOX_CACHE=DIR, or run as the owner of the cache"
        refused = os_errors_as(InputError, "the cache cannot be read", where=self.folder, next_step=next_step)
        with refused, suppress(FileNotFoundError):
            next((self.folder / "entries").iterdir(), None)

    def find(self, release: str, arch: str) -> Entry | None:
        """Returns the whole entry of a release. None if there is none, or a damaged one."""
        try:
            pointer = msgspec.json.decode(self._pointer(release, arch).read_bytes(), type=Pointer)
        except (OSError, msgspec.MsgspecError):
            return None
        entry = self._entry(pointer.entry)
        if entry is None or not intact(Path(entry.folder), entry.files):
            return None
        return msgspec.structs.replace(entry, origin=pointer.origin)

    def entries(self) -> tuple[Entry, ...]:
        """Returns every entry, the least recently used first."""
        try:
            names = sorted(path.name for path in (self.folder / "entries").iterdir())
        except OSError:
            return ()
        found = [entry for entry in map(self._entry, names) if entry is not None]
        return tuple(sorted(found, key=lambda entry: (self.last_used(entry), entry.id)))

    def names(self, entry: Entry) -> tuple[str, ...]:
        """Returns the releases that are this entry; a tool is called NAME@VERSION."""
        return tuple(sorted(unquote(p.name.removesuffix(".json").partition("~")[0]) for p in self._pointers(entry)))

    def releases(self) -> tuple[str, ...]:
        """Returns the releases of Codex that are in the cache."""
        names = {name for entry in self.entries() for name in self.names(entry)}
        return tuple(sorted(name for name in names if "@" not in name))

    def last_used(self, entry: Entry) -> float:
        try:
            return use_lock(entry).stat().st_mtime
        except OSError:
            return 0.0

    @contextmanager
    def building(
        self, release: str, arch: str, *, what: str = "", say: Callable[[str], None] = lambda line: None
    ) -> Iterator[Path]:
        """Lets one process at a time build a release. Yields a folder that is removed afterwards unless `put` took
        it."""
        for name in _FOLDERS:
            ensure_folder(self.folder / name)
        name = f"{release}~{arch}"
        staging = self.folder / "staging" / f"{name}.{os.getpid()}"
        lock = self.folder / "locks" / f"{name}.build"
        with locks.exclusive(lock, f"gets {what or f'Codex {release}'}", patience=BUILD_PATIENCE, notify=say):
            try:
                for orphan in (self.folder / "staging").glob(f"{name}.*"):
                    remove(orphan)
                ensure_folder(staging)
                yield staging
            finally:
                remove(staging)

    def put(self, staging: Path, *, binary: str, files: tuple[PackageFile, ...], origin: Origin) -> Entry:
        """Makes an entry of what was unpacked below `staging`, held by this process. Call it only inside `building`."""
        digests = {file.path: file.sha256 for file in files}
        target = self.folder / "entries" / tree_digest(files)
        entry = Entry(
            id=target.name, folder=str(target), binary=binary, digest=digests[binary], files=files, origin=origin
        )
        hold(entry)  # first: the entry may exist already, and be about to be pruned
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
        return entry

    def prune(self, limit: int, *, dry_run: bool = False) -> tuple[Entry, ...]:
        """Removes the least recently used entries that no process uses, until the rest is no larger than `limit` bytes.
        `dry_run`: only returns which these would be."""
        kept = self.entries()
        size = sum(entry.size for entry in kept)
        gone: list[Entry] = []
        for entry in kept:
            if size <= limit:
                break
            if _may_go(entry) if dry_run else self._drop(entry):
                size -= entry.size
                gone.append(entry)
        for orphan in () if dry_run else self.orphans():
            remove(orphan)
        return tuple(gone)

    def orphans(self) -> list[Path]:
        """Returns what killed builders left. A builder at work holds its lock."""
        staged = sorted((self.folder / "staging").glob("*"))
        building = {one: self.folder / "locks" / f"{one.name.rpartition('.')[0]}.build" for one in staged}
        return [one for one, lock in building.items() if not locks.is_held(lock, if_unreadable=True)]

    def discard(self, entry: Entry) -> None:
        """Removes an entry. A damaged one goes even while it is in use, because no process can use it rightly. Call it
        only inside `building`, or with the entry's exclusive lock."""
        for pointer in self._pointers(entry):
            pointer.unlink(missing_ok=True)
        if Path(entry.folder).exists():
            remove(Path(entry.folder), by_way_of=self.folder / "staging")

    def _drop(self, entry: Entry) -> bool:
        with exclusive(entry) as ours:
            try:
                if ours:
                    self.discard(entry)
            except OSError:  # another user's cache: this user may not remove it
                return False
            return ours

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


def _may_go(entry: Entry) -> bool:
    folder = Path(entry.folder)
    return is_unused(entry) and os.access(folder.parent, os.W_OK) and os.access(folder, os.W_OK)


def entries(cache: Path | None = None) -> tuple[Entry, ...]:
    return Store(cache or cache_folder()).entries()


def prune(limit: int, cache: Path | None = None) -> tuple[Entry, ...]:
    return Store(cache or cache_folder()).prune(limit)
