"""System call answers: what the kernel, or a filter before it, answers to direct questions: `ok`, or an errno's name.

Every question is asked in a child that ends afterwards, and does no harm. Most name an address or a descriptor that
cannot exist. The kernel then answers EFAULT, EBADF or EINVAL to any process, and only a filter answers anything else.
The questions of the chain are the steps of a sandbox, one after the other, each in what the ones before it made.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import socket
import struct
from typing import Any, Callable, Final, Sequence, Tuple  # noqa: UP035

Question = Tuple[str, Callable[[], object]]  # noqa: UP006

_NUMBERS: Final = {
    "x86_64": {"clone": 56, "pivot_root": 155, "openat": 257, "nfsservctl": 180, "seccomp": 317},
    "aarch64": {"clone": 220, "pivot_root": 41, "openat": 56, "nfsservctl": 42, "seccomp": 277},
}
_CLONE3: Final = 435  # the same on every architecture, as is all that is newer
_LANDLOCK_CREATE_RULESET: Final = 444
_MOUNT_SETATTR: Final = 442
_NEWUSER, _NEWNS, _NEWNET, _NEWPID, _FS = 0x10000000, 0x20000, 0x40000000, 0x20000000, 0x200
_NOSUID_NODEV_NOEXEC: Final = 14  # as bubblewrap mounts /proc, and nothing else
_REC_SLAVE: Final = 0x4000 | 0x80000
_NOWHERE: Final = ctypes.c_void_p(1)
_NOT_OPEN: Final = 0x7FFFFF00
_LONGEST: Final = 20  # seconds
MARK_WORDS: Final = 4
MARK: Final = 0x6378  # first argument of the system call that our filter answers with its own mark

_libc: Any = ctypes.CDLL(None, use_errno=True)


def answers() -> dict[str, str]:
    """Returns all answers; {} on an architecture whose system call numbers are not known here."""
    if os.uname().machine not in _NUMBERS:
        return {}
    return {**asked_all(_plain()), **_asked(_chain(os.getuid()))}


def asked_all(questions: Sequence[Question]) -> dict[str, str]:
    """Returns the answers to all questions. After one that kills its child, a new child asks the rest."""
    found: dict[str, str] = {}
    while len(found) < len(questions):
        found.update(_asked(questions[len(found) :]))
    return found


def mark() -> str:
    """Returns the mark by which our own filter identifies itself; "" if there is none."""
    numbers = _NUMBERS.get(os.uname().machine)
    if numbers is None:
        return ""
    said = []
    for place in range(MARK_WORDS):
        ctypes.set_errno(0)
        _libc.syscall(numbers["nfsservctl"], MARK, place, 0)
        said.append(ctypes.get_errno())
    return "" if len(set(said)) == 1 else "-".join(map(str, said))


# ---- asking
def _asked(questions: Sequence[Question]) -> dict[str, str]:
    """Returns the answers, up to and including the first question that killed the child."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            _ask(questions, writing)
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = [line.split("\t") for line in pipe.read().decode("ascii").splitlines()]
    _, status = os.waitpid(child, 0)
    found = {pair[0]: pair[1] for pair in said if len(pair) == 2}
    if len(found) < len(questions):
        ended = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "no answer"
        found[questions[len(found)][0]] = ended
    return found


def _ask(questions: Sequence[Question], writing: int) -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.alarm(_LONGEST)
    high = os.dup2(writing, 100)
    os.closerange(3, 10)
    for name, ask in questions:
        ctypes.set_errno(0)
        try:
            ask()
            answer = "ok"
        except OSError as problem:
            answer = errno.errorcode.get(problem.errno or 0, str(problem.errno))
        os.write(high, f"{name}\t{answer}\n".encode("ascii"))


def _call(number: str | int, *words: object) -> int:
    if isinstance(number, str):
        number = _NUMBERS[os.uname().machine][number]
    return _checked(_libc.syscall(number, *words))


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result


# ---- the questions
def _plain() -> Sequence[Question]:
    """Returns the questions about this process as it is."""
    return [
        ("unshare", lambda: _checked(_libc.unshare(0))),
        ("clone-userns", lambda: _call("clone", _NEWUSER | _FS, 0, 0, 0, 0)),
        ("clone3", lambda: _call(_CLONE3, 0, 0)),
        ("setns", lambda: _checked(_libc.setns(-1, 0))),
        ("mount", lambda: _mount(0)),
        ("mount-proc", lambda: _mount(_NOSUID_NODEV_NOEXEC)),
        # With a size of 0 the kernel answers EINVAL before it checks the caller's rights; ENOSYS before Linux 5.12.
        ("mount-setattr", lambda: _call(_MOUNT_SETATTR, -1, None, 0, None, ctypes.c_size_t(0))),
        ("umount", lambda: _checked(_libc.umount2(_NOWHERE, 0))),
        ("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()),
        ("netlink-send", lambda: _checked(_libc.sendto(-1, None, 0, 0, None, 12))),
        ("send", lambda: _checked(_libc.sendto(-1, None, 0, 0, None, 16))),
        ("open-beside", lambda: _call("openat", _NOT_OPEN, b".", os.O_RDWR | os.O_CLOEXEC, 0)),
        ("write-8", lambda: _checked(_libc.write(3, b"12345678", ctypes.c_size_t(8)))),
        ("seccomp", lambda: _call("seccomp", 1, 0, None)),
        ("prctl-seccomp", lambda: _checked(_libc.prctl(22, 2, None, 0, 0))),
        ("landlock", lambda: _call(_LANDLOCK_CREATE_RULESET, None, 0, 1)),
    ]


def _chain(uid: int) -> Sequence[Question]:
    """Returns the steps of a sandbox as questions. After a refused step, the next one is tried in the same place."""
    return [
        ("userns", lambda: _checked(_libc.unshare(_NEWUSER))),
        ("uid-map", lambda: _map(uid)),
        ("mntns", lambda: _checked(_libc.unshare(_NEWNS))),
        ("mount-slave", lambda: _checked(_libc.mount(b"none", b"/", None, _REC_SLAVE, None))),
        ("pivot-root", _pivot),
        ("netns", lambda: _checked(_libc.unshare(_NEWNET))),
        ("loopback", _bring_up),
        ("pidns", lambda: _checked(_libc.unshare(_NEWPID))),
        ("proc", _mount_proc),
    ]


def _mount(flags: int) -> int:
    return _checked(_libc.mount(None, _NOWHERE, None, ctypes.c_ulong(flags), None))


def _map(uid: int) -> None:
    """Writes the uid map as bubblewrap does: relative to a folder of /proc."""
    here = os.open("/proc/self", os.O_PATH | os.O_DIRECTORY)
    file = os.open("uid_map", os.O_RDWR | os.O_CLOEXEC, dir_fd=here)
    os.write(file, f"{uid} {uid} 1".encode("ascii"))


def _pivot() -> None:
    """Calls pivot_root with invalid addresses.

    The kernel checks the caller's rights before the addresses, so only a filter refuses a caller that has the rights.
    """
    try:
        _call("pivot_root", _NOWHERE, _NOWHERE)
    except OSError as problem:
        if problem.errno != errno.EFAULT:
            raise


def _bring_up() -> None:
    """Adds an address to the loopback by netlink: the first step of bubblewrap in a network of its own."""
    body = struct.pack("=BBBBI", socket.AF_INET, 8, 0x80, 254, 1)
    for kind in (2, 1):  # IFA_LOCAL, IFA_ADDRESS
        body += struct.pack("=HH4s", 8, kind, socket.inet_aton("127.0.0.1"))
    request = struct.pack("=IHHII", 16 + len(body), 20, 0x605, 1, 0) + body  # RTM_NEWADDR, create, acknowledged
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.settimeout(5)
        netlink.bind((0, 0))
        netlink.sendto(request, (0, 0))
        answer = netlink.recv(4096)
    (code,) = struct.unpack_from("=i", answer, 16)
    if code:
        raise OSError(-code, "")


def _mount_proc() -> None:
    """Mounts /proc in the first process of a new process namespace."""
    child = os.fork()
    if not child:
        failed = _libc.mount(b"proc", b"/proc", b"proc", ctypes.c_ulong(_NOSUID_NODEV_NOEXEC), None)
        os._exit(ctypes.get_errno() if failed else 0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        raise OSError(errno.EINTR, "")
    if os.WEXITSTATUS(status):
        raise OSError(os.WEXITSTATUS(status), "")
