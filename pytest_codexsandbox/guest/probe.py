"""The probe: performs acts inside (or, as control, outside) a sandbox and says what the kernel answered.

    PYTHON -I -S probe.py NONCE PLAN        PLAN = base64(zlib(JSON {"acts": [{"id", "verb", "path", "params"}, …]}))

It says `\\x1ecx:NONCE:{"ready": …}`, waits for a line `go` on stdin (or its end), says a row for each act, then `done`.
It needs the standard library of Python 3.9, and imports lazily, since it starts in every call. Rare verbs are in
probe_verbs.py and probe_kernel_verbs.py beside it. A verb is a function `do_<verb>(path, params)`; it returns the value
that was read, names its system call by `at`, and lets OSError rise. What must happen after its row was said (ending,
sleeping) it appends to AFTERWARDS.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import time
import zlib
from binascii import a2b_base64

# The verbs here are those of most calls. With the sockets in a file of their own, each start took 26 ms in place of 24.
TYPE_CHECKING = False  # importing typing would cost more than a battery of acts
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Params = dict[str, Any]

VALUE_LIMIT = 64 * 1024
AFTERWARDS: list[Callable[[], None]] = []  # what the last act left to be done once its row is out
HELD: list[object] = []  # what stays open until the probe ends
STEP = [""]  # the system call or library step that is under way


class Refused(Exception):
    """A failure without an errno of the kernel: SQLite's, the resolver's, an HTTP status."""

    def __init__(self, name: str, detail: str, value: object = "") -> None:
        super().__init__(detail)
        self.name, self.detail, self.value = name, detail, value


def at(step: str) -> None:
    STEP[0] = step


# ---- files


def put_down(path: str, data: str, flags: int) -> None:
    at("open")
    handle = os.open(path, flags, 0o644)
    try:
        at("write")
        rest = data.encode()
        while rest:
            rest = rest[os.write(handle, rest) :]
    finally:
        os.close(handle)


def do_write(path: str, params: Params) -> None:
    put_down(path, params.get("data", "x"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)


def do_append(path: str, params: Params) -> None:
    put_down(path, params.get("data", "x"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def do_create(path: str, params: Params) -> None:
    put_down(path, params.get("data", ""), os.O_WRONLY | os.O_CREAT | os.O_EXCL)


def do_may_write(path: str, params: Params) -> None:
    """Opens a path for writing, and writes nothing. For a kernel setting, the open shows who may change it."""
    at("open")
    os.close(os.open(path, os.O_WRONLY))


def do_read(path: str, params: Params) -> bytes:
    at("open")
    handle = os.open(path, os.O_RDONLY)
    try:
        at("read")
        return os.read(handle, VALUE_LIMIT)
    finally:
        os.close(handle)


def do_stat(path: str, params: Params) -> str:
    at("stat")
    found = os.stat(path)
    return json.dumps({"mode": found.st_mode, "size": found.st_size, "inode": found.st_ino, "uid": found.st_uid})


def do_mkdir(path: str, params: Params) -> None:
    at("mkdir")
    os.mkdir(path)


def do_rmdir(path: str, params: Params) -> None:
    at("rmdir")
    os.rmdir(path)


def do_unlink(path: str, params: Params) -> None:
    at("unlink")
    os.unlink(path)


def do_rename(path: str, params: Params) -> None:
    at("rename")
    os.rename(path, params["to"])


def do_link(path: str, params: Params) -> None:
    at("link")
    os.link(path, params["to"])


def do_symlink(path: str, params: Params) -> None:
    at("symlink")
    os.symlink(params["to"], path)


def do_truncate(path: str, params: Params) -> None:
    at("truncate")
    os.truncate(path, params.get("size", 0))


def do_chmod(path: str, params: Params) -> None:
    at("chmod")
    mode = params["mode"]
    os.chmod(path, int(mode, 8) if isinstance(mode, str) else mode)


def do_list(path: str, params: Params) -> str:
    at("open")
    return json.dumps(sorted(os.listdir(path)))


def do_utime(path: str, params: Params) -> None:
    at("utime")
    os.utime(path)


# ---- SQLite

PRIMARY = ("CANTOPEN", "READONLY", "IOERR", "BUSY", "LOCKED", "PERM", "AUTH", "FULL", "CORRUPT", "NOTADB", "ERROR")
TEXTS = (  # for Pythons before 3.11, which do not report the code
    ("unable to open database file", "CANTOPEN"),
    ("readonly database", "READONLY"),
    ("disk I/O error", "IOERR"),
    ("database is locked", "BUSY"),
    ("database table is locked", "LOCKED"),
    ("access permission denied", "PERM"),
    ("not a database", "NOTADB"),
    ("database disk image is malformed", "CORRUPT"),
    ("database or disk is full", "FULL"),
)


def sqlite_name(error: Exception) -> tuple[str, str]:
    """Returns the primary name of SQLite's result code, and the exact one if this Python knows it."""
    exact = getattr(error, "sqlite_errorname", "") or ""
    for name in PRIMARY:
        if exact == "SQLITE_" + name or exact.startswith("SQLITE_" + name + "_"):
            return "SQLITE_" + name, exact
    for text, name in TEXTS:
        if text in str(error):
            return "SQLITE_" + name, exact
    return exact or "SQLITE_ERROR", exact


def sqlite_address(path: str, params: Params) -> str:
    from urllib.parse import quote

    words = [f"mode={params['mode']}"] if params.get("mode") else []
    words += [params["query"]] if params.get("query") else []
    return f"file:{quote(path)}{'?' if words else ''}{'&'.join(words)}"


def do_sqlite(path: str, params: Params) -> str:
    import sqlite3

    uri = any(params.get(word) for word in ("uri", "mode", "query"))
    connection = None
    try:
        at("open")
        connection = sqlite3.connect(
            sqlite_address(path, params) if uri else path,
            timeout=params.get("timeout", 0.2),
            uri=uri,
            isolation_level=None,
        )
        rows: list[Any] = []
        statements = list(params.get("sql", ()))
        if params.get("journal_mode"):
            statements.insert(0, "PRAGMA journal_mode=" + params["journal_mode"])
        for statement in statements:
            at("execute")
            cursor = connection.execute(statement)
            rows = cursor.fetchall() if cursor.description else rows
        return json.dumps([[plain(cell) for cell in row] for row in rows])
    except sqlite3.Error as error:
        name, exact = sqlite_name(error)
        raise Refused(name, str(error), exact) from None
    finally:
        if connection is not None and params.get("hold"):
            HELD.append(connection)
        elif connection is not None:
            connection.close()


def plain(cell: object) -> object:
    return cell.decode("latin-1") if isinstance(cell, bytes) else cell


# ---- sockets


def sockets() -> Any:
    try:
        import _socket as module  # a few milliseconds cheaper than socket, and all that is needed
    except ImportError:
        import socket as module  # type: ignore[no-redef]
    return module


def new_socket(family: str, kind: str, params: Params) -> Any:
    """Returns a socket by the names of its constants: `AF_INET` or `inet`, `SOCK_STREAM` or `stream`."""
    module = sockets()
    at("socket")
    try:
        family_number = getattr(module, "AF_" + family.upper().replace("AF_", ""))
        kind_number = getattr(module, "SOCK_" + kind.upper().replace("SOCK_", ""))
    except AttributeError as error:
        raise Refused("", "this Python knows no such socket: " + str(error)) from None
    made = module.socket(family_number, kind_number)
    made.settimeout(params.get("timeout", 5.0))
    return made


def do_socket(path: str, params: Params) -> None:
    new_socket(params.get("family", "inet"), params.get("type", "stream"), params).close()


def do_socketpair(path: str, params: Params) -> bytes:
    """Uses write(2) and read(2), or with `by` send: a filter that knows sockets distinguishes them."""
    at("socketpair")
    one, other = sockets().socketpair()
    if params.get("by") == "send":
        at("send")
        one.send(b"through the pair")
    else:
        at("write")
        os.write(one.fileno(), b"through the pair")
    at("read")
    value = os.read(other.fileno(), 64)
    one.close()
    other.close()
    return value


def receive_all(connection: Any) -> bytes:
    at("receive")
    received = b""
    while len(received) < VALUE_LIMIT:
        part: bytes = connection.recv(16384)
        if not part:
            break
        received += part
    return received


def do_http(path: str, params: Params) -> bytes:
    connection = new_socket("inet", "stream", params)
    try:
        at("connect")
        connection.connect(("127.0.0.1", int(params["port"])))
        at("send")
        asked = f"GET /{params.get('token', '')} HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        connection.sendall(asked.encode())
        head, _, body = receive_all(connection).partition(b"\r\n\r\n")
    finally:
        connection.close()
    at("status")
    if head.split(b" ", 2)[1:2] != [b"200"]:
        raise Refused("", "answered " + head[:200].decode("latin-1"))
    return body


def unix_address(text: str) -> str:
    """Returns the address for the kernel. A word without a folder is an abstract name, as is `@word`.

    An address holds 107 bytes, so a longer path goes through its folder's descriptor.
    """
    if "/" not in text:
        return "\0" + text.lstrip("@")
    if len(os.fsencode(text)) <= 107:
        return text
    at("open")
    folder = os.open(os.path.dirname(text), os.O_RDONLY | os.O_DIRECTORY)
    HELD.append(folder)
    return f"/proc/self/fd/{folder}/{os.path.basename(text)}"


def do_unix_connect(path: str, params: Params) -> bytes:
    address = unix_address(params.get("address") or path)
    connection = new_socket("unix", params.get("type", "stream"), params)
    try:
        at("connect")
        connection.connect(address)
        at("send")
        connection.sendall(params.get("token", "").encode() + b"\n")
        at("receive")
        answer: bytes = connection.recv(4096)
        return answer
    finally:
        connection.close()


def do_unix_bind(path: str, params: Params) -> None:
    address = unix_address(params.get("address") or path)
    made = new_socket("unix", params.get("type", "stream"), params)
    try:
        at("bind")
        made.bind(address)
        at("listen")
        made.listen(1)
    finally:
        made.close()


# ---- names


def dns_question(name: str) -> bytes:
    labels = name.encode("ascii").strip(b".").split(b".")
    if any(not 1 <= len(label) <= 63 for label in labels):
        raise Refused("", "not a host name: " + name)
    packed = b"".join(bytes([len(label)]) + label for label in labels)
    return b"cx\x01\x00\x00\x01" + bytes(6) + packed + b"\x00\x00\x01\x00\x01"


def dns_address(answer: bytes, question: bytes) -> str:
    """Returns the address of the first A record that answers `question`."""
    at("answer")
    if len(answer) < 12 or answer[:2] != question[:2]:
        raise Refused("", "not an answer to the question")
    if answer[3] & 15 or not int.from_bytes(answer[6:8], "big"):
        raise Refused("", f"answered with code {answer[3] & 15} and no address")
    place = len(question)  # the question is repeated; then: a name (a pointer of 2 bytes), type, class, ttl, length
    if answer[place] & 0xC0 != 0xC0:
        place += len(question) - 12 - 4 - 2
    place += 2
    record = answer[place : place + 14]
    if record[:2] != b"\0\1" or record[8:10] != b"\0\4":
        raise Refused("", "answered with something else than an address")
    return ".".join(str(byte) for byte in record[10:14])


def do_dns(path: str, params: Params) -> str:
    question = dns_question(params["name"])
    tcp = params.get("transport", "udp") == "tcp"
    connection = new_socket("inet", "stream" if tcp else "dgram", params)
    try:
        at("connect")
        connection.connect(("127.0.0.1", int(params["port"])))
        at("send")
        connection.sendall((len(question).to_bytes(2, "big") if tcp else b"") + question)
        at("receive")
        answer: bytes = connection.recv(4096)
        while tcp and (len(answer) < 2 or len(answer) < 2 + int.from_bytes(answer[:2], "big")):
            more = connection.recv(4096)
            if not more:
                break
            answer += more
    finally:
        connection.close()
    return dns_address(answer[2:] if tcp else answer, question)


def do_getaddrinfo(path: str, params: Params) -> str:
    module = sockets()
    at("getaddrinfo")
    try:
        found = module.getaddrinfo(params["name"], None, 0, module.SOCK_STREAM)
    except module.gaierror as error:
        names = [name for name in dir(module) if name.startswith("EAI_") and getattr(module, name) == error.args[0]]
        raise Refused(names[0] if names else "", str(error.args[-1])) from None
    return json.dumps(sorted({entry[4][0] for entry in found}))


# ---- the process itself


def do_env(path: str, params: Params) -> str:
    names = params.get("names", ["*"])
    names = sorted(os.environ) if "*" in names else names
    return json.dumps({name: os.environ.get(name) for name in names})


def do_stdin(path: str, params: Params) -> str:
    import hashlib

    at("read")
    digest, length = hashlib.sha256(), 0
    while True:
        part = os.read(0, 65536)
        if not part:
            return json.dumps({"sha256": digest.hexdigest(), "length": length})
        digest.update(part)
        length += len(part)


def do_output(path: str, params: Params) -> str:
    import hashlib

    data = hashlib.shake_128(str(params.get("seed", "")).encode()).digest(int(params["size"]))
    at("write")
    write_out(data)
    return json.dumps({"sha256": hashlib.sha256(data).hexdigest(), "length": len(data)})


def do_exit(path: str, params: Params) -> None:
    AFTERWARDS.append(lambda: os._exit(int(params.get("code", 0))))


def do_signal(path: str, params: Params) -> None:
    number = int(params["number"])

    def end() -> None:
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    AFTERWARDS.append(end)


def do_become(path: str, params: Params) -> None:
    """Replaces the probe by a program after the last row: the sandbox proved for the probe is the program's."""
    for name in params.get("without", ()):
        os.environ.pop(name, None)
    argv = params["argv"]

    def become() -> None:
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and a program would inherit that
            signal.signal(number, signal.SIG_DFL)
        try:
            os.execvp(argv[0], argv)
        except OSError as error:
            os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
            os._exit(127 if error.errno == errno.ENOENT else 126)

    AFTERWARDS.append(become)


def do_sleep(path: str, params: Params) -> None:
    time.sleep(float(params["seconds"]))


def do_beat(path: str, params: Params) -> None:
    AFTERWARDS.append(lambda: time.sleep(float(params["seconds"])))


def do_spawn_lingering(path: str, params: Params) -> str:
    at("fork")
    child = os.fork()
    if child:
        return str(child)
    try:
        linger(path, params)
    finally:
        os._exit(0)


def linger(path: str, params: Params) -> None:
    if params.get("setsid"):
        os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    until = time.monotonic() + float(params.get("seconds", 60))
    while time.monotonic() < until:
        if path:
            put_down(path, "still here\n", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        time.sleep(0.05)


STATUS = ("Uid", "Gid", "NoNewPrivs", "Seccomp", "Seccomp_filters", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")


def do_status(path: str, params: Params) -> str:
    at("open")
    with open("/proc/self/status") as file:
        pairs = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    return json.dumps({name: pairs[name] for name in STATUS if name in pairs})


def do_run(path: str, params: Params) -> bytes:
    """Runs a program. `value`: its output; if it failed, the row is not ok and `detail` holds the code."""
    import subprocess

    at("exec")
    ended = subprocess.run(
        params["argv"], stdin=subprocess.DEVNULL, capture_output=True, timeout=params.get("timeout", 10), check=False
    )
    if ended.returncode:
        said = ended.stderr[-2000:].decode("latin-1")
        raise Refused("", f"ended with {ended.returncode}: {said}", ended.stdout.decode("latin-1"))
    return ended.stdout


# ---- the protocol

VERBS = {name[3:].replace("_", "-"): made for name, made in list(globals().items()) if name.startswith("do_")}


def verb(name: str) -> Any:
    """Returns a verb of this file, or of a file beside it that has more."""
    for more in ("verbs", "kernel_verbs"):
        if name not in VERBS:
            sys.dont_write_bytecode = True  # its cache would be a file that the command left behind
            sys.path.append(os.path.dirname(os.path.abspath(__file__)))
            found = vars(__import__(f"{os.path.basename(__file__)[:-3]}_{more}"))
            found.update(at=at, new_socket=new_socket, unix_address=unix_address, Refused=Refused)
            VERBS.update({word[3:].replace("_", "-"): made for word, made in found.items() if word.startswith("do_")})
    return VERBS[name]


GO = signal.SIGUSR1  # of guest/process_scope.py
ENDING = ("exit", "signal", "become")  # they must be the last act: `done` is printed before they end the probe


def write_out(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


def say(nonce: str, message: dict[str, object]) -> None:
    write_out(f"\x1ecx:{nonce}:{json.dumps(message)}\n".encode())


def hears_nothing() -> bool:
    """Checks whether stdin is closed, or /dev/null. Then the probe asks for a signal in place of the line `go`."""
    try:
        return os.fstat(0).st_rdev == os.makedev(1, 3)
    except OSError:
        return True


def wait_for_go() -> None:
    """Waits for the line `go` on stdin. Reads byte by byte, because the rest of stdin belongs to the command."""
    if hears_nothing():
        signal.sigtimedwait({GO}, 5)
        return
    line, is_file = b"", os.path.isfile("/proc/self/fd/0")  # a file grows by that line: its end is not the end
    signal.signal(signal.SIGTTIN, signal.SIG_IGN) if os.isatty(0) else None  # in the background no process may read
    until = time.monotonic() + 10
    while line.strip() != b"go" or not line.endswith(b"\n"):
        line = b"" if line.endswith(b"\n") else line
        try:
            byte = os.read(0, 1)
        except OSError as problem:
            time.sleep(problem.errno == errno.EIO)  # time to be inspected
            return
        if not byte:
            if not is_file or time.monotonic() > until:
                return
            time.sleep(0.002)
        line += byte


def text_of(value: object) -> str:
    if isinstance(value, bytes):
        return value[:VALUE_LIMIT].decode("latin-1")
    return "" if value is None else printable(value)[:VALUE_LIMIT]


def printable(text: object) -> str:
    """Replaces what JSON cannot hold: a file name need not be UTF-8, and half of a surrogate pair is no JSON."""
    return str(text).encode("utf-8", "backslashreplace").decode()


def name_of(error: OSError) -> str:
    if error.errno is None:  # a socket's own time limit has none
        return "ETIMEDOUT" if "timed out" in str(error) else ""
    return errno.errorcode.get(error.errno, str(error.errno))


def perform(act: Params) -> Params:
    """Returns one row; never raises."""
    STEP[0], started = "", time.perf_counter()
    row: Params = {"act": act["id"], "ok": False, "errno": "", "step": "", "value": "", "detail": ""}
    try:
        row["value"] = text_of(verb(act["verb"])(act.get("path", ""), act.get("params", {})))
        row["ok"] = True
    except Refused as refused:
        row.update(errno=refused.name, detail=printable(refused.detail)[:2000], value=text_of(refused.value))
    except OSError as error:
        row.update(errno=name_of(error), detail=printable(error)[:2000])
    except Exception as error:
        row.update(detail=printable(f"{type(error).__name__}: {error}")[:2000])
    if not row["ok"]:
        row["step"] = STEP[0]
    row["ms"] = round((time.perf_counter() - started) * 1000, 3)
    return row


def main() -> None:
    nonce, plan = sys.argv[1], json.loads(zlib.decompress(a2b_base64(sys.argv[2])))
    deaf = hears_nothing()
    if deaf:  # before the agent hears of us: it must find the signal held back, or it would end us
        signal.pthread_sigmask(signal.SIG_BLOCK, {GO})
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # an interrupt ends it as it ends any program, without a traceback
    say(nonce, {"ready": {"pid": os.getpid(), **({"go": "signal"} if deaf else {})}})
    wait_for_go()
    for done, act in enumerate(plan["acts"], 1):
        AFTERWARDS.clear()
        say(nonce, {"row": perform(act)})
        if act["verb"] in ENDING:
            say(nonce, {"done": done})
        for afterwards in AFTERWARDS:
            afterwards()
    say(nonce, {"done": len(plan["acts"])})
    os._exit(0)  # nothing to tidy: quicker, and a child of an act cannot hold it back


if __name__ == "__main__":
    main()
