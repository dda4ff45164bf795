"""The parts of a repro script around the call: what lies there before, what listens outside, what is seen after."""

from collections.abc import Iterable, Sequence
from typing import Final

from pytest_codexsandbox.doors.repro.paths import Paths
from pytest_codexsandbox.model.act import Given

DATABASE: Final = "CREATE TABLE t(x); INSERT INTO t VALUES('laid outside')"
LAY_DATABASE: Final = (
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('PRAGMA page_size=512'); "
    "c.execute('PRAGMA journal_mode=' + sys.argv[2]); c.executescript(sys.argv[3]); c.close()"
)
HOLD_DATABASE: Final = (
    "import sqlite3, sys, time; c = sqlite3.connect(sys.argv[1], isolation_level=None); "
    "c.execute(sys.argv[2]).fetchall(); open(sys.argv[3], 'w').close(); time.sleep(600)"
)
ROWS: Final = (
    "import sqlite3, sys; c = sqlite3.connect('file:' + sys.argv[1] + '?mode=ro', uri=True); "
    "print('  rows:', c.execute('SELECT * FROM t').fetchall())"
)
SHOW: Final = """\
show() {
  if [ -e "$1" ] || [ -L "$1" ]; then ls -ld "$1"; else echo "$1: does not exist"; fi
  if [ -f "$1" ] && [ "$(wc -c < "$1")" -lt 200 ]; then sed 's/^/  | /' "$1"; echo; fi
}"""
WAIT: Final = 'wait_for() { n=0; while [ ! -e "$1" ] && [ "$n" -lt 100 ]; do sleep 0.1; n=$((n + 1)); done; }'
LISTENER: Final = r"""
import os, socket, sys
kind, folder, abstract, wanted = sys.argv[1:]
if kind in ("unix", "abstract"):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(folder + "/listener.sock" if kind == "unix" else "\0" + abstract)
    port = ""
else:
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if kind == "dns-udp" else socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", int(wanted)))
    port = listener.getsockname()[1]
if kind != "dns-udp":
    listener.listen(9)
with open(folder + "/port.new", "w") as file:
    file.write(str(port))
os.rename(folder + "/port.new", folder + "/port")
def answer(asked):
    head = asked[:2] + b"\x81\x80\0\1\0\1\0\0\0\0"
    return head + asked[12:] + b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4\xc0\0\2\7"
while True:
    if kind == "dns-udp":
        data, whom = listener.recvfrom(512)
        listener.sendto(answer(data), whom)
    else:
        one, _ = listener.accept()
        data = one.recv(65536)
        if not data:  # a connection that was left open, and not used
            one.close()
            continue
        if kind == "dns-tcp":
            reply = answer(data[2:])
            one.sendall(len(reply).to_bytes(2, "big") + reply)
        else:
            one.sendall(b"HTTP/1.0 200 OK\r\n\r\narrived" if kind == "http" else b"arrived\n")
        one.close()
    print("seen from outside: %d bytes reached the %s server" % (len(data), kind), flush=True)
"""
KEY: Final = r"""
import ctypes, os, sys
libc, (keyctl, add_key) = ctypes.CDLL(None), (250, 248) if os.uname().machine == "x86_64" else (219, 217)
name, text = sys.argv[1].encode(), b"kept in the session keyring of the caller"
libc.syscall(ctypes.c_long(keyctl), 1, None)
libc.syscall(ctypes.c_long(add_key), b"user", name, text, ctypes.c_size_t(len(text)), -3)
os.execvp(sys.argv[2], sys.argv[2:])
"""


def lay(givens: Iterable[Given], paths: Paths) -> list[str]:
    """Returns lines that create the files that an act needs."""
    lines: list[str] = []
    for given in dict.fromkeys(givens):
        path = paths.word(given.path)
        lines += [f"mkdir -p {paths.word(given.path.rpartition('/')[0] or '/')}", *_laid(given, path, paths)]
        lines += [f"chmod {given.mode:04o} {path}"] if given.mode and given.kind != "symlink" else []
    return lines


def _laid(given: Given, path: str, paths: Paths) -> list[str]:
    content = paths.word(given.content)
    if given.kind == "file":
        return [f"printf %s {content} > {path}"]
    if given.kind == "dir":
        return [f"mkdir -p {path}"]
    if given.kind == "symlink":
        return [f"ln -sfT {content} {path}"]
    if given.kind == "hardlink":
        return [f"ln -f {content} {path}"]
    return _database(given, path, paths)


def _database(given: Given, path: str, paths: Paths) -> list[str]:
    held = given.kind == "sqlite-held"
    wal = given.kind == "sqlite-wal" or (held and given.content != "lock")
    script = DATABASE if held or not given.content else given.content
    made = f'"$PY" -I -c {paths.word(LAY_DATABASE)} {path} {"wal" if wal else "delete"} {paths.word(script)}'
    if not held:
        return [made]
    first = "BEGIN EXCLUSIVE" if given.content == "lock" else "SELECT * FROM t"
    hold = f'"$PY" -I -c {paths.word(HOLD_DATABASE)} {path} {paths.word(first)} "$R/held" & others="$others $!"'
    return [made, hold, 'wait_for "$R/held"']


def listener(kind: str, *, port: int = 0) -> list[str]:
    """Returns lines that start a server outside the sandbox; it prints what reaches it."""
    return [
        f"cat > \"$R/listener.py\" <<'LISTENER'{LISTENER}LISTENER",
        "ABSTRACT=codexsandbox-repro-$$",
        f'"$PY" -I "$R/listener.py" {kind} "$R" "$ABSTRACT" {port} & others="$others $!"',
        'wait_for "$R/port"; PORT=$(cat "$R/port")',
    ]


def key() -> list[str]:
    """Returns lines that make a program. It puts a key into a session keyring of its own, then runs a command there."""
    return [f"cat > \"$R/key.py\" <<'KEY'{KEY}KEY"]


def hidden() -> list[str]:
    """Returns lines that make the program of guest/hidden_program.py, which only a descriptor of this shell names."""
    return [
        'printf \'#!/bin/sh\\nprintf through > "$1"\\n\' > "$R/hidden"',
        'chmod 755 "$R/hidden"; exec 9< "$R/hidden"; rm "$R/hidden"',
        "HIDDEN=/proc/$$/fd/9",
    ]


def shows(looks: Sequence[str], paths: Paths) -> list[str]:
    """Returns lines that show paths as they are outside the sandbox; `PATH#rows` shows a database's rows."""
    lines = []
    for look in dict.fromkeys(looks):
        path, _, rows = look.partition("#")
        word = paths.word(path)
        lines.append(f'"$PY" -I -c {paths.word(ROWS)} {word}' if rows else f"show {word}")
    return lines
