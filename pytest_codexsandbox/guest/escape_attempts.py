"""Escape attempts: tries what a confined generator must not be able to do; prints "" for each act that succeeded.

`PYTHON -I -S escape_attempts.py SPEC` tries. `… decoy WORD` waits to be found, signalled or traced until its stdin
ends. `… terminal ARGV…` gives ARGV a terminal and reports whether ARGV could type into it, as `… type` tries to.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import signal
import socket
import sys
import termios
from typing import Any, Callable, Dict, Final, NoReturn  # noqa: UP035

_PTRACE_SEIZE: Final = 0x4206
_PR_SET_PTRACER: Final = 0x59616D61
_SETTINGS: Final = ("/proc/sysrq-trigger", "/proc/irq/default_smp_affinity", "/proc/sys/kernel/core_pattern")
_SPACES: Final = ("user", "pid", "net", "ipc", "uts", "mnt")
TYPED: Final = b"q"


def attempts(spec: Dict[str, Any]) -> Dict[str, Callable[[], None]]:  # noqa: UP006
    """Returns the acts; each raises OSError unless it succeeds."""
    return {
        **{f"enter {path}": lambda path=path, seen=seen: _same(path, seen) for path, seen in spec["folders"].items()},  # type: ignore[misc]
        "read a file outside": lambda: _read(spec["canary"]),
        "write a file outside": lambda: _write(spec["written"]),
        "reach a socket by its path": lambda: _unix(spec["socket"]),
        "reach an abstract socket": lambda: _connect(socket.AF_UNIX, "\0" + spec["abstract"]),
        "reach a port on loopback": lambda: _connect(socket.AF_INET, ("127.0.0.1", spec["port"])),
        "see another's process": lambda: _see("".join(spec["word"]).encode()),
        "signal another's process": lambda: os.kill(spec["pid"], signal.SIGUSR1),
        "trace another's process": lambda: _trace(spec["pid"]),
        "have a capability": _capable,
        "gain rights by a program": _may_gain,
        "change the kernel's settings": _sets,
        "read the machine's passwords": lambda: _read("/etc/shadow"),
        **{f"share the {name} namespace": lambda name=name: _shares(name, spec["spaces"]) for name in _SPACES},  # type: ignore[misc]
    }


def tried(spec: Dict[str, Any]) -> Dict[str, str]:  # noqa: UP006
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # the spec's pid may be this process's own inside
    errors = {}
    for name, act in attempts(spec).items():
        try:
            act()
            errors[name] = ""
        except OSError as problem:
            errors[name] = errno.errorcode.get(problem.errno or 0, "") or str(problem)
    return errors


def _sets() -> None:
    """Opens a kernel setting for writing and writes nothing: a process that can open it could change it."""
    last = OSError("no entries")
    for path in _SETTINGS:
        try:
            os.close(os.open(path, os.O_WRONLY))
        except OSError as problem:
            last = problem
        else:
            return
    raise last


def _same(path: str, seen: list[int]) -> None:
    status = os.stat(path)
    if [status.st_dev, status.st_ino] != seen:
        raise OSError("another folder")


def _read(path: str) -> None:
    with open(path, "rb") as file:
        if not file.read(1):
            raise OSError("empty")


def _write(path: str) -> None:
    with open(path, "xb") as file:
        file.write(b"here")


def _unix(path: str) -> None:
    """Connects through the socket's folder: a socket's name may have about a hundred letters, a folder's path more."""
    folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)
    try:
        _connect(socket.AF_UNIX, f"/proc/self/fd/{folder}/{os.path.basename(path)}")
    finally:
        os.close(folder)


def _connect(family: int, address: Any) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.settimeout(2)
        one.connect(address)
        one.sendall(b"here")


def _see(word: bytes) -> None:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    if word in file.read(1 << 16):
                        return
            except OSError:
                continue
    raise OSError("not there")


def _trace(pid: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(ctypes.c_long(_PTRACE_SEIZE), ctypes.c_long(pid), None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def _capable() -> None:
    if not any(int(_status(f"Cap{name}"), 16) for name in ("Eff", "Prm", "Inh", "Amb")):
        raise OSError("none")


def _may_gain() -> None:
    if _status("NoNewPrivs") != "0":
        raise OSError("NoNewPrivs")


def _status(field: str) -> str:
    with open("/proc/self/status", encoding="latin-1") as file:
        return next((line.split()[1] for line in file if line.startswith(f"{field}:")), "1")


def _shares(name: str, spaces: dict[str, str]) -> None:
    if os.readlink(f"/proc/self/ns/{name}") != spaces[name]:
        raise OSError("its own")


def spaces() -> dict[str, str]:
    return {name: os.readlink(f"/proc/self/ns/{name}") for name in _SPACES}


# ---- typing into a terminal
def typed() -> str:
    """Types into the terminal that is its stdin, or into its controlling terminal. Returns "" if one accepted it."""
    found = ""
    for terminal in ("/proc/self/fd/0", "/dev/tty"):
        try:
            fcntl.ioctl(os.open(terminal, os.O_RDWR), termios.TIOCSTI, TYPED)
            return ""
        except OSError as problem:
            found = errno.errorcode.get(problem.errno or 0, str(problem))
    return found


def on_terminal(argv: list[str]) -> dict[str, Any]:
    """Runs ARGV on a terminal and checks whether what it typed there arrived where a shell would read."""
    ours, theirs = os.openpty()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        _become(argv, theirs, writing)
    os.close(writing)
    with open(reading, "rb") as said:
        output = said.read(1 << 16)
    os.waitpid(child, 0)
    mode = termios.tcgetattr(theirs)
    mode[3] &= ~termios.ICANON
    mode[6][termios.VMIN], mode[6][termios.VTIME] = 0, 1
    termios.tcsetattr(theirs, termios.TCSANOW, mode)
    return {"said": output.decode("utf-8", "replace"), "arrived": TYPED in os.read(theirs, 100), "ours": ours}


def _become(argv: list[str], terminal: int, said: int) -> NoReturn:
    try:
        os.setsid()
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        os.dup2(terminal, 0)
        os.dup2(said, 1)
        os.execv(argv[0], argv)
    finally:
        os._exit(127)


def decoy() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)  # any process, as without Yama's limit
    signal.signal(signal.SIGUSR1, lambda *_: os.write(1, b"hit\n"))
    os.write(1, b"ready\n")
    while True:
        try:
            if not os.read(0, 1):
                return
        except InterruptedError:
            continue


if __name__ == "__main__":
    if sys.argv[1] == "decoy":
        decoy()
    elif sys.argv[1] == "terminal":
        print(json.dumps(on_terminal(sys.argv[2:])))
    elif sys.argv[1] == "type":
        print(json.dumps({"typed": typed()}))
    else:
        print(json.dumps(tried(json.loads(sys.argv[1]))))
