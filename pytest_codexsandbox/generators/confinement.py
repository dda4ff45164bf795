"""The walls around a generator, put up by bubblewrap: what it can see, write and reach. Pure but for looking.

A root of its own with the system's programs read-only in it, the private folders writable, and empty folders of ours
in the place of /tmp, /run, /var/tmp, /dev/shm and the user's home. Own user, process, network, IPC and host names, a
session without a terminal, no capabilities. Never through a Codex: it is what is measured with the result.
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

# Links where the system has merged them into /usr.
_SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/gnu", "/etc")
_PRIVATE: Final = ("/tmp", "/var/tmp", "/run", "/dev/shm")
_KERNEL: Final = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr")  # of /proc: root may write there
_UNSHARED: Final = ("user", "pid", "net", "ipc", "uts")
NEXT: Final = (
    "use a container (--codex-generator-in CELL) or say --codex-generator-unconfined (both are recorded and shown)"
)


class CannotConfine(Unavailable):
    """No generator runs: nobody knows what it would do to this machine."""


class Confinement(msgspec.Struct, frozen=True, kw_only=True):
    """By what generators are confined on this machine; `bwrap` is "" where the user has said that they are not."""

    bwrap: str = ""

    @property
    def by(self) -> str:
        """For the record: "" says that nothing confines."""
        return f"bubblewrap {self.bwrap}" if self.bwrap else ""

    def walls(self, stage: LocalDirs, readable: Sequence[str]) -> tuple[str, ...]:
        """The words that go before a program's. `readable`: what is shown read-only beside the system."""
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
    """PATH's, then the one beside an installed Codex."""
    found = [shutil.which("bwrap") or ""]
    beside = importlib.util.find_spec("codex_cli_bin")
    for folder in (beside.submodule_search_locations or ()) if beside else ():
        found.append(str(Path(folder) / "codex-resources" / "bwrap"))
    return tuple(dict.fromkeys(path for path in found if path and os.access(path, os.X_OK)))


def confinement(*, unconfined: bool = False, candidates: Sequence[str] | None = None) -> Confinement:
    """The first bubblewrap there is; whether it confines is not known before `proof.prove`."""
    if unconfined:
        return UNCONFINED
    found = bubblewraps() if candidates is None else tuple(candidates)
    if not sys.platform.startswith("linux") or not found:
        why = (
            "no bubblewrap: none on PATH, and none beside an installed Codex"
            if not found
            else f"this is {sys.platform}"
        )
        raise CannotConfine("cannot confine generators here", why=why, next_step=NEXT)
    return Confinement(bwrap=found[0])


def homes() -> tuple[str, ...]:
    """The user's real home folders: what the environment says, and what the system knows."""
    found = [os.environ.get("HOME", "")]
    try:
        found.append(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        pass
    return tuple(dict.fromkeys(home.rstrip("/") for home in found if home.startswith("/") and home.rstrip("/")))


def is_too_wide(path: str) -> bool:
    """Whether showing it would show what is nobody's tool: a home, what is above one, the machine's own folders."""
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
    """What not everybody may read is nobody's tool: passwords, keys. An owner could read it without any capability."""
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
    """Root is the owner of the kernel's settings wherever it is, and needs no capability to write them."""
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
