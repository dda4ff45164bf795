"""Folders of environments: where they may lie, whose they are, and what runs left behind."""

import os
import platform
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec

from pytest_codexsandbox.environments.host_facts import boot_id, start_time
from pytest_codexsandbox.errors import HarnessError, InputError, os_errors_as
from pytest_codexsandbox.guest import process_tree, safe_paths
from pytest_codexsandbox.guest.worlds import new_word

OWNER: Final = "owner.json"
RUN: Final = "run.json"  # the same, of the folder that holds all environments of a run
SHARED: Final = (Path("/tmp"), Path("/dev/shm"))
_MOUNTS: Final = Path("/proc/self/mountinfo")
_opened: dict[str, Path] = {}  # by word: every environment that this process has opened


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """The process that uses a folder. Written into the folder, so that a later run knows whether that process still
    lives.
    """

    word: str
    pid: int
    start: int  # of that process: the number alone may be another's by now
    boot: str
    node: str
    pids: str  # the namespace that the number is of

    @classmethod
    def me(cls, word: str) -> "Owner":
        pid = os.getpid()
        return cls(
            word=word, pid=pid, start=start_time(pid), boot=boot_id(), node=platform.node(), pids=_pid_namespace()
        )

    @property
    def process(self) -> tuple[int, int, str, str]:
        """Returns the identity of the process, unique on every machine."""
        return self.pid, self.start, self.boot, self.pids

    @property
    def is_me(self) -> bool:
        return self.process == Owner.me("").process

    @property
    def state(self) -> Literal["lives", "dead", "unknown"]:
        """Returns whether the owner lives. `unknown`: of another machine, container or user, whose processes are
        invisible here.
        """
        if self.boot != boot_id():
            return "dead" if self.node == platform.node() else "unknown"
        if self.pids != _pid_namespace():
            return "unknown"
        began = start_time(self.pid)
        if self.start and began == self.start:
            return "lives"
        return "dead" if began or _sees_others() else "unknown"


def _sees_others() -> bool:
    """Checks that /proc shows processes of other users: mounted with hidepid it does not show the first one."""
    return start_time(1) > 0


def prepare(folder: Path, word: str) -> Path:
    """Creates the folder of an environment, closes it to others, and marks it as ours. Returns its real path."""
    real = Path(os.path.realpath(folder))
    _refuse_where_codex_writes(real)
    next_step = "set CODEXSANDBOX_CACHE to a folder that you can write, outside /tmp"
    with os_errors_as(HarnessError, f"{real} cannot be used for an environment", next_step=next_step):
        real.mkdir(parents=True, exist_ok=True)
        real.chmod(0o700)
        (real / OWNER).write_bytes(msgspec.json.encode(Owner.me(word)))
    _opened[word] = real
    return real


def claim(run: Path) -> None:
    """Records the owner of a run's folder, for files in it that belong to no environment."""
    try:
        run.mkdir(mode=0o700, parents=True, exist_ok=True)
        (run / RUN).write_bytes(msgspec.json.encode(Owner.me(new_word())))
    except OSError:  # the next environment that opens in the folder reports the error
        pass


def take(folder: Path) -> str:
    """Records the owner of an existing folder without an environment. Returns the word that marks its processes."""
    owner = Owner.me(new_word())
    (folder / OWNER).write_bytes(msgspec.json.encode(owner))
    return owner.word


def named_for(word: str, what: str) -> str:
    """Returns a name for /tmp or /dev/shm that contains the word, so that `sweep` finds and removes it."""
    return f"tmp-{word}w{what}"


def give_back(folder: Path) -> list[str]:
    """Reverses `take`, also for a folder that a killed run took. Returns what could not be removed, and why."""
    try:
        word = msgspec.json.decode((folder / OWNER).read_bytes(), type=Owner).word
    except (OSError, msgspec.MsgspecError):
        return remove_owned(folder)
    return remove(folder, word)


def _refuse_where_codex_writes(folder: Path) -> None:
    home = os.environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 (pathlib's own fails where there is none)
    for top in (*SHARED, Path(home, ".codex"), *_named("CODEX_HOME")):
        real = Path(os.path.realpath(top))
        if folder == real or real in folder.parents:
            raise InputError(
                f"{folder} is below {top}",
                why="Codex may write there under every writable policy, or keeps its own files there: "
                "a measurement there proves nothing",
                next_step="set CODEXSANDBOX_CACHE to your own folder elsewhere",
            )


def _named(variable: str) -> Iterator[Path]:
    if os.environ.get(variable):
        yield Path(os.environ[variable])


def _pid_namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def left_in_shared(word: str) -> list[Path]:
    """Returns the paths in /tmp and /dev/shm that are named for an environment."""
    found = []
    for top in SHARED:
        try:
            found += [path for path in top.iterdir() if path.name.startswith(named_for(word, ""))]
        except OSError:
            continue
    return sorted(found)


def marked(word: str) -> list[int]:
    """Returns the processes that carry the mark of this environment's scopes."""
    pids = [one.pid for one in process_tree.all_processes()]
    return [pid for pid in pids if process_tree.mark_of(pid).startswith(f"{word}.") and process_tree.is_alive(pid)]


def end_marked(word: str) -> list[int]:
    """Kills the marked processes, which a killed agent could not end itself. Returns their numbers."""
    ended: list[int] = []
    for _ in range(200):
        found = marked(word)
        if not found:
            break
        ended += [pid for pid in found if pid not in ended]
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
        time.sleep(0.01)
    return ended


def remove(folder: Path, word: str) -> list[str]:
    """Removes the folder of an environment and the paths named for it. Returns what could not be removed, and why."""
    return remove_owned(folder) + [one for path in left_in_shared(word) for one in _removed(path)]


def remove_owned(folder: Path) -> list[str]:
    """Removes a folder, its owner file last, so that `sweep` finds again what could not be removed.

    Removes nothing while a file system is mounted below: its files may be the user's.
    """
    return mounted_below(folder) or _removed(folder, but=(OWNER, RUN)) or _removed(folder)


def mounted_below(folder: Path) -> list[str]:
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError as problem:
        return (
            [f"cannot read which file systems are mounted below: {problem.strerror}"] if sys.platform == "linux" else []
        )
    real = Path(os.path.realpath(folder))
    places = (re.sub(r"\\(\d{3})", lambda found: chr(int(found[1], 8)), line.split(" ")[4]) for line in lines)
    return [f"{place} is mounted" for place in places if Path(place).is_relative_to(real)]


def _removed(path: Path, *, but: tuple[str, ...] = ()) -> list[str]:
    try:
        here = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return []
    try:
        return (
            safe_paths.empty(path.name, here, lambda name: name in but) if but else safe_paths.remove(path.name, here)
        )
    finally:
        os.close(here)


def audit() -> tuple[str, ...]:
    """Returns the leftovers of environments that this process opened: processes, folders, names in shared folders."""
    leaks: list[str] = []
    for word, folder in _opened.items():
        leaks += [f"process {process_tree.describe(pid)}" for pid in marked(word)]
        leaks += [f"folder {folder}"] if folder.exists() and not _is_open(word) else []
        leaks += [f"file {path}" for path in left_in_shared(word) if not _is_open(word)]
    return tuple(leaks)


_running: set[str] = set()


def _is_open(word: str) -> bool:
    return word in _running


def now_open(word: str) -> None:
    _running.add(word)


def now_closed(word: str) -> None:
    _running.discard(word)
