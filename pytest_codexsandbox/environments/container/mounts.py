"""Mounts: what a container may read, that is the agent with its Python and the Codex binaries that it will call.

A folder of this machine is bound only where the engine was seen to read the very files of it; else its content is
sent, once, into a volume that is named by its digest.
"""

import hashlib
import io
import secrets
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.environments.container import codex_files, labels
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.errors import CodexSandboxError, HarnessError, Unavailable
from pytest_codexsandbox.system.locks import exclusive

SUBJECTS: Final = "/opt/tools/codex"
_NEAR: Final = "/opt/tools/near"
_COMPLETE: Final = ".codexsandbox-complete"


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    """A folder of this machine that appears at `inside`."""

    folder: str
    inside: str
    digest: str  # of all that is in it
    sample: str  # a file in it, which identifies it


Sample = tuple[int, int, int]
"""The file and its size. Its time is the last use."""


def of_subject(binary: str, digest: str, cache: Path) -> tuple[Mount, str]:
    """Returns the mount for a Codex and its neighbours, and the program's path inside."""
    folder, program = codex_files.place_of(binary, digest, cache)
    whole = codex_files.contents(binary, digest)
    inside = f"{SUBJECTS}/{whole[:16]}"
    return Mount(folder=str(folder), inside=inside, digest=whole, sample=program), f"{inside}/{program}"


class VisibilityCache:
    """Facts that this process has proved about engines, so that each environment need not prove them again.

    Holds the folders whose very files an engine reads, as long as the files are the same, and the filled volumes, as
    long as they exist. After an engine was gone, everything is proved again.
    """

    def __init__(self) -> None:
        self._near: dict[str, dict[Mount, tuple[Sample, bool]]] = {}
        self._filled: dict[tuple[str, str], str] = {}

    def forget(self, host: str) -> None:
        self._near.pop(host, None)
        self._filled = {key: made for key, made in self._filled.items() if key[0] != host}

    def near(self, host: str, supply: Mount) -> bool | None:
        """Returns whether the engine sees this folder; None if that is unknown or the folder has changed."""
        sample, near = self._near.get(host, {}).get(supply, (None, False))
        return near if sample is not None and sample == _sample(supply) else None

    def keep_near(self, host: str, supply: Mount, near: bool) -> None:
        self._near.setdefault(host, {})[supply] = (_sample(supply), near)

    def filled(self, host: str, volume: str, made: str) -> bool:
        """Checks whether the volume is filled. `made`: its creation time by the engine, which differs for a new
        volume.
        """
        return bool(made) and self._filled.get((host, volume)) == made

    def keep_filled(self, host: str, volume: str, made: str) -> None:
        self._filled[host, volume] = made


class MountPlanner:
    """Plans the mounts of one engine."""

    def __init__(self, engine: Engine, cache: Path, seen: VisibilityCache | None = None) -> None:
        self._engine, self._cache, self._known = engine, cache, seen or VisibilityCache()

    def mounts(self, supplies: tuple[Mount, ...], image: str) -> list[dict[str, Any]]:
        host = self._engine.host
        is_near = {supply: self._known.near(host, supply) for supply in supplies}
        if None in is_near.values():
            near = self._near(supplies, image)
            for supply in supplies:
                is_near[supply] = supply in near
                self._known.keep_near(host, supply, supply in near)
        return [_bind(supply) if is_near[supply] else self._sent(supply, image) for supply in supplies]

    def near(self, image: str) -> bool:
        """Checks whether the engine sees our cache."""
        with self._word() as (word, mount):
            return self._seen([], image, mount, word) is not None

    def _sent(self, supply: Mount, image: str) -> dict[str, Any]:
        return {"Type": "volume", "Source": self._volume(supply, image), "Target": supply.inside, "ReadOnly": True}

    # ---- does the engine see our files?
    def _near(self, supplies: tuple[Mount, ...], image: str) -> set[Mount]:
        """Returns the folders that the engine sees as this process does.

        A word that this process writes and reads back through the engine proves that the engine sees the cache. For
        other folders that proves nothing: the engine may see another file of the same name.
        """
        kept = [supply for supply in supplies if Path(supply.folder).is_relative_to(self._cache)]
        with self._word() as (word, mount):
            near = self._seen(kept, image, mount, word)
            if near is None:
                return set()
            for supply in supplies:
                if supply not in kept:
                    near |= self._seen([supply], image, mount, word) or set()
        return near

    @contextmanager
    def _word(self) -> Iterator[tuple[str, dict[str, Any]]]:
        folder = self._cache / "hands" / f"near-{secrets.token_hex(6)}"
        folder.mkdir(parents=True)
        word = secrets.token_hex(16)
        try:
            (folder / "word").write_text(word, encoding="ascii")
            yield word, {"Type": "bind", "Source": str(folder), "Target": _NEAR, "ReadOnly": True}
        finally:
            (folder / "word").unlink(missing_ok=True)
            folder.rmdir()

    def _seen(self, supplies: list[Mount], image: str, mount: dict[str, Any], word: str) -> set[Mount] | None:
        """Returns the folders that the engine sees; None if it cannot read our word, or knows no such folder."""
        try:
            with self._engine.helper(image, [mount, *map(_bind, supplies)]) as helper:
                if self._engine.read_file(helper, f"{_NEAR}/word", limit=4096) != word.encode():
                    return None
                return {one for one in supplies if self._is_the_same(helper, one)}
        except CodexSandboxError:
            return None  # the engine is on another machine

    def _is_the_same(self, helper: str, supply: Mount) -> bool:
        ours = (Path(supply.folder) / supply.sample).lstat()
        return self._engine.file_status(helper, f"{supply.inside}/{supply.sample}") == (
            ours.st_size,
            ours.st_mtime_ns // 10**9,
        )

    # ---- volumes
    def _volume(self, supply: Mount, image: str) -> str:
        name = f"codexsandbox-{hashlib.sha256(f'{supply.inside} {supply.digest}'.encode()).hexdigest()[:24]}"
        mount = {"Type": "volume", "Source": name, "Target": "/opt/tools/volume"}
        with self._engine.asked(f"create the volume {name}"):
            made = str(self._engine.api.create_volume(name, labels=labels.kept("supply")).get("CreatedAt", ""))
        if self._known.filled(self._engine.host, name, made):
            return name
        with self._engine.helper(image, [mount]) as helper:
            if not self._is_complete(helper):
                # A second fill would remove files for a moment while agents already run from the volume.
                here = hashlib.sha256(f"{self._engine.host} {name}".encode()).hexdigest()[:16]
                with exclusive(self._cache / "locks" / f"volume-{here}.lock", "fills a volume with the agent's files"):
                    if not self._is_complete(helper):
                        self._fill(helper, Path(supply.folder))
        self._known.keep_filled(self._engine.host, name, made)
        return name

    def _is_complete(self, helper: str) -> bool:
        try:
            return self._engine.read_file(helper, f"/opt/tools/volume/{_COMPLETE}", limit=4096) == b"complete"
        except Unavailable:
            return False

    def _fill(self, helper: str, folder: Path) -> None:
        """Fills a volume and adds the mark last, so that an incomplete volume is filled again."""
        for pack in (lambda archive: archive.add(folder, arcname="."), _mark):
            with self._engine.asked("accept the agent's files"):
                if not self._engine.api.put_archive(helper, "/opt/tools/volume", _packed(pack)):
                    raise HarnessError("the container engine did not accept the agent's files", where=str(folder))


def _sample(supply: Mount) -> Sample:
    there = (Path(supply.folder) / supply.sample).lstat()
    return there.st_dev, there.st_ino, there.st_size


def _bind(supply: Mount) -> dict[str, Any]:
    return {"Type": "bind", "Source": supply.folder, "Target": supply.inside, "ReadOnly": True}


def _mark(archive: tarfile.TarFile) -> None:
    member = tarfile.TarInfo(_COMPLETE)
    member.size, member.mode = len(b"complete"), 0o444
    archive.addfile(member, io.BytesIO(b"complete"))


def _packed(pack: Any) -> Iterator[bytes]:
    """Yields the tar, piece by piece, through an anonymous file: never whole in memory."""
    import tempfile

    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
            pack(archive)
        file.seek(0)
        while piece := file.read(1 << 20):
            yield piece
