"""Process tree: finds processes in /proc, identifies them, and ends them with all that they started."""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Final, Iterable, NamedTuple  # noqa: UP035

MARK: Final = "AREA_SCOPE"  # in the environment of every command, and so of what it starts
_PR_SET_CHILD_SUBREAPER: Final = 36
_SIGKILL_BIT: Final = 1 << (signal.SIGKILL - 1)


class Process(NamedTuple):
    pid: int
    parent: int
    session: int
    state: str
    start: int
    name: str


def adopt_orphans() -> bool:
    """Makes this process adopt descendants whose parents die, wherever in the tree they are."""
    return bool(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def process(pid: int) -> Process | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    name, _, rest = text[text.index(b"(") + 1 :].rpartition(b")")
    fields = rest.split()
    return Process(pid, int(fields[1]), int(fields[3]), fields[0].decode(), int(fields[19]), name.decode("latin-1"))


def all_processes() -> list[Process]:
    names = os.listdir("/proc") if os.path.isdir("/proc/self") else []
    found = (process(int(name)) for name in names if name.isdigit())
    return [one for one in found if one is not None]


def children(pid: int) -> list[int]:
    """Returns the children of all threads of a process.

    The kernel keeps a list; on kernels that were built without it, this reads every process.
    """
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    found: list[int] = []
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found.extend(map(int, file.read().split()))
        except FileNotFoundError:
            if os.path.isdir(f"/proc/{pid}/task/{thread}"):
                return [one.pid for one in all_processes() if one.parent == pid]
        except OSError:
            continue
    return found


def tree(roots: Iterable[int]) -> list[int]:
    """Returns the roots and all their descendants, parents first."""
    found = list(dict.fromkeys(roots))
    known = set(found)
    for pid in found:
        for child in children(pid):
            if child not in known:
                known.add(child)
                found.append(child)
    return found


def mark_of(pid: int) -> str:
    """Returns the scope named in a process's variables; "" if it names none or cannot be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            words = file.read(1 << 20).split(b"\0")
    except OSError:
        return ""
    head = MARK.encode() + b"="
    return next((word[len(head) :].decode("latin-1") for word in words if word.startswith(head)), "")


def argv_of(pid: int) -> list[str]:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            text = file.read()
    except OSError:
        return []
    return [os.fsdecode(word) for word in text.split(b"\0")[:-1]]


def status_of(pid: int) -> dict[str, str]:
    try:
        with open(f"/proc/{pid}/status", encoding="latin-1") as file:
            return {name: rest.strip() for name, _, rest in (line.partition(":") for line in file)}
    except OSError:
        return {}


def is_busy_or_dying(pid: int) -> bool:
    """Checks whether a process is gone, runs, waits for the disk, is a zombie, or has a pending SIGKILL."""
    one = process(pid)
    if one is None or one.state not in "STtI":
        return True
    status = status_of(pid)
    pending = int(status.get("SigPnd", "0"), 16) | int(status.get("ShdPnd", "0"), 16)
    return bool(pending & _SIGKILL_BIT)


def is_alive(pid: int) -> bool:
    one = process(pid)
    return one is not None and one.state not in "ZX"


def describe(pid: int) -> str:
    one = process(pid)
    words = " ".join(argv_of(pid))[:200]
    return f"{one.name if one else '?'} (pid {pid}): {words or 'no command line'}"


def end(roots: Iterable[int]) -> list[int]:
    """Kills the roots and their descendants. Stops them first, so that none starts another meanwhile."""
    stopped: list[int] = []
    while True:
        fresh = [pid for pid in tree(roots) if pid not in stopped]
        if not fresh or len(stopped) > 10_000:
            break
        for pid in fresh:
            _send(pid, signal.SIGSTOP)
        stopped += fresh
    for pid in stopped:
        _send(pid, signal.SIGKILL)
    return stopped


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass
