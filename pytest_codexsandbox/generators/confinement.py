"""Confinement: the bubblewrap command line that limits what a generator can see, write and reach. It only reads the
file system.

The generator gets a root of its own. The system's programs are read-only in it, and the private folders are writable.
Empty private folders replace /tmp, /run, /var/tmp, /dev/shm and the user's home. User, process, network, IPC and host
names are new; the session has no terminal and no capabilities. Codex's own sandbox is never used for this: the result
of the generator is measured with it.
"""

import importlib.util
import os
import pwd
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.generators.local_dirs import LocalDirs

# On systems with a merged /usr, some of these are links into it.
_SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/gnu", "/etc")
_PRIVATE: Final = ("/tmp", "/var/tmp", "/run", "/dev/shm")
_KERNEL: Final = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr")  # in /proc: root may write there
_UNSHARED: Final = ("user", "pid", "net", "ipc", "uts")
NEXT: Final = (
    "use a container (--codex-generator-in CELL) or pass --codex-generator-unconfined (both are recorded and shown)"
)


class CannotConfine(Unavailable):
    """Raised if generators cannot be confined. Then no generator runs, because it could change anything on this
    machine."""


class Confinement(msgspec.Struct, frozen=True, kw_only=True):
    """Confines generators on this machine. `bwrap` is "" if the user requested no confinement."""

    bwrap: str = ""

    @property
    def by(self) -> str:
        """Returns the name for the record; "" if nothing confines the generators."""
        return f"bubblewrap {self.bwrap}" if self.bwrap else ""

    def walls(self, stage: LocalDirs, readable: Sequence[str]) -> tuple[str, ...]:
        """Returns the words that precede a program's own. `readable`: paths to show read-only besides the system's."""
        if not self.bwrap:
            return ()
        return (
            self.bwrap,
            "--new-session",
            "--as-pid-1",
            "--cap-drop",
            "ALL",
            "--hostname",
            "codexsandbox",
            *(f"--unshare-{name}" for name in _UNSHARED),
            "--unshare-cgroup-try",
            *_system(),
            *_processes(),
            "--dev",
            "/dev",
            *_emptied(stage),
            "--symlink",
            "../run",
            "/var/run",
            *_shown(readable),
            *_stage(stage),
            "--remount-ro",
            "/dev",
            "--remount-ro",
            "/",
            "--chdir",
            "/",
            "--",
        )


UNCONFINED: Final = Confinement()


def bubblewraps() -> tuple[str, ...]:
    """Returns the candidates in order: the bubblewrap on PATH, then the one that an installed Codex brings."""
    found = [shutil.which("bwrap") or ""]
    beside = importlib.util.find_spec("codex_cli_bin")
    for folder in (beside.submodule_search_locations or ()) if beside else ():
        found.append(str(Path(folder) / "codex-resources" / "bwrap"))
    return tuple(dict.fromkeys(path for path in found if path and os.access(path, os.X_OK)))


def confinement(*, unconfined: bool = False, candidates: Sequence[str] | None = None) -> Confinement:
    """Returns a confinement by the first bubblewrap found. Only `confinement_proof.prove` shows whether it confines."""
    if unconfined:
        return UNCONFINED
    found = bubblewraps() if candidates is None else tuple(candidates)
    if not sys.platform.startswith("linux") or not found:
        why = (
            "no bubblewrap: none on PATH, and none next to an installed Codex"
            if not found
            else f"this is {sys.platform}"
        )
        raise CannotConfine("cannot confine generators here", why=why, next_step=NEXT)
    return Confinement(bwrap=found[0])


def homes() -> tuple[str, ...]:
    """Returns the user's real home folders: from HOME and from the password database."""
    found = [os.environ.get("HOME", "")]
    try:
        found.append(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        pass
    return tuple(dict.fromkeys(home.rstrip("/") for home in found if home.startswith("/") and home.rstrip("/")))


def is_too_wide(path: str) -> bool:
    """Checks whether showing a path would show more than a tool: a home, a parent of one, or a folder of the
    machine."""
    real = os.path.realpath(path)
    named = (*homes(), *_PRIVATE, "/home", "/var", "/etc", "/dev", "/proc", "/sys", "/opt", "/srv", "/mnt", "/media")
    return any(one == real or one.startswith(f"{real.rstrip('/')}/") for one in map(os.path.realpath, named))


def is_of_the_system(path: str) -> bool:
    return any(path == top or path.startswith(f"{top}/") for top in _SYSTEM if top != "/etc")


# ---- what is seen
def _system() -> Iterator[str]:
    for top in _SYSTEM:
        if Path(top).is_symlink():
            yield from ("--symlink", str(Path(top).readlink()), top)
        elif Path(top).is_dir():
            yield from ("--ro-bind", top, top)
    for secret, is_folder in _closed_to_others(Path("/etc")):
        yield from ("--tmpfs", secret) if is_folder else ("--ro-bind", "/dev/null", secret)


def _closed_to_others(folder: Path) -> Iterator[tuple[str, bool]]:
    """Yields the entries below a folder that other users may not read, such as passwords and keys. No tool needs them,
    and their owner could read them without any capability."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_symlink():
            continue
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            if mode & 0o005 != 0o005:
                yield entry.path, True
            else:
                yield from _closed_to_others(Path(entry.path))
        elif not mode & 0o004:
            yield entry.path, False


def _processes() -> Iterator[str]:
    """Mounts /proc with the kernel's settings read-only. Root owns these files and needs no capability to write
    them."""
    yield from ("--proc", "/proc")
    for name in _KERNEL:
        if Path(f"/proc/{name}").exists():
            yield from ("--ro-bind", f"/proc/{name}", f"/proc/{name}")


def _emptied(stage: LocalDirs) -> Iterator[str]:
    for path in (*_PRIVATE, *homes()):
        yield from ("--bind", stage.private(path), path)


def _shown(readable: Iterable[str]) -> Iterator[str]:
    for path in readable:
        yield from ("--ro-bind", path, path)


def _stage(stage: LocalDirs) -> Iterator[str]:
    if not stage.is_elsewhere:
        yield from ("--bind", str(stage.root), str(stage.root))
        return
    yield from ("--bind", stage.own, stage.own)
    for name, path in sorted(stage.inside.items(), key=lambda item: len(item[1])):
        yield from ("--bind", stage.folders[name], path)
