"""Facts: describes this environment from its own kernel and files."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shutil
import stat
import subprocess
from typing import Any, Final

from pytest_codexsandbox.guest import bare_tools, process_tree
from pytest_codexsandbox.guest.confinement import confinement

_SYSCTLS: Final = (
    "user.max_user_namespaces",
    "user.max_mnt_namespaces",
    "user.max_net_namespaces",
    "user.max_pid_namespaces",
    "kernel.unprivileged_userns_clone",
    "kernel.apparmor_restrict_unprivileged_userns",
    "kernel.apparmor_restrict_unprivileged_unconfined",
    "kernel.yama.ptrace_scope",
)
_PROGRAMS: Final = ("bash", "cp", "git", "sh")  # that promises run in the sandbox
_LANDLOCK_CREATE_RULESET: Final = 444
_LANDLOCK_VERSION: Final = 1
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def facts(path: str) -> dict[str, Any]:
    status = process_tree.status_of(os.getpid())
    system = os.uname()
    release = os_release()
    return {
        "kernel": system.release,
        "kernel_version": system.version,
        "arch": system.machine,
        "distro": release.get("ID", ""),
        "distro_version": release.get("VERSION_ID", ""),
        "distro_name": release.get("PRETTY_NAME", ""),
        "uid": os.getuid(),
        "gid": os.getgid(),
        "lsms": _read("/sys/kernel/security/lsm"),
        "sysctls": sysctls(),
        "cap_eff": status.get("CapEff", ""),
        "cap_bnd": status.get("CapBnd", ""),
        "seccomp": status.get("Seccomp", ""),
        "no_new_privs": status.get("NoNewPrivs", ""),
        "uid_map": " ".join(_read("/proc/self/uid_map").split()),
        "apparmor_profile": _read("/proc/self/attr/current"),
        **confinement(),
        "programs": [name for name in _PROGRAMS if shutil.which(name, path=_PATH)],
        "container": container(),
        "landlock_abi": landlock(),
        "bwrap": bwrap(path or _PATH),
        "bwrap_of_calls": bwrap_file(_PATH),  # calls of Codex have a PATH of their own
        "bare": bare_tools.said(path or _PATH),
        "etc_codex": digests("/etc/codex"),
        "boot_id": _read("/proc/sys/kernel/random/boot_id"),
    }


def state() -> dict[str, Any]:
    """Returns the few facts that decide over a sandbox and may change while it is measured. Starts nothing."""
    return {"sysctls": sysctls(), "bwrap_of_calls": bwrap_file(_PATH), "etc_codex": digests("/etc/codex")}


def sysctls() -> dict[str, str]:
    return {name: value for name in _SYSCTLS if (value := _sysctl(name))}


@functools.lru_cache
def os_release() -> dict[str, str]:
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        text = _read(path)
        if text:
            pairs = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
            return {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}
    return {}


def landlock() -> int:
    """Returns the Landlock ABI; 0 if the kernel has none, or refuses to report it."""
    answer: int = ctypes.CDLL(None, use_errno=True).syscall(_LANDLOCK_CREATE_RULESET, None, 0, _LANDLOCK_VERSION)
    return max(0, answer)


def container() -> dict[str, str]:
    """Returns hints that this environment is a container, and its cgroup."""
    hints = {"cgroup": _read("/proc/self/cgroup")[:500]}
    for path, name in (("/.dockerenv", "docker"), ("/run/.containerenv", "podman")):
        if os.path.exists(path):
            hints["engine"] = name
    return hints


def bwrap(path: str) -> dict[str, Any]:
    """Returns the bubblewrap that is found on this PATH; {} if there is none."""
    found = bwrap_file(path)
    return {**found, "version": _said([found["path"], "--version"])} if found else {}


def bwrap_file(path: str) -> dict[str, Any]:
    """Returns the same as `bwrap`, without starting the program."""
    found = shutil.which("bwrap", path=path)
    if not found:
        return {}
    real = os.path.realpath(found)
    try:
        status = os.stat(real)
    except OSError:  # it was removed a moment ago
        return {}
    return {
        "path": found,
        "real": real,
        "sha256": _digest_of_version(
            real, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
        ),
        "setuid": bool(status.st_mode & stat.S_ISUID),
        "mode": f"{stat.S_IMODE(status.st_mode):o}",
        "capability": _attribute(real, "security.capability"),
        "size": status.st_size,
    }


def _attribute(path: str, name: str) -> str:
    """Returns an extended attribute in hexadecimal; "" if the file has none."""
    try:
        return os.getxattr(path, name).hex()
    except OSError:
        return ""


def _said(argv: list[str]) -> str:
    """Returns the first line that a program prints, or what failed if it prints none."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, env={}, check=False)
    except (OSError, subprocess.SubprocessError) as problem:
        return str(problem)
    return (done.stdout or done.stderr).decode("utf-8", "replace").strip().split("\n")[0][:200]


def digests(folder: str) -> dict[str, str]:
    """Returns the sha256 of every file below a folder, because an administrator's settings are part of what is
    measured.
    """
    found: dict[str, str] = {}
    for here, _, names in os.walk(folder):
        for name in sorted(names)[:200]:
            found[os.path.join(here, name)] = digest(os.path.join(here, name))
    return found


def digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read(64 << 20)).hexdigest()
    except OSError:
        return "unreadable"


@functools.lru_cache(maxsize=8)
def _digest_of_version(path: str, *version: int) -> str:
    """Returns the digest of one version of a file. Any write changes the numbers, so an unchanged file is read once."""
    return digest(path)


def _sysctl(name: str) -> str:
    return _read("/proc/sys/" + name.replace(".", "/"))


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(64 * 1024).strip().strip("\0")
    except OSError:
        return ""
