"""More verbs of the probe: rare changes of files, and the state of the process.

The probe imports this file when an act names one of its verbs: most calls need none, and start sooner without it. A
change that no audit hook of Python sees is announced to the hooks by `sys.audit`: the fake Codexes of the selftest
answer there as a sandbox does. Outside the selftest no hook listens.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from typing import TYPE_CHECKING, Any

Params = Any
if TYPE_CHECKING:  # the probe gives these when it imports this file
    from pytest_codexsandbox.guest.probe import Refused, at, new_socket, unix_address
RENAME_EXCHANGE = 2
AT_FDCWD, AT_SYMLINK_FOLLOW = -100, 0x400


# An open here may mount something, or wait for a server that does not answer.
FAR = ("autofs", "9p", "ceph", "cifs", "nfs", "nfs4", "smb3")


def libc(name: str) -> Any:
    """Returns a function of the C library. An old one lacks some; then the call is not supported."""
    try:
        import ctypes

        return getattr(ctypes.CDLL(None, use_errno=True), name)
    except (AttributeError, ImportError):
        raise OSError(errno.ENOSYS, f"the C library has no {name}") from None


def is_far(path: str) -> bool:
    """Checks whether a path is on a mount that a mere look may change or hang on. Opens nothing of it."""
    best, kind = "", ""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            place, fstype = line.split()[4], line.rpartition(" - ")[2].split()[0]
            if (path == place or path.startswith(place.rstrip("/") + "/")) and len(place) >= len(best):
                best, kind = place, fstype
    return kind in FAR or kind.startswith("fuse")


def checked(failed: int) -> None:
    import ctypes

    if failed:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


# ---- files


def do_tmpfile(path: str, params: Params) -> None:
    """Opens a file without a name in a folder, for writing. With `to`, the file then gets that name.

    Without `to` nothing stays behind: the file ends with the probe. `%UID%` in the path is the user's number.
    """
    at("mountinfo")
    path = path.replace("%UID%", str(os.getuid()))
    if is_far(path):
        raise OSError(errno.EOPNOTSUPP, "on a mount that an open may change or hang on: left alone")
    at("open")
    handle = os.open(path, os.O_TMPFILE | os.O_WRONLY, 0o600)
    try:
        if params.get("to"):
            at("link")
            name = f"/proc/self/fd/{handle}"
            sys.audit("os.link", name, params["to"], -1, -1)
            call = libc("linkat")  # os.link does not follow the link in /proc
            checked(call(AT_FDCWD, name.encode(), AT_FDCWD, os.fsencode(params["to"]), AT_SYMLINK_FOLLOW))
    finally:
        os.close(handle)


def do_exchange(path: str, params: Params) -> None:
    at("renameat2")
    sys.audit("codexsandbox.exchange", path, params["to"])
    call = libc("renameat2")
    checked(call(AT_FDCWD, os.fsencode(path), AT_FDCWD, os.fsencode(params["to"]), RENAME_EXCHANGE))


def do_put(path: str, params: Params) -> None:
    """Makes an empty file with a mode, of which the umask takes its part."""
    at("open")
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, params["mode"]))


def do_mkfifo(path: str, params: Params) -> None:
    at("mkfifo")
    sys.audit("codexsandbox.mkfifo", path)
    os.mkfifo(path)


def do_chown(path: str, params: Params) -> None:
    """Gives a file to the user who has it already: only the permission to do so is asked."""
    at("chown")
    os.chown(path, os.getuid(), os.getgid())


def do_setxattr(path: str, params: Params) -> None:
    at("setxattr")
    os.setxattr(path, "user.comment", b"let through")


def do_fifo_write(path: str, params: Params) -> None:
    """Writes into a pipe that has a reader. Without one the open fails, and does not wait."""
    at("open")
    handle = os.open(path or params["address"], os.O_WRONLY | os.O_NONBLOCK)
    try:
        at("write")
        os.write(handle, params.get("token", "").encode() + b"\n")
    finally:
        os.close(handle)


# ---- descriptors that the caller left open


def do_reopen(path: str, params: Params) -> None:
    """Opens a descriptor of this process anew, for writing, by its name in /proc."""
    at("open")
    handle = os.open(f"/proc/self/fd/{params['descriptor']}", os.O_WRONLY | os.O_APPEND)
    try:
        at("write")
        os.write(handle, params.get("data", "let through").encode())
    finally:
        os.close(handle)


def do_write_descriptor(path: str, params: Params) -> None:
    at("write")
    os.write(params["descriptor"], params["data"].encode() + b"\n")


def do_create_below(path: str, params: Params) -> None:
    """Makes a file below a folder that a descriptor holds open."""
    at("openat")
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
    os.close(os.open(params["name"], flags, 0o644, dir_fd=params["descriptor"]))


def do_descriptors(path: str, params: Params) -> str:
    """Returns what this process has open: number and target, without the descriptor that reads the list."""
    at("open")
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[name] = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:  # the one that read the list
            continue
    return json.dumps(found)


# ---- sockets


def do_unix_send(path: str, params: Params) -> None:
    """Sends one datagram to an address, by the system call that `by` names: sendto, sendmsg or sendmmsg."""
    address, data = unix_address(params["address"]), params.get("token", "").encode() + b"\n"
    made = new_socket("unix", "dgram", params)
    try:
        at(params["by"])
        if params["by"] == "sendto":
            made.sendto(data, address)
        elif params["by"] == "sendmsg":
            made.sendmsg([data], [], 0, address)
        else:
            sys.audit("socket.sendmsg", made, address)
            ending = b"" if address[:1] == "\0" else b"\0"
            send_many(made, data, made.family.to_bytes(2, sys.byteorder) + os.fsencode(address) + ending)
    finally:
        made.close()


def do_serve(path: str, params: Params) -> str:
    """Serves one TCP client on the loopback: listens, connects to itself, accepts. Returns what the client receives."""
    server, client = new_socket(params["family"], "stream", params), None
    try:
        at("bind")
        server.bind((params["address"], 0))
        at("listen")
        server.listen(1)
        client = new_socket(params["family"], "stream", params)
        at("connect")
        client.connect(server.getsockname()[:2])
        at("accept")
        sys.audit("codexsandbox.kernel", "accept")
        import socket

        with socket.socket(fileno=server.detach()) as listening:
            listening.settimeout(params.get("timeout", 5.0))
            taken, _ = listening.accept()
        at("send")
        with taken:
            taken.sendall(b"through the server")
        at("receive")
        received: bytes = client.recv(64)
        return received.decode()
    finally:
        server.close()
        if client is not None:
            client.close()


def do_send_many(path: str, params: Params) -> str:
    """Sends a datagram to itself over the loopback by sendmmsg(2), as the C library's resolver does."""
    server, client = new_socket("inet", "dgram", params), new_socket("inet", "dgram", params)
    try:
        at("bind")
        server.bind(("127.0.0.1", 0))
        at("connect")
        client.connect(server.getsockname())
        at("sendmmsg")
        sys.audit("codexsandbox.kernel", "sendmmsg")
        send_many(client, b"through the loopback", None)
        at("receive")
        received: bytes = server.recv(64)
        return received.decode()
    finally:
        server.close()
        client.close()


def send_many(made: Any, data: bytes, name: bytes | None) -> None:
    """Calls sendmmsg(2) with one message. `name`: the address as the kernel reads it; None for a connected socket."""
    import ctypes

    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_char_p), ("length", ctypes.c_size_t)]

    class Header(ctypes.Structure):
        _fields_ = [
            ("name", ctypes.c_char_p),
            ("name_length", ctypes.c_uint32),
            ("vectors", ctypes.POINTER(Vector)),
            ("vector_count", ctypes.c_size_t),
            ("control", ctypes.c_void_p),
            ("control_length", ctypes.c_size_t),
            ("flags", ctypes.c_int),
        ]

    class Message(ctypes.Structure):  # struct mmsghdr: the header is padded before what the kernel writes behind it
        _fields_ = [("header", Header), ("sent", ctypes.c_uint)]

    vector = Vector(data, len(data))
    header = Header(name=name, name_length=len(name or b""), vectors=ctypes.pointer(vector), vector_count=1)
    message = Message(header=header)
    checked(libc("sendmmsg")(made.fileno(), ctypes.byref(message), 1, 0) < 0)


# ---- the process itself


def do_unshare_user(path: str, params: Params) -> None:
    """Calls unshare(2) in a child, so that the probe's own namespaces stay unchanged."""
    import ctypes

    reader, writer = os.pipe()
    at("fork")
    child = os.fork()
    if not child:
        failed = libc("unshare")(0x10000000)
        os.write(writer, str(ctypes.get_errno() if failed else 0).encode())
        os._exit(0)
    os.close(writer)
    number = int(os.read(reader, 16) or b"0")
    os.close(reader)
    os.waitpid(child, 0)
    at("unshare")
    if number:
        raise OSError(number, os.strerror(number))


def do_words(path: str, params: Params) -> str:
    """Returns the arguments of this process after the plan: length and digest of each, and the short ones."""
    import hashlib

    found = [os.fsencode(word) for word in sys.argv[3:]]
    rows = [[len(word), hashlib.sha256(word).hexdigest(), word[:80].decode("latin-1")] for word in found]
    return json.dumps(rows)


def do_error_output(path: str, params: Params) -> str:
    """Writes numbered lines to standard error."""
    at("write")
    data = b"".join(b"error line %06d\n" % number for number in range(params["lines"]))
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(2, rest) :]
    return str(len(data))


def do_process(path: str, params: Params) -> str:
    """Returns what a process inherits from the one that started it, as JSON."""
    import resource

    at("getrlimit")
    names = sorted(name for name in dir(resource) if name.startswith("RLIMIT_"))
    umask = os.umask(0o077)
    os.umask(umask)
    with open("/proc/self/status") as file:
        pairs = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    return json.dumps(
        {
            "uid": list(os.getresuid()),
            "gid": list(os.getresgid()),
            "groups": sorted(os.getgroups()),
            "umask": f"{umask:04o}",
            "nice": os.getpriority(os.PRIO_PROCESS, 0),
            "cwd": os.getcwd(),
            "limits": {name: resource.getrlimit(getattr(resource, name)) for name in names},
            "blocked": pairs["SigBlk"],
            "ignored": pairs["SigIgn"],
        }
    )


def do_variables(path: str, params: Params) -> str:
    """Returns each variable as the digest of its value and its name, the PATH, and which variables hold a text.

    The digest comes first: what follows a name like a secret's is masked in reports.
    """
    import hashlib

    held = os.fsencode(params.get("holding", ""))
    digests, holding = [], []
    for name, value in sorted(os.environb.items()):
        digests.append(f"{hashlib.sha256(value).hexdigest()[:16]} {os.fsdecode(name)}")
        if held and held in value:
            holding.append(os.fsdecode(name))
    return json.dumps({"digests": digests, "path": os.environ.get("PATH", ""), "holding": holding})


def do_try_folder(path: str, params: Params) -> None:
    """Makes a folder and removes it at once, where that works: it lies where other programs look.

    A folder may be there already, left by an earlier call or shown by the sandbox. Then a file in it is tried: where
    that file can be made, the folder is as open as a new one. A folder or file that was made and stays is no refusal,
    so its failure has no errno.
    """
    at("mkdir")
    try:
        os.mkdir(path)
    except FileExistsError:
        make_a_file(path)
        return
    removed(os.rmdir, path)


def make_a_file(folder: str) -> None:
    """Makes a file in a folder that is there, and removes it. Where the name is no folder, it is only there."""
    at("open")
    name = os.path.join(folder, f"tmp-{os.getpid()}-{os.urandom(4).hex()}")
    try:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except NotADirectoryError:
        raise FileExistsError(errno.EEXIST, "there, and no folder", folder) from None
    except OSError as error:  # the name is random: the folder tells more
        raise OSError(error.errno, error.strerror, folder) from None
    removed(os.unlink, name)


def removed(remove: Any, path: str) -> None:
    at(remove.__name__)
    try:
        remove(path)
    except FileNotFoundError:  # another process was first
        pass
    except OSError as error:
        raise Refused("", f"made, and not removed: {error}") from None
