"""Reads a waiting probe from outside: its namespaces, filters, capabilities, and who stands between it and us."""

from __future__ import annotations

import hashlib
import os
from typing import Any, Final

from pytest_codexsandbox.guest import process_tree

NAMESPACES: Final = ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")
SIGNAL_WANTED: Final = b'"go": "signal"'  # of guest/probe.py
_LONGEST_LINE: Final = 4096
_LARGEST_HASHED: Final = 64 * 1024 * 1024
_hashed: dict[tuple[int, int, int, int], str] = {}


class InspectorSocket:
    """Watches a command's stdout for the probe's ready line, however the kernel splits it."""

    def __init__(self, nonce: str) -> None:
        self._words = b"\x1ecx:" + nonce.encode() + b':{"ready"'
        self._tail = b""
        self.wants_signal = False  # the probe cannot read the line `go`

    def hears(self, data: bytes) -> bool:
        """Adds `data` and checks whether the probe's `ready` line is complete now."""
        text = self._tail + data
        at = text.find(self._words)
        if at < 0:
            self._tail = text[-len(self._words) :]
            return False
        line, end, _ = text[at:].partition(b"\n")
        self._tail = line[:_LONGEST_LINE]
        self.wants_signal = SIGNAL_WANTED in line
        return bool(end)


def find(roots: list[int], argv: list[str]) -> int:
    """Returns the newest of the deepest processes with exactly this argv; 0 if there is none."""
    found = [pid for pid in process_tree.tree(roots) if process_tree.argv_of(pid) == argv]
    return found[-1] if found else 0


def read(pid: int, *, top: int, pipe: tuple[int, int]) -> dict[str, Any]:
    """Returns a Reading, as JSON. `pipe`: device and inode of the stdout that the agent gave to the command, or of its
    channel.
    """
    there, here = process_tree.status_of(pid), process_tree.status_of(os.getpid())
    return {
        "pid": pid,
        "namespaces": namespaces(pid),
        "seccomp": int(there.get("Seccomp", "-1")),
        "filters": int(there.get("Seccomp_filters", "-1")),
        "no_new_privs": int(there.get("NoNewPrivs", "-1")),
        "cap_eff": there.get("CapEff", ""),
        "cap_bnd": there.get("CapBnd", ""),
        "uid_map": _text(f"/proc/{pid}/uid_map"),
        "stdout_is_ours": _identity(f"/proc/{pid}/fd/1") == pipe,
        "chain": [_link(one) for one in _ancestors(pid, top)],
        "hand_namespaces": namespaces(os.getpid()),
        "hand_seccomp": int(here.get("Seccomp", "-1")),
        "hand_filters": int(here.get("Seccomp_filters", "-1")),
        "hand_no_new_privs": int(here.get("NoNewPrivs", "-1")),
        "hand_cap_eff": here.get("CapEff", ""),
    }


def namespaces(pid: int) -> dict[str, str]:
    found = {}
    for name in NAMESPACES:
        try:
            found[name] = os.readlink(f"/proc/{pid}/ns/{name}")
        except OSError:
            continue
    return found


def _ancestors(pid: int, top: int) -> list[process_tree.Process]:
    """Returns the processes from the command's own down to the parent of `pid`."""
    chain: list[process_tree.Process] = []
    one = process_tree.process(pid)
    while one is not None and one.pid != top and one.parent not in (0, 1, os.getpid()):
        one = process_tree.process(one.parent)
        if one is not None:
            chain.insert(0, one)
    return chain


def _link(one: process_tree.Process) -> dict[str, Any]:
    path = f"/proc/{one.pid}/exe"
    try:
        exe, status = os.readlink(path), os.stat(path)
    except OSError:
        return {"pid": one.pid, "exe": "", "name": one.name}
    return {
        "pid": one.pid,
        "exe": exe,
        "name": one.name,
        "sha256": _digest(path, status),
        "device": status.st_dev,
        "inode": status.st_ino,
    }


def _digest(path: str, status: os.stat_result) -> str:
    if status.st_size > _LARGEST_HASHED:
        return ""
    key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    if key not in _hashed:
        try:
            with open(path, "rb") as file:
                _hashed[key] = hashlib.sha256(file.read()).hexdigest()
        except OSError:
            return ""
    return _hashed[key]


def _identity(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return (0, 0)
    return (status.st_dev, status.st_ino)


def _text(path: str) -> str:
    try:
        with open(path, encoding="latin-1") as file:
            return " / ".join(" ".join(line.split()) for line in file)
    except OSError:
        return ""
