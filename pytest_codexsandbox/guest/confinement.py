"""Confinement: how this process is confined, as /proc shows it, to verify what an engine was asked for."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
from typing import Any, Final

from pytest_codexsandbox.guest import probe_verbs, process_tree, syscall_answers

_CAPABILITIES: Final = (  # in the kernel's order
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
)
_LIMITS: Final = {
    "memory_limit": ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"),
    "pids_limit": ("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max"),
}
_SETTINGS: Final = ("kernel/core_pattern", "kernel/domainname", "vm/swappiness")
_HARDWARE: Final = ("/proc/irq/default_smp_affinity", "/sys/power/state", "/sys/kernel/mm/ksm/run")
_SYSTEM_FOLDERS: Final = ("/etc", "/opt", "/run", "/srv", "/usr/local/bin", "/var/lib", "/var/tmp")
_GET_FLAGS: Final = 0x8913
_NO_LIMIT: Final = 1 << 60  # control groups v1 report a larger number if there is no limit


def confinement() -> dict[str, Any]:
    status = process_tree.status_of(os.getpid())
    has, lacks = capabilities(status.get("CapBnd", ""))
    rootfs, masked, read_only = mounted(_lines("/proc/self/mounts"))
    return {
        "caps": " ".join(has),
        "caps_missing": " ".join(lacks),
        "caps_in_force": in_force(status.get("CapEff", ""), status.get("CapBnd", "")),
        "rootfs": rootfs,
        "masked": " ".join(masked),
        "read_only_paths": " ".join(read_only),
        "kernel_settings": settings([f"/proc/sys/{name}" for name in _SETTINGS]),
        "hardware_settings": settings(list(_HARDWARE)),
        "system_folders": " ".join(writable_folders(_SYSTEM_FOLDERS)),
        "interfaces": " ".join(interfaces()),
        "default_route": default_route(_lines("/proc/net/route")),
        "nameservers": " ".join(line.split()[1] for line in _lines("/etc/resolv.conf") if line.startswith("nameser")),
        "user_name": user_name(os.getuid(), _lines("/etc/passwd")),
        **{name: limit(paths) for name, paths in _LIMITS.items()},
        "filter_mark": syscall_answers.mark(),
        "answers": syscall_answers.answers(),
    }


def capabilities(bounding: str) -> tuple[list[str], list[str]]:
    """Returns two lists of names: the capabilities in the bounding set, and the others that the kernel knows."""
    try:
        bits, last = int(bounding, 16), int("".join(_lines("/proc/sys/kernel/cap_last_cap")) or len(_CAPABILITIES) - 1)
    except ValueError:
        return [], []
    names = [*_CAPABILITIES, *(str(number) for number in range(len(_CAPABILITIES), last + 1))][: last + 1]
    has = sorted(name for number, name in enumerate(names) if bits >> number & 1)
    return has, sorted(set(names) - set(has))


def in_force(effective: str, bounding: str) -> str:
    """Returns how many of the bounding capabilities are effective now: "none", "some" or "all"."""
    none = not effective.strip("0")
    return "none" if none else "all" if effective == bounding else "some"


def interfaces() -> list[str]:
    """Returns the network interfaces that are up. Some kernels put tunnels into every network, and leave them down."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for line in _lines("/proc/net/dev")[2:]:
            name = line.partition(":")[0].strip()
            (flags,) = struct.unpack_from(
                "=H", fcntl.ioctl(asking, _GET_FLAGS, struct.pack("16s16x", name.encode())), 16
            )
            if flags & 1:
                found.append(name)
    return sorted(found)


def mounted(lines: list[str]) -> tuple[str, list[str], list[str]]:
    """Returns `ro` or `rw` for the root, the hidden paths of /proc and /sys, and the read-only paths of /proc."""
    rootfs, masked, read_only = "", [], []
    for line in lines:
        words = line.split()
        if len(words) < 4:
            continue
        place, kind, options = words[1], words[2], words[3].split(",")
        if place == "/":
            rootfs = "ro" if "ro" in options else "rw"
        elif place.startswith(("/proc/", "/sys/firmware", "/sys/devices/virtual/powercap")):
            if kind != "proc":
                masked.append(place)
            elif "ro" in options:
                read_only.append(place)
    return rootfs, sorted(masked), sorted(read_only)


def settings(paths: list[str]) -> str:
    """Returns `writable` if one of the paths opens for writing, else the errno of the first. Writes nothing."""
    refusals = []
    for path in paths:
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CLOEXEC))
        except OSError as error:
            refusals.append(errno.errorcode.get(error.errno or 0, str(error.errno)))
        else:
            return "writable"
    return next(iter(refusals), "")


def writable_folders(paths: tuple[str, ...]) -> list[str]:
    """Returns the folders in which a file can be made. The file has no name, and is gone when it is closed."""
    found = []
    for path in paths:
        if probe_verbs.is_far(path):
            continue
        try:
            os.close(os.open(path, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        except OSError:
            continue
        found.append(path)
    return found


def default_route(lines: list[str]) -> str:
    """Returns the interface of the default route; "none" if there is none."""
    routes = (line.split() for line in lines[1:])
    return next((words[0] for words in routes if len(words) > 7 and words[1] == words[7] == "00000000"), "none")


def user_name(uid: int, lines: list[str]) -> str:
    entries = (line.split(":") for line in lines)
    return next((words[0] for words in entries if len(words) > 2 and words[2] == str(uid)), "")


def limit(paths: tuple[str, ...]) -> str:
    """Returns the limit of a control group as a number, or "none"; "" if it cannot be read."""
    value = next((lines[0].strip() for path in paths if (lines := _lines(path))), "")
    return "none" if value == "max" or (value.isdigit() and int(value) > _NO_LIMIT) else value


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(256 * 1024).splitlines()
    except OSError:
        return []
