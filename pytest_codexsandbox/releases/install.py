"""Install: makes a cache entry of a published archive: disk space, download, hash, unpack, one rename."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.releases.artefact import Artefact
from pytest_codexsandbox.releases.cache_entry import Entry, Origin
from pytest_codexsandbox.releases.cache_files import ensure_folder, remove
from pytest_codexsandbox.releases.disk_space import full_disk, room_for
from pytest_codexsandbox.releases.platform_tag import Platform
from pytest_codexsandbox.releases.store import Store
from pytest_codexsandbox.releases.unpack import BadArchive, Unpacked, unpack_tar, unpack_wheel
from pytest_codexsandbox.system import download
from pytest_codexsandbox.system.progress import Progress

TRIES: Final = 3
_GROWS: Final = 3.5  # an archive's unpacked size, at most, as a multiple of what is downloaded


def install(artefact: Artefact, store: Store, staging: Path, platform: Platform, progress: Progress) -> Entry:
    """Downloads and unpacks a release. Call it only inside `store.building`. A network that breaks is tried again;
    everything else is final."""
    for rest in range(TRIES - 1, -1, -1):
        place = staging / "package"
        remove(place)  # the remains of an earlier try
        ensure_folder(place)
        try:
            return _install(artefact, store, place, platform, progress)
        except download.NotReached as problem:
            if not rest:
                raise
            progress.say(f"{problem.what}; trying again")
    raise AssertionError("unreachable")


def _install(artefact: Artefact, store: Store, place: Path, platform: Platform, progress: Progress) -> Entry:
    with _full_disk_told(store.folder):
        unpacked = _unpacked(artefact, place, store.folder, platform, progress)
        origin = Origin(
            release=artefact.release,
            arch=platform.arch,
            source=artefact.source,
            url=download.without_secrets(artefact.url),
            integrity=str(artefact.expected),
        )
        return store.put(place, binary=unpacked.binary, files=unpacked.files, origin=origin)


def _unpacked(artefact: Artefact, place: Path, cache: Path, platform: Platform, progress: Progress) -> Unpacked:
    label = f"Codex {artefact.release} from {'PyPI' if artefact.source == 'pypi' else 'npm'}"
    broken: BadArchive | None = None
    result: Unpacked | None = None
    wheel = place.with_name(f"{place.name}.whl")
    with download.download(
        artefact.url, expected=artefact.expected, progress=progress, label=label, headers=artefact.headers
    ) as stream:
        room_for(int(stream.total * _GROWS), cache)
        if artefact.form == "wheel":
            _keep(stream, wheel)
        else:
            try:
                result = unpack_tar(stream, place, platform.triple)
            except BadArchive as problem:  # bytes that are not the announced ones explain it better: hash first
                broken = problem
    if artefact.form == "wheel":
        try:
            result = unpack_wheel(wheel, place, platform.triple)
        except BadArchive as problem:
            broken = problem
        wheel.unlink()
    if result is None:
        raise _placed(broken, artefact)
    return result


def _placed(problem: BadArchive | None, artefact: Artefact) -> BadArchive:
    what = problem or BadArchive("the archive is damaged")
    return BadArchive(what.what, where=download.without_secrets(artefact.url), why=what.why, next_step=what.next_step)


def _keep(stream: download.Download, path: Path) -> None:
    with path.open("wb") as file:
        while chunk := stream.read():
            file.write(chunk)


@contextmanager
def _full_disk_told(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        if problem.errno in (errno.ENOSPC, errno.EDQUOT):
            raise full_disk(folder, "it filled up while the release was unpacked") from problem
        raise CodexSandboxError(
            "the cache could not be written",
            where=str(folder),
            why=str(problem),
            next_step="set CODEXSANDBOX_CACHE to a folder that you may write to",
        ) from problem
