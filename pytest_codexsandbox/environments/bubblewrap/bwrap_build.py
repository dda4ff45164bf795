"""Bubblewrap build: links upstream's sources statically into one program that runs in any image, with any libc."""

import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO, Final

from pytest_codexsandbox.errors import HarnessError, Unavailable
from pytest_codexsandbox.model.command import Command, CommandResult

Run = Callable[[Command], CommandResult]
POOL: Final = "pool/main/b/bubblewrap/bubblewrap_{version}.orig.tar.xz"
SHAPE: Final = "1"  # of what is built how; another one is built anew
_PATIENCE: Final = 120.0
_LARGEST: Final = 1 << 20  # of one source file
NEEDED: Final = "Debian, Ubuntu: apt install gcc libc6-dev libcap-dev; or take bubblewrap 0.11.0-pypi, which is built"


def compiler() -> str:
    """Returns the path of a C compiler; "" if there is none."""
    return shutil.which("gcc") or shutil.which("cc") or ""


def build(tarball: IO[bytes], version: str, folder: Path, *, run: Run) -> Path:
    """Builds the program in `folder`, with the sources beside it. Returns its path."""
    with_what = compiler()
    if not with_what:
        raise Unavailable(f"bubblewrap {version} cannot be built here: there is no C compiler", next_step=NEEDED)
    names = _unpack(tarball, folder)
    # What upstream's own build would settle: its defaults, so neither SELinux nor anything that is deprecated.
    (folder / "config.h").write_text(f'#define PACKAGE_STRING "bubblewrap {version}"\n', encoding="ascii")
    flags = ("-O2", "-static", "-D_GNU_SOURCE", "-I.", "-o", "bwrap")
    compiled = run(_command((with_what, *flags, *names, "-lcap"), folder, "building bubblewrap"))
    if compiled.ended != "exit" or compiled.exit:
        raise _not_built(version, compiled)
    program = folder / "bwrap"
    said = run(_command((str(program), "--version"), folder, "the version of what was built"))
    if said.stdout.decode(errors="replace").strip() != f"bubblewrap {version}":
        raise HarnessError(
            f"the built program does not report version {version} of bubblewrap",
            where=str(program),
            why=(said.error or (said.stdout + said.stderr).decode(errors="replace")).strip()[:300],
        )
    return program


def _unpack(tarball: IO[bytes], folder: Path) -> tuple[str, ...]:
    """Unpacks the .c and .h files at the archive's top by their bare names. Returns the names of the .c files."""
    with tarfile.open(fileobj=tarball, mode="r|xz") as archive:
        for member in archive:
            name = PurePosixPath(member.name).name
            top = len(PurePosixPath(member.name).parts) == 2
            if not top or not member.isfile() or not name.endswith((".c", ".h")) or member.size > _LARGEST:
                continue
            source = archive.extractfile(member)
            if source is not None:
                (folder / name).write_bytes(source.read())
    names = tuple(sorted(path.name for path in folder.glob("*.c")))
    if "bubblewrap.c" not in names:
        raise HarnessError(
            "the archive does not hold the source of bubblewrap", why=f"found: {', '.join(names) or 'no C source'}"
        )
    return names


def _not_built(version: str, done: CommandResult) -> Unavailable:
    said = done.error or done.stderr.decode(errors="replace")
    telling = [line for line in said.splitlines() if "error" in line or "cannot find" in line] or said.splitlines()
    missing = "the headers of libcap, or its static library, are missing: " if "cap" in "".join(telling[:1]) else ""
    return Unavailable(
        f"bubblewrap {version} cannot be built here", why=missing + "; ".join(telling[:2])[:400], next_step=NEEDED
    )


def _command(argv: tuple[str, ...], folder: Path, why: str) -> Command:
    env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TMPDIR": str(folder)}
    return Command(argv=argv, cwd=str(folder), env=env, timeout=_PATIENCE, why=why)
