"""The answers of a correct sandbox to the kernel verbs (probe_kernel_verbs.py), worked out in Python.

Each word in `flaws` breaks one of them:

    kernel:io-uring, kernel:ptrace, kernel:other-memory, kernel:other-abi, kernel:remount, kernel:keys, kernel:ipc
    namespaces:shared, devices:all, devices:terminals, terminal:kept, terminal:typed
    network-on:no-server, network-on:no-sendmmsg
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_codexsandbox.guest.restraint import Boundary, refuse
else:  # beside this file, which is started with one
    from restraint import Boundary, refuse

# What announces itself by this name is refused with this errno, unless the flaw lets it through.
ALWAYS = {
    "remount": ("kernel:remount", errno.EPERM),
    "key": ("kernel:keys", errno.ENOKEY),
    "user-keyring": ("kernel:keys", errno.EACCES),
    "shmat": ("kernel:ipc", errno.EINVAL),
    "tty": ("terminal:kept", errno.ENXIO),
    "push": ("terminal:typed", errno.EPERM),
}
# With the network off only: Codex's filter is there for the network.
FILTERED = {
    "io_uring_setup": "kernel:io-uring",
    "io_uring_enter": "kernel:io-uring",
    "io_uring_register": "kernel:io-uring",
    "ptrace": "kernel:ptrace",
    "process_vm_readv": "kernel:other-memory",
    "process_vm_writev": "kernel:other-memory",
    "i386": "kernel:other-abi",
    "x32": "kernel:other-abi",
}
SERVES = {"accept": "network-on:no-server", "sendmmsg": "network-on:no-sendmmsg"}
DEVICES = ("console", "full", "null", "ptmx", "pts", "random", "shm", "tty", "urandom", "zero")


def answer(boundary: Boundary, name: str) -> None:
    """Refuses what a correct sandbox refuses."""
    if boundary.full:
        return
    flaw, number = ALWAYS.get(name, ("", 0))
    if flaw and not boundary.has(flaw):
        refuse(number)
    if name in FILTERED and not boundary.network and not boundary.has(FILTERED[name]):
        refuse(errno.EPERM)
    if name in SERVES and boundary.has(SERVES[name]):
        refuse(errno.EPERM)


def patch(boundary: Boundary) -> None:
    """Patches what is read of the process's surroundings."""
    if boundary.full:
        return
    if not boundary.has("namespaces:shared"):
        os.readlink = of_its_own(os.readlink)
    if not boundary.has("devices:all"):
        shows = boundary.has("devices:terminals")
        if shows:
            os.openpty()  # one that the caller could have
        os.listdir = with_few_devices(os.listdir, terminals=shows)


def of_its_own(readlink: Any) -> Any:
    """Wraps os.readlink: the namespaces of this process are not those outside."""

    def readlink_there(path: Any, *rest: Any, **words: Any) -> Any:
        found = readlink(path, *rest, **words)
        return found.replace("[", "[9") if str(path).startswith("/proc/self/ns/") else found

    return readlink_there


def with_few_devices(listdir: Any, *, terminals: bool) -> Any:
    """Wraps os.listdir: /dev has the harmless devices only, and /dev/pts no terminal unless `terminals`."""
    kept = {"/dev": DEVICES} if terminals else {"/dev": DEVICES, "/dev/pts": ("ptmx",)}

    def listdir_there(*words: Any) -> Any:
        found = listdir(*words)
        names = kept.get(words[0]) if words and isinstance(words[0], str) else None
        return found if names is None else [name for name in found if name in names]

    return listdir_there
