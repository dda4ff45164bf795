"""Keyrings: the key that a distribution's archive is trusted by: this machine's own, or one known by its fingerprint.

Debian trusts Debian and Ubuntu trusts Ubuntu; for the other one a package is needed. If it is not installed, the
archive's own copy is used. Only keys whose fingerprints are in the data file are trusted from that copy.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from pytest_codexsandbox.environments.container.provision import image_request
from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.container import ImageSpec

FOLDER: Final = Path("/usr/share/keyrings")


class Lack(msgspec.Struct, frozen=True, kw_only=True):
    """A missing requirement: the reason, and what would help."""

    why: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.why} ({self.remedy})" if self.remedy else self.why


Run = Callable[[Command], CommandResult]
Fetch = Callable[[ImageSpec, Path], None]  # unpacks the keyring's package, unverified, as a tar at the path


def found(image: ImageSpec, cache: Path) -> Path | None:
    places = [FOLDER / f"{image.keyring}{end}" for end in (".gpg", ".pgp")] + [_own(image, cache)]
    return next((path for path in places if path.is_file()), None)


def lacking(image: ImageSpec, cache: Path) -> Lack | None:
    """Returns why the key is unavailable, without a try; None if it is present or can be tried."""
    if not image.keyring or found(image, cache):
        return None
    if image.signed_by and shutil.which("gpg"):
        return None
    return Lack(why="the key of its archive is missing", remedy=_remedy(image))


def have(
    image: ImageSpec, cache: Path, *, fetch: Fetch, run: Run, within: Path | None = None, home: Path | None = None
) -> Path | None:
    """Returns the keyring; None if the tool finds it by itself.

    `within`: where to work, on the cache's disk. `home`: an empty folder for gpg, with a short path, since the name of
    a socket has at most 107 bytes.
    """
    if not image.keyring:
        return None
    there = found(image, cache)
    if there is None:
        return _of_the_archive(image, cache, fetch, run, within, home)
    return None if there.parent == FOLDER else there


def _of_the_archive(
    image: ImageSpec, cache: Path, fetch: Fetch, run: Run, within: Path | None, home: Path | None
) -> Path:
    """Extracts the keyring from the archive's own package.

    Works in a folder of this very call: images that are built at once want the same key, in threads and processes.
    """
    target = _own(image, cache)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = within or target.parent
    with TemporaryDirectory(prefix=f"{target.name}.", dir=place, ignore_cleanup_errors=True) as folder:
        work = Path(folder)
        fetch(image, work / "package.tar")
        _unpack(image, work)
        _run(run, home or work, "--import", str(work / f"{image.keyring}.gpg"), image=image)
        _run(run, home or work, "--output", str(work / "trusted.gpg"), "--export", *image.signed_by, image=image)
        if not (work / "trusted.gpg").is_file():
            raise Unavailable(
                f"{image.name} cannot be bootstrapped",
                next_step=_remedy(image),
                why=f"the archive's own keyring has none of the keys {', '.join(image.signed_by)}",
            )
        (work / "trusted.gpg").replace(target)  # in one step: a second build sees a whole file
    return target


def _unpack(image: ImageSpec, work: Path) -> None:
    import tarfile

    inside = f"./usr/share/keyrings/{image.keyring}.gpg"
    try:
        with tarfile.open(work / "package.tar") as archive:
            file = archive.extractfile(inside)
            content = file.read(1 << 20) if file is not None else b""
    except (KeyError, OSError, tarfile.TarError) as problem:
        raise Unavailable(
            f"{image.name} cannot be bootstrapped",
            next_step=_remedy(image),
            why=f"the archive's own {image.keyring_package} has no {image.keyring}.gpg",
        ) from problem
    (work / f"{image.keyring}.gpg").write_bytes(content)


def _run(run: Run, home: Path, *words: str, image: ImageSpec) -> None:
    """Runs gpg with a home of its own, so that it reads and writes no keys of the user."""
    argv = ("gpg", "--homedir", str(home), "--batch", "--quiet", "--no-autostart", *words)
    done = run(Command(argv=argv, cwd="/", env={"PATH": os.environ.get("PATH", os.defpath)}, timeout=60))
    if done.ended != "exit" or done.exit:
        said = done.error or done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise Unavailable(f"{image.name} cannot be bootstrapped", why=f"gpg: {said}", next_step=_remedy(image))


def _own(image: ImageSpec, cache: Path) -> Path:
    return cache / "images" / "keyrings" / f"{image_request.word(image.keyring)}.gpg"


def _remedy(image: ImageSpec) -> str:
    return f"apt install {image.keyring_package}" if image.keyring_package else f"put {image.keyring}.gpg in {FOLDER}"
