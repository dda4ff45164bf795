"""Kernel verbs of the probe: system calls, socket families, devices and namespaces that a sandbox keeps shut.

The probe imports this file when an act names one of its verbs. `OFFERS` asks the same questions outside any sandbox:
an environment that does not offer something cannot show that a sandbox keeps it shut.

Every call here is harmless where it works: it fails on an address or a descriptor that cannot exist, or it concerns
this process, its own child or what that child made. A child makes the calls that a filter may answer by a signal. Each
verb is announced by `sys.audit`, where the fake Codexes of the selftest answer as a sandbox does.
"""

from __future__ import annotations

import errno
import json
import mmap
import os
import stat
import struct
import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, Final, Iterable  # noqa: UP035

if TYPE_CHECKING:  # the probe gives these when it imports this file
    from pytest_codexsandbox.guest.probe import Refused
else:

    class EndedChild(OSError):
        """Stands in for the probe's own error: a child was ended by a signal."""

        def __init__(self, name: str, detail: str) -> None:
            super().__init__(errno.EPERM, f"{name}: {detail}")

    Refused = EndedChild


Params = Any
X86_64, AARCH64 = "x86_64", "aarch64"
NOT_OPEN: Final = 0x7FFFFF00
NOWHERE: Final = 1  # an address that no process has
AF_INET, STREAM_CLOEXEC = 2, 0o2000001
NEWUSER, NEWNS = 0x10000000, 0x20000
MS_REMOUNT_BIND: Final = 32 | 4096
# What statvfs(2) shows of a mount, and mount(2) must be given again.
MOUNT_FLAGS: Final = {2: 2, 4: 4, 8: 8, 1024: 1024, 2048: 2048, 4096: 1 << 21}
RDONLY: Final = 1
TIOCSTI: Final = 0x5412
ALWAYS_LOADED: Final = ("NETLINK",)
STREAMS: Final = (0, 1, 2)
SEIZE: Final = 0x4206
SESSION_KEYRING, USER_KEYRING = -3, -4
KEYCTL = {X86_64: 250, AARCH64: 219}
ADD_KEY = {X86_64: 248, AARCH64: 217}
DEPTH: Final = 3  # folders below /dev
ORDINARY: Final = ("core", "fd", "mqueue", "shm")  # no devices, or a world of their own


def at(step: str) -> None:
    """Stands in for the probe's own function, which notes the system call that is under way."""


def announce(name: str) -> None:
    """Lets the selftest's fakes refuse a call that no audit hook of Python sees."""
    sys.audit("codexsandbox.kernel", name)


def libc() -> Any:
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def checked(result: int) -> int:
    import ctypes

    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def in_child(ask: Callable[[], int]) -> int:
    """Returns what `ask` returns in a child; raises what it raised, or the signal that ended it."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        answer = (-1, errno.EIO)
        try:
            os.close(reading)
            answer = (ask(), 0)
        except OSError as problem:
            answer = (-1, problem.errno or errno.EIO)
        finally:
            os.write(writing, struct.pack("=ii", *answer))
            os._exit(0)
    os.close(writing)
    said = os.read(reading, 8)
    os.close(reading)
    _, status = os.waitpid(child, 0)
    if len(said) < 8:
        import signal

        ended = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "no answer"
        raise Refused(ended, f"the call ended its process: {ended}")
    result, number = struct.unpack("=ii", said)
    if number:
        raise OSError(number, os.strerror(number))
    return int(result)


# ---- system calls

# Number (the same on every architecture), words, and the errno by which the kernel itself answers these words.
CALLS: Final = {
    "io_uring_setup": (425, (1, NOWHERE), errno.EFAULT),
    "io_uring_enter": (426, (NOT_OPEN, 0, 0, 0, 0, 0), errno.EBADF),
    "io_uring_register": (427, (NOT_OPEN, 0, 0, 0), errno.EBADF),
}


def do_kernel_call(path: str, params: Params) -> None:
    """Makes the system call of `CALLS` that `name` names. It worked if the kernel itself judged its words."""
    name = params["name"]
    number, words, answer = CALLS[name]
    at(name)
    announce(name)

    def ask() -> int:
        import ctypes

        return checked(libc().syscall(number, *map(ctypes.c_long, words)))

    try:
        in_child(ask)
    except OSError as problem:
        if problem.errno != answer:
            raise


def do_trace(path: str, params: Params) -> None:
    """Attaches to a child of its own as a debugger does. The child ends with this."""
    import ctypes
    import signal

    at("ptrace")
    announce("ptrace")
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    try:
        checked(libc().ptrace(SEIZE, child, ctypes.c_long(0), ctypes.c_long(0)))
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)
        os.close(writing)


def do_memory(path: str, params: Params) -> None:
    """Reads a few bytes of this very process by process_vm_readv(2), or writes them by process_vm_writev(2)."""
    import ctypes

    name = params["by"]

    class MemorySpan(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    one, other = ctypes.create_string_buffer(b"one", 4), ctypes.create_string_buffer(b"two", 4)
    here, there = MemorySpan(ctypes.addressof(one), 4), MemorySpan(ctypes.addressof(other), 4)
    at(name)
    announce(name)
    checked(getattr(libc(), name)(os.getpid(), ctypes.byref(here), 1, ctypes.byref(there), 1, 0))


def do_other_abi(path: str, params: Params) -> None:
    """Makes an IPv4 socket by the system calls of 32-bit programs (`i386`), or of x32, in a child that ends with it."""
    name = params["abi"]
    at(name)
    if os.uname().machine != X86_64:
        raise OSError(errno.ENOSYS, "this architecture has no such ABI")
    announce(name)
    in_child({"i386": i386_socket, "x32": x32_socket}[name])


def i386_socket() -> int:
    """Calls socket(2), number 359 there, by `int $0x80`: 25 bytes of machine code in a page of their own."""
    import ctypes

    words = struct.pack("<BIBIBI", 0xB8, 359, 0xBB, AF_INET, 0xB9, STREAM_CLOEXEC)  # eax, ebx, ecx
    code = b"\x53" + words + b"\x31\xd2\xcd\x80\x5b\xc3"  # ebx is the caller's: kept; edx is 0
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    result = int(ctypes.CFUNCTYPE(ctypes.c_int)(address)())
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return result


def x32_socket() -> int:
    import ctypes

    return checked(libc().syscall(ctypes.c_long(0x40000000 | 41), AF_INET, STREAM_CLOEXEC, 0))


def do_remount(path: str, params: Params) -> None:
    """Remounts `/` so that it can be written, in a child with a mount namespace of its own, which ends with it.

    With `user`, the child first gets a user namespace as well, in which it has every capability.
    """
    at("remount")
    announce("remount")
    in_child(lambda: remounted(NEWUSER | NEWNS if params.get("user") else NEWNS))


def remounted(flags: int) -> int:
    import ctypes

    checked(libc().unshare(flags))
    shown = os.statvfs("/").f_flag
    kept = sum(given for seen, given in MOUNT_FLAGS.items() if shown & seen)
    checked(libc().mount(b"none", b"/", None, ctypes.c_ulong(MS_REMOUNT_BIND | kept), None))
    if os.statvfs("/").f_flag & RDONLY:
        raise OSError(errno.EROFS, "it is read-only all the same")
    return 0


# ---- objects of the kernel that the agent made


def do_key(path: str, params: Params) -> str:
    """Reads the key of a name in the session keyring. Without a name: returns the number of the user's keyring."""
    import ctypes

    number = KEYCTL[os.uname().machine]
    at("keyctl")
    announce("key" if params.get("name") else "user-keyring")

    def call(*words: Any) -> int:
        return checked(libc().syscall(ctypes.c_long(number), *words))

    if not params.get("name"):
        return str(call(0, USER_KEYRING, 0, 0, 0))  # KEYCTL_GET_KEYRING_ID
    found = call(10, SESSION_KEYRING, b"user", params["name"].encode(), 0)  # KEYCTL_SEARCH
    data = ctypes.create_string_buffer(256)
    length = call(11, found, data, 255, 0)  # KEYCTL_READ
    return data.raw[:length].decode("latin-1")


def do_segment(path: str, params: Params) -> str:
    """Reads a segment of shared memory by its number."""
    import ctypes

    at("shmat")
    announce("shmat")
    shmat = libc().shmat
    shmat.restype = ctypes.c_void_p
    address = shmat(int(params["number"]), None, 0o10000)  # SHM_RDONLY
    if address in (None, ctypes.c_void_p(-1).value):
        checked(-1)
    value = ctypes.string_at(address).decode("latin-1")
    libc().shmdt(ctypes.c_void_p(address))
    return value


def do_namespace(path: str, params: Params) -> str:
    """Returns the number of a namespace of this process."""
    at("readlink")
    return os.readlink(f"/proc/self/ns/{params['name']}")


# ---- sockets, devices, the terminal


def do_family(path: str, params: Params) -> None:
    """Makes a socket by the numbers of its family, type and protocol, and closes it.

    A family that `known` does not find among the kernel's protocols is not asked for: that could load a module. Where
    the list cannot be read, only netlink is asked for, which every kernel has.
    """
    import _socket

    at("socket")
    loaded = protocols()
    if params["known"] not in (loaded or ALWAYS_LOADED):
        at("socket" if loaded else "protocols")
        raise OSError(errno.EAFNOSUPPORT, f"not {'loaded' if loaded else 'asked for: the list cannot be read'}")
    _socket.socket(params["family"], params["type"], params.get("protocol", 0)).close()


def protocols() -> set[str]:
    """Returns the protocols that the kernel has loaded; none where their list cannot be read."""
    try:
        with open("/proc/net/protocols", encoding="ascii", errors="replace") as file:
            return {line.split()[0] for line in file}
    except OSError:
        return set()


def do_devices(path: str, params: Params) -> str:
    """Returns the devices below /dev as JSON: path → kind, `b` or `c`. Opens none of them."""
    at("open")
    return json.dumps(devices())


def devices(folder: str = "/dev", depth: int = DEPTH) -> Dict[str, str]:  # noqa: UP006
    found: Dict[str, str] = {}  # noqa: UP006
    for name in sorted(os.listdir(folder)):
        one = f"{folder}/{name}"
        try:
            mode = os.lstat(one).st_mode
            if stat.S_ISBLK(mode) or stat.S_ISCHR(mode):
                found[one] = "b" if stat.S_ISBLK(mode) else "c"
            elif stat.S_ISDIR(mode) and depth and name not in ORDINARY:
                found.update(devices(one, depth - 1))
        except OSError:  # it is gone, or closed to this user
            continue
    return found


def lasting(found: Iterable[str]) -> set[str]:
    """Returns the devices that are no terminals: a terminal outside may end between the call and its control."""
    return {one for one in found if not one.startswith("/dev/pts/")}


def do_terminal(path: str, params: Params) -> None:
    """Opens the terminal of this process by its name. With `push`, types one letter into the first of its streams that
    is a terminal. Only for a call whose terminal the agent made.
    """
    import fcntl

    if not params.get("push"):
        at("open")
        announce("tty")
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
        return
    at("isatty")
    terminal = next((stream for stream in STREAMS if os.isatty(stream)), None)
    if terminal is None:
        raise OSError(errno.ENOTTY, "no stream is a terminal")
    at("ioctl")
    announce("push")
    fcntl.ioctl(terminal, TIOCSTI, b"x")


# ---- what an environment offers without a sandbox

KNOWN_DEVICES: Final = frozenset(
    f"/dev/{name}" for name in ("console", "full", "null", "ptmx", "pts/ptmx", "random", "tty", "urandom", "zero")
)


def _typed() -> None:
    """Types one letter into a terminal of a child's own. A kernel may let no process do so (dev.tty.legacy_tiocsti)."""
    child, terminal = os.forkpty()
    if not child:
        try:
            do_terminal("", {"push": True})
            os._exit(0)
        finally:
            os._exit(errno.EIO)
    with open(terminal, "rb"):
        _some(os.waitpid(child, 0)[1] == 0)


OFFERS: Final[Dict[str, Callable[[], object]]] = {  # noqa: UP006
    "io-uring": lambda: do_kernel_call("", {"name": "io_uring_setup"}),
    "ptrace": lambda: do_trace("", {}),
    "memory": lambda: do_memory("", {"by": "process_vm_readv"}),
    "other-abi": lambda: do_other_abi("", {"abi": "i386"}),
    "remount": lambda: _either(lambda: do_remount("", {}), lambda: do_remount("", {"user": True})),
    "devices": lambda: _some(lasting(devices()) - KNOWN_DEVICES),
    "typing": _typed,
    "x86-64": lambda: _some(os.uname().machine == "x86_64"),
}


def offers() -> list[str]:
    """Returns the names of what works here. Called outside any sandbox."""
    found = []
    for name, ask in OFFERS.items():
        try:
            ask()
        except (OSError, Refused, AttributeError, ImportError):
            continue
        found.append(name)
    return found


def _either(one: Callable[[], object], other: Callable[[], object]) -> None:
    try:
        one()
    except OSError:
        other()


def _some(found: object) -> None:
    if not found:
        raise OSError(errno.ENODEV, "none")
