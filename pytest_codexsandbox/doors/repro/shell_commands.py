"""Shell commands: for each act of the probe, a common program that makes the same system call, to be typed by hand."""

from collections.abc import Callable
from typing import Final
from urllib.parse import quote

from pytest_codexsandbox.doors.repro.paths import Paths
from pytest_codexsandbox.model.act import Act

Words = tuple[str, ...]

RENAME: Final = "import os, sys; os.rename(sys.argv[1], sys.argv[2])"
TRUNCATE: Final = "import os, sys; os.truncate(sys.argv[1], int(sys.argv[2]))"
SQLITE: Final = (
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], uri=sys.argv[1].startswith('file:'), isolation_level=None, "
    "timeout=0.2); [print(c.execute(sql).fetchall()) for sql in sys.argv[2:]]"
)
SOCKET: Final = "import socket; socket.socket(socket.AF_{}, socket.SOCK_{}); print('made')"
SOCKETPAIR: Final = "import os, socket; a, b = socket.socketpair(); {}; print(os.read(b.fileno(), 64))"
THROUGH: Final = {True: "a.send(b'through the pair')", False: "os.write(a.fileno(), b'through the pair')"}
HTTP: Final = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=5).read())"
UNIX: Final = (
    "import os, socket, sys; s = socket.socket(socket.AF_UNIX); a = sys.argv[1]; "
    "'/' in a and os.chdir(os.path.dirname(a)); "
    "s.connect(os.path.basename(a) if '/' in a else chr(0) + a); s.sendall(b'hello' + b'\\n'); print(s.recv(99))"
)
UNIX_BIND: Final = (
    "import os, socket, sys; a = sys.argv[1]; os.chdir(os.path.dirname(a)); "
    "s = socket.socket(socket.AF_UNIX); s.bind(os.path.basename(a)); print('bound')"
)
QUESTION: Final = "q = b'cx\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\7example\\4test\\0\\0\\1\\0\\1'; "
DNS: Final = {
    "udp": "import socket, sys; " + QUESTION + "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
    "s.settimeout(5); s.connect(('127.0.0.1', int(sys.argv[1]))); s.send(q); print(list(s.recv(512)[-4:]))",
    "tcp": "import socket, sys; " + QUESTION + "s = socket.socket(); s.settimeout(5); "
    "s.connect(('127.0.0.1', int(sys.argv[1]))); s.send(len(q).to_bytes(2, 'big') + q); print(list(s.recv(512)[-4:]))",
}
GETADDRINFO: Final = "import socket, sys; print(socket.getaddrinfo(sys.argv[1], None)[0][4][0])"
PYTHON: Final = ('"$PY"', "-I", "-c")
RIGS: Final = {"http": "http", "dns": "dns-udp", "unix-connect": "unix"}  # what must listen outside the sandbox


def in_words(act: Act, paths: Paths) -> Words | None:
    """Returns the filled act as words of the shell; None if only the probe can perform it."""
    made = VERBS.get(act.verb)
    return made(act, paths) if made else None


def listener_of(act: Act, paths: Paths) -> str:
    """Returns the kind of listener that the act connects to; "" if none."""
    if act.verb == "dns":
        return f"dns-{act.params.get('transport', 'udp')}"
    if act.verb == "unix-connect":
        address = act.params.get("address") or act.path
        values = paths.world.values
        return {values.get("UNIX"): "unix", values.get("ABSTRACT"): "abstract"}.get(address, "")
    return RIGS.get(act.verb, "")


def _shell(script: str, *rest: str) -> Words:
    return ("sh", "-c", f"'{script}'", "sh", *rest)


def _python(paths: Paths, code: str, *rest: str) -> Words:
    return (*PYTHON, paths.word(code), *rest)


def _data(act: Act, default: str = "x") -> str:
    return str(act.params.get("data", default))


def _write(act: Act, paths: Paths) -> Words:
    return _shell('printf %s "$2" > "$1"', paths.word(act.path), paths.word(_data(act)))


def _append(act: Act, paths: Paths) -> Words:
    return _shell('printf %s "$2" >> "$1"', paths.word(act.path), paths.word(_data(act)))


def _create(act: Act, paths: Paths) -> Words:
    return _shell('set -C; printf %s "$2" > "$1"', paths.word(act.path), paths.word(_data(act, "")))


def _two(code: str) -> Callable[[Act, Paths], Words]:
    return lambda act, paths: _python(paths, code, paths.word(act.path), paths.word(act.params["to"]))


def _tool(*words: str) -> Callable[[Act, Paths], Words]:
    return lambda act, paths: (*words, paths.word(act.path))


def _truncate(act: Act, paths: Paths) -> Words:
    return _python(paths, TRUNCATE, paths.word(act.path), str(act.params.get("size", 0)))


def _chmod(act: Act, paths: Paths) -> Words:
    mode = act.params["mode"]
    return ("chmod", paths.word(mode if isinstance(mode, str) else oct(mode)[2:]), paths.word(act.path))


def _sqlite(act: Act, paths: Paths) -> Words:
    words = [f"mode={act.params['mode']}"] if act.params.get("mode") else []
    words += [act.params["query"]] if act.params.get("query") else []
    address = f"file:{quote(act.path)}?{'&'.join(words)}" if words or act.params.get("uri") else act.path
    journal = act.params.get("journal_mode")
    statements = [*([f"PRAGMA journal_mode={journal}"] if journal else []), *act.params.get("sql", ())]
    return _python(paths, SQLITE, *paths.words([address, *statements]))


def _socket(act: Act, paths: Paths) -> Words:
    family = str(act.params.get("family", "inet")).upper().removeprefix("AF_")
    kind = str(act.params.get("type", "stream")).upper().removeprefix("SOCK_")
    return _python(paths, SOCKET.format(family, kind))


def _http(act: Act, paths: Paths) -> Words:
    return _python(paths, HTTP, '"http://127.0.0.1:$PORT/hello"')


def _unix(act: Act, paths: Paths) -> Words:
    listener = listener_of(act, paths)
    address = act.params.get("address") or act.path
    word = {"unix": '"$R"/listener.sock', "abstract": '"$ABSTRACT"'}.get(listener) or paths.word(address)
    return _python(paths, UNIX, word)


def _env(act: Act, paths: Paths) -> Words:
    names = [name for name in act.params.get("names", ["*"]) if name != "*"]
    return ("printenv", *paths.words(names)) if names else ("env",)


VERBS: Final[dict[str, Callable[[Act, Paths], Words]]] = {
    "write": _write,
    "append": _append,
    "create": _create,
    "may-write": lambda act, paths: _shell(': >> "$1"', paths.word(act.path)),
    "read": _tool("cat"),
    "stat": _tool("stat"),
    "list": _tool("ls", "-A"),
    "mkdir": _tool("mkdir"),
    "rmdir": _tool("rmdir"),
    "unlink": _tool("unlink"),
    "utime": _tool("touch", "-c"),
    "rename": _two(RENAME),
    "link": lambda act, paths: ("link", paths.word(act.path), paths.word(act.params["to"])),
    "symlink": lambda act, paths: ("ln", "-sT", paths.word(act.params["to"]), paths.word(act.path)),
    "truncate": _truncate,
    "chmod": _chmod,
    "sqlite": _sqlite,
    "socket": _socket,
    "socketpair": lambda act, paths: _python(paths, SOCKETPAIR.format(THROUGH[act.params.get("by") == "send"])),
    "http": _http,
    "unix-connect": _unix,
    "unix-bind": lambda act, paths: _python(paths, UNIX_BIND, paths.word(act.path)),
    "dns": lambda act, paths: _python(paths, DNS[act.params.get("transport", "udp")], '"$PORT"'),
    "getaddrinfo": lambda act, paths: _python(paths, GETADDRINFO, paths.word(act.params["name"])),
    "env": _env,
    "exit": lambda act, paths: ("sh", "-c", f"'exit {int(act.params.get('code', 0))}'"),
    "signal": lambda act, paths: ("sh", "-c", f"'kill -{int(act.params['number'])} $$'"),
    "sleep": lambda act, paths: ("sleep", str(act.params["seconds"])),
    "status": lambda act, paths: ("grep", "-E", "'^(NoNewPrivs|Seccomp|Cap)'", "/proc/self/status"),
    "unshare-user": lambda act, paths: ("unshare", "--user", "true"),
    "become": lambda act, paths: paths.words(act.params["argv"]),
    "run": lambda act, paths: paths.words(act.params["argv"]),
}
