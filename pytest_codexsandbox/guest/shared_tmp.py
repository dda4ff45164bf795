"""Shared folders: /tmp and /dev/shm, which every program of a machine uses.

The agent gets a private /tmp if it may create a mount namespace without a user namespace. Otherwise runs take turns by
a lock on the folder itself. All runs that share the folder meet at that lock, and no others, whatever their settings.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import stat
import threading
import time
from collections.abc import Callable, Iterable
from typing import Final

from pytest_codexsandbox.guest import process_tree, safe_paths
from pytest_codexsandbox.guest.event_loop import READ, Loop, Timer

TMP: Final = "/tmp"
SHM: Final = "/dev/shm"
_CLONE_NEWNS: Final = 0x00020000
_MS_BIND: Final = 4096
_MS_REC: Final = 16384
_MS_PRIVATE: Final = 1 << 18
_MOUNT_POINTS: Final = frozenset({".git", ".agents", ".codex", ".aws"})  # made by Codex in a writable folder
_TELL_AFTER: Final = 1.0  # seconds of waiting for one's turn: a call of the other run is mostly shorter
_TELL_AGAIN: Final = 60.0
_REGISTER: Final = re.compile(r"codex-daemon-\d+|codex-bwrap-synthetic-mount-targets(-\d+)?")


def is_mount_point(name: str) -> bool:
    return name in _MOUNT_POINTS


def is_register(name: str) -> bool:
    """Checks whether a name is, or is below, a folder that Codex keeps in a temporary folder for all its calls."""
    return _REGISTER.fullmatch(name.split("/")[0]) is not None


def is_of_codex(name: str) -> bool:
    return is_mount_point(name) or is_register(name)


class OwnTmp:
    """A /tmp that only this agent and its children see."""

    def __init__(self, host: int) -> None:
        self._host = host  # a descriptor of the machine's /tmp, below the private one

    @staticmethod
    def make() -> OwnTmp | None:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(_CLONE_NEWNS):
            return None
        if libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None):
            return None
        host = os.open(TMP, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        if libc.mount(b"tmpfs", TMP.encode(), b"tmpfs", 0, b"mode=1777"):
            os.close(host)
            return None
        return OwnTmp(host)

    def show(self, path: str) -> None:
        """Makes a program in the machine's /tmp visible in the private one too."""
        for one in {path, os.path.realpath(path)}:
            name = one[len(TMP) + 1 :].split("/")[0] if safe_paths.is_below(one, TMP) else ""
            if name and not os.path.lexists(os.path.join(TMP, name)):
                self._bind(name)

    def _bind(self, name: str) -> None:
        try:
            status = os.stat(name, dir_fd=self._host)
        except OSError:
            return
        target = os.path.join(TMP, name)
        if stat.S_ISDIR(status.st_mode):
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
        source = f"/proc/self/fd/{self._host}/{name}"
        ctypes.CDLL(None).mount(source.encode(), target.encode(), None, _MS_BIND, None)


class SharedTmpLock:
    """Lock for the turn to call Codex in a shared /tmp, held as long as at least one command of this agent runs."""

    def __init__(self, loop: Loop, *, longest: float) -> None:
        self._loop, self._longest = loop, longest
        self._fd = os.open(TMP, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._holders = 0
        self._held = self._asking = False
        self._told = ("", 0.0)
        self._waiting: list[tuple[Callable[[str], None], tuple[Timer, Timer]]] = []

    def take(self, go: Callable[[str], None], tell: Callable[[str], None] = lambda _: None) -> None:
        """Calls `go("")` when the lock is held, or `go(why)` after the time limit; calls `tell(who)` if that takes
        long.
        """
        self._holders += 1
        if self._held:
            go("")
            return
        telling = self._loop.after(_TELL_AFTER, lambda: self._tell(tell))
        self._waiting.append((go, (telling, self._loop.after(self._longest, lambda: self._too_late(go)))))
        if self._asking:
            return
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._ask()
        else:
            self._got()

    def give_back(self) -> None:
        self._holders -= 1
        if self._holders == 0 and self._held:
            self._held = False
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def _ask(self) -> None:
        """Waits for the lock in a thread that sleeps in the kernel. A process that only polls may never get the
        lock.
        """
        self._asking = True
        reading, writing = os.pipe()
        fd = os.dup(self._fd)  # the same lock, by a number that only the thread uses

        def wait() -> None:
            fcntl.flock(fd, fcntl.LOCK_EX)
            os.write(writing, b"!")

        def arrived() -> None:
            self._loop.forget(reading)
            for one in (reading, writing, fd):
                os.close(one)
            self._asking = False
            if self._waiting:
                self._got()
            else:
                fcntl.flock(self._fd, fcntl.LOCK_UN)

        self._loop.watch(reading, READ, arrived)
        threading.Thread(target=wait, daemon=True).start()

    def _got(self) -> None:
        self._held = True
        waiting, self._waiting = self._waiting, []
        for go, timers in waiting:
            for timer in timers:
                timer.cancel()
            go("")

    def _tell(self, tell: Callable[[str], None]) -> None:
        """Reports a wait at most from time to time, since many calls may wait for the same run."""
        text = f"waiting for another run that shares {TMP}{_named(holder(TMP))}, up to {self._longest:.0f} s"
        now = time.monotonic()
        if text != self._told[0] or now - self._told[1] >= _TELL_AGAIN:
            self._told = (text, now)
            tell(text)

    def _too_late(self, go: Callable[[str], None]) -> None:
        """Refuses a call after the time limit. The thread waits on, and its lock serves the next call."""
        for _, timers in (one for one in self._waiting if one[0] is go):
            timers[0].cancel()
        self._waiting = [one for one in self._waiting if one[0] is not go]
        go(
            f"waited {self._longest:.0f} s for {TMP}, which another run of codexsandbox on this machine"
            f"{_named(holder(TMP))} holds: calls of Codex that share it disturb each other. "
            "Wait for the other run, or stop it"
        )


def holder(folder: str) -> int:
    """Returns the run that holds the lock on a folder; 0 if the kernel does not show it (one in another container)."""
    status = os.stat(folder)
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    try:
        with open("/proc/locks", encoding="ascii") as file:
            locks = [line.split() for line in file]
    except OSError:
        return 0
    pids = [int(words[4]) for words in locks if words[1:2] == ["FLOCK"] and words[5:6] == [place]]
    return _run_of(pids[0]) if pids and pids[0] > 0 else 0


def _run_of(pid: int) -> int:
    """Returns the process that a person started: an agent's runner, the pytest of an xdist worker."""
    for mark in ("/guest/agent.py", "sys.stdin.readline()"):
        one = process_tree.process(pid)
        if one is not None and one.parent > 1 and any(mark in word for word in process_tree.argv_of(pid)):
            pid = one.parent
    return pid


def _named(pid: int) -> str:
    return f" (pid {pid})" if pid else ""


class CodexNames:
    """Names that Codex leaves in a shared folder. After a call, those that are new, owned by this user and empty are
    removed.
    """

    def __init__(self, folders: list[str], *, before: Iterable[str] | None = None) -> None:
        self._folders = folders
        self.removed: list[str] = []
        self._before = self._now() if before is None else set(before)

    def remember(self) -> None:
        self._before = self._now()

    def clean(self) -> None:
        for path in sorted(self._now() - self._before):
            try:
                if os.lstat(path).st_uid == os.getuid() and _is_hollow(path) and _remove(path):
                    self.removed.append(path)
            except OSError:  # another process removed it meanwhile
                continue

    def _now(self) -> set[str]:
        found: set[str] = set()
        for folder in self._folders:
            try:
                found.update(os.path.join(folder, name) for name in os.listdir(folder) if is_of_codex(name))
            except OSError:
                continue
        return found


def _remove(path: str) -> bool:
    folder, name = os.path.split(path)
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return not safe_paths.remove(name, here)
    finally:
        os.close(here)


def _is_hollow(path: str) -> bool:
    """Checks whether a path holds nothing but folders and empty files, so that its removal loses no work and no
    socket.
    """
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        return _is_empty_file(path)
    return all(
        _is_empty_file(os.path.join(folder, name))
        for folder, folders, files in os.walk(path)
        for name in (*files, *(one for one in folders if os.path.islink(os.path.join(folder, one))))
    )


def _is_empty_file(path: str) -> bool:
    status = os.lstat(path)
    return stat.S_ISREG(status.st_mode) and status.st_size == 0
