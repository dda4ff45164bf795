"""Rows of an environment in which a sandbox starts: what it refuses, what Codex cannot read, what is not its doing."""

from typing import Final, NamedTuple

from tests.docker.repro_builders import Place

CODEX: Final = "$CODEX sandbox -c 'sandbox_mode=\"workspace-write\"' --"


class Row(NamedTuple):
    line: str
    said: str
    fingerprint: str
    pasted: bool = False


def python(code: str) -> str:
    return f'$PY -c "{code}"'


def rooted(root: str) -> str:
    return CODEX.removesuffix(" --") + f" -c 'sandbox_workspace_write.writable_roots=[\"'{root}'\"]' -- true"


_SERVER: Final = "import socket; s=socket.create_server(('127.0.0.1',0),backlog=0); a=s.getsockname()"
_FULL: Final = "k=[socket.socket() for _ in range(9)]; [(x.setblocking(False), x.connect_ex(a)) for x in k]"
_TLS: Final = (
    "openssl req -x509 -newkey rsa:2048 -nodes -keyout k -out c -subj /CN=localhost -days 1 2>/dev/null; "
    "$PY -c \"import ssl,socket,threading; c=ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); c.load_cert_chain('c','k'); "
    "a,b=socket.socketpair(); s=c.wrap_socket(a,server_side=True,do_handshake_on_connect=False); "
    "threading.excepthook=lambda _: None; threading.Thread(target=s.do_handshake,daemon=True).start(); "
    "ssl.create_default_context().wrap_socket(b,server_hostname='localhost')\""
)
_MADE: Final = "import sqlite3; a=sqlite3.connect('$HOME/x.db')"
_TABLE: Final = "a.execute('create table t(x)'); a.commit()"
_IN_HOME: Final = "import sqlite3; sqlite3.connect('$HOME/x.db').execute"

ORDINARY: Final[dict[Place, tuple[Row, ...]]] = {
    Place(): (
        # what bubblewrap and Codex say of what they were asked for
        Row(
            "bwrap --ro-bind / / --chdir /nonexistent true",
            "bwrap: Can't chdir to /nonexistent: No such file or directory",
            "bwrap-chdir-failed",
        ),
        Row(
            "bwrap --ro-bind /nonexistent /x true",
            "bwrap: Can't find source path /nonexistent: No such file or directory",
            "source-path-missing",
        ),
        Row(
            "bwrap --ro-bind / / --dir /x true", "bwrap: Can't mkdir /x: Read-only file system", "mount-point-not-made"
        ),
        Row(
            f"{CODEX} nonesuch",
            "Failed to execvp nonesuch: No such file or directory (os error 2)",
            "command-not-found",
        ),
        Row(
            f"{CODEX} /etc/passwd",
            "Failed to execvp /etc/passwd: Permission denied (os error 13)",
            "command-not-executable",
        ),
        Row(
            "bwrap --ro-bind / / /etc/passwd",
            "bwrap: execvp /etc/passwd: Permission denied",
            "command-not-executable",
        ),
        Row(
            f"TMPDIR=/nonexistent {CODEX} true",
            "failed to resolve synthetic mount registry temp directory /nonexistent: "
            "No such file or directory (os error 2)",
            "tmpdir-missing",
        ),
        Row(
            f"{rooted('$WORKSPACE/build')} 2>&1 | sed 's/bindfile[^ ]*/bindfileXXXXXX/'; false",
            "bwrap: Can't bind mount /bindfileXXXXXX on /newroot@WORKSPACE@/build: "
            "Unable to mount source on destination: No such file or directory",
            "writable-root-missing-in-another",
        ),
        Row(
            f"ln -s $OUTSIDE out; {rooted('$WORKSPACE/out')}",
            "error building bubblewrap command: Fatal error: cannot enforce sandbox read-only path "
            "@WORKSPACE@/out/.git because it crosses writable symlink @WORKSPACE@/out",
            "writable-symlink-crossed",
        ),
        Row(rooted("/sys"), "bwrap: Can't mkdir /sys/.git: Read-only file system", "mount-point-not-made"),
        Row(f"cd /; {CODEX} true", "bwrap: Can't mkdir /.git: Permission denied", "cwd-is-the-root-folder"),
        Row(f"cd /etc; {CODEX} true", "bwrap: Can't mkdir /etc/.git: Permission denied", "root-not-writable-by-user"),
        Row("$CODEX sandbox", "No command specified to execute.", "no-command-given"),
        Row(
            "$CODEX sandbox linux -- true",
            "Failed to execvp linux: No such file or directory (os error 2)",
            "sandbox-linux-is-a-program",
        ),
        Row(
            "CODEX_HOME=/nonexistent $CODEX sandbox -- true",
            'Error: CODEX_HOME points to "/nonexistent", but that path does not exist',
            "codex-home-missing",
        ),
        Row(
            "$CODEX sandbox -c nonsense -- true",
            "Error: Invalid override (missing '='): nonsense",
            "override-without-equals",
        ),
        Row(
            "$CODEX sandbox --nonsense -- true",
            "error: unexpected argument '--nonsense' found",
            "cli-unknown-argument",
        ),
        Row(
            "$CODEX sandbox --full-auto -- true",
            "error: unexpected argument '--full-auto' found",
            "cli-full-auto-gone",
        ),
        # what an unreadable program says of its own files in /proc
        Row(
            "cp /usr/bin/unshare u; chmod 111 u; ./u --user --setgroups deny true",
            "u: cannot open /proc/self/setgroups: Permission denied",
            "setgroups-refused",
        ),
        Row(
            "CODEX_HOME=/etc/passwd $CODEX exec hi </dev/null",
            'Error finding codex home: CODEX_HOME points to "/etc/passwd", but that path is not a directory',
            "codex-home-missing",
        ),
        Row("$CODEX debug landlock -- true", "error: unrecognized subcommand 'landlock'", "cli-debug-landlock-gone"),
        Row(
            "$CODEX --enable nonsense sandbox -- true", "Error: Unknown feature flag: nonsense", "unknown-feature-flag"
        ),
        Row(
            "$CODEX sandbox -c 'sandbox_mode=\"x\"' -- true",
            "Error: unknown variant `x`, expected one of `read-only`, `workspace-write`, `danger-full-access`",
            "sandbox-mode-unknown",
        ),
        Row(
            'echo "a = [" > $CODEX_HOME/config.toml; $CODEX sandbox -- true',
            "Error: @CODEX_HOME@/config.toml:1:6: unclosed array, expected `]`",
            "config-not-toml",
        ),
        Row(
            'printf "a=1\\na=2\\n" > $CODEX_HOME/config.toml; $CODEX sandbox -- true',
            "Error: @CODEX_HOME@/config.toml:2:1: duplicate key",
            "config-duplicate-key",
        ),
        Row(
            'echo "model = 3" > $CODEX_HOME/config.toml; $CODEX sandbox -- true',
            "Error: @CODEX_HOME@/config.toml:1:9: invalid type: integer `3`, expected a string",
            "config-wrong-type",
        ),
        # what a sandbox that works refuses
        Row(
            f'{CODEX} touch "$OUTSIDE/x"',
            "touch: cannot touch '@OUTSIDE@/x': Read-only file system",
            "write-outside-roots",
        ),
        Row(
            f'mkdir -p $HOME/.local; {CODEX} mkdir "$HOME/.local/state"',
            "mkdir: cannot create directory ‘@HOME@/.local/state’: Read-only file system",
            "home-state-refused",
        ),
        Row(
            f"mkdir .git; {CODEX} touch .git/x",
            "touch: cannot touch '.git/x': Read-only file system",
            "git-folder-protected",
        ),
        Row(
            f"{CODEX} {python('import socket; socket.socket()')}",
            "PermissionError: [Errno 1] Operation not permitted",
            "python-socket-refused",
        ),
        Row(
            f"{CODEX} "
            + python(
                "import ctypes,os; l=ctypes.CDLL(None,use_errno=True); l.ptrace(0,0,0,0); "
                "print('ptrace:', os.strerror(ctypes.get_errno())); raise SystemExit(1)"
            ),
            "ptrace: Operation not permitted",
            "ptrace-refused",
        ),
        Row(
            f"{python(f'{_MADE}; {_TABLE}')}; {CODEX} " + python(f"{_IN_HOME}('insert into t values(1)')"),
            "sqlite3.OperationalError: attempt to write a readonly database",
            "sqlite-read-only",
        ),
        Row(
            python(f"{_MADE}; a.execute('pragma journal_mode=wal'); {_TABLE}")
            + f"; {CODEX} "
            + python(f"{_IN_HOME}('select * from t')"),
            "sqlite3.OperationalError: unable to open database file",
            "sqlite-cannot-open",
        ),
        Row(
            f"{CODEX} " + python("import socket; socket.getaddrinfo('nobody.invalid',80)"),
            "socket.gaierror: [Errno -3] Temporary failure in name resolution",
            "name-lookup-failed",
        ),
        # what no sandbox has to do with, whatever it looks like
        Row(
            python("import socket; socket.getaddrinfo('nobody.invalid',80)"),
            "socket.gaierror: [Errno -2] Name or service not known",
            "name-does-not-exist",
        ),
        Row(
            python("import socket; socket.create_connection(('127.0.0.1',1))"),
            "ConnectionRefusedError: [Errno 111] Connection refused",
            "connection-refused",
        ),
        Row(
            python(f"{_SERVER}; {_FULL}; socket.create_connection(a, 1)"),
            "TimeoutError: timed out",
            "connection-timeout",
        ),
        Row(
            python("import socket; socket.create_connection(('192.0.2.1',1), 1)"),
            "OSError: [Errno 101] Network is unreachable",
            "network-unreachable",
        ),
        Row(
            _TLS,
            "ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: "
            "self-signed certificate (_ssl.c:1006)",
            "tls-untrusted",
        ),
        Row("cp /dev/zero /dev/shm/x", "cp: error writing '/dev/shm/x': No space left on device", "no-space"),
        Row("touch /etc/x", "touch: cannot touch '/etc/x': Permission denied", "permission-denied"),
        Row(
            python("import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"),
            "PermissionError: [Errno 1] Operation not permitted",
            "python-socket-refused",
        ),
        Row(
            "chown root /etc/passwd",
            "chown: changing ownership of '/etc/passwd': Operation not permitted",
            "not-permitted",
        ),
        Row(
            "apt-get install x",
            "E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)",
            "apt-not-root",
        ),
        Row("dpkg -i x.deb", "dpkg: error: requested operation requires superuser privilege", "apt-not-root"),
        Row(
            python("import sqlite3; sqlite3.connect('/etc/ssl/x.db')"),
            "sqlite3.OperationalError: unable to open database file",
            "sqlite-cannot-open",
        ),
        Row(
            "yes nothing | head -c 4096 > x.db; "
            + python("import sqlite3; sqlite3.connect('x.db').execute('select * from t')"),
            "sqlite3.DatabaseError: file is not a database",
            "sqlite-not-a-database",
        ),
        Row(
            python(
                "import sqlite3; a=sqlite3.connect('x.db'); a.execute('begin exclusive'); "
                "sqlite3.connect('x.db',timeout=0).execute('create table t(x)')"
            ),
            "sqlite3.OperationalError: database is locked",
            "sqlite-locked",
        ),
        Row(
            python(
                f"import sqlite3; a=sqlite3.connect('x.db'); {_TABLE}; a.execute('pragma max_page_count=2'); "
                "a.execute('insert into t values(zeroblob(99999))')"
            ),
            "sqlite3.OperationalError: database or disk is full",
            "sqlite-disk-full",
        ),
        Row(
            "ulimit -n 8; " + python("import os; [os.open('/',0) for _ in range(9)]"),
            "OSError: [Errno 24] Too many open files: '/'",
            "too-many-open-files",
        ),
        Row(
            'printf "\\177ELF\\002\\001\\001\\000\\000\\000\\000\\000\\000\\000\\000\\000\\002\\000\\377\\000" > x; '
            "chmod +x x; bash -c ./x",
            "bash: line 1: ./x: cannot execute binary file: Exec format error",
            "wrong-architecture",
        ),
        Row(
            "sed s/libcap.so.2/libcaq.so.2/ /usr/bin/bwrap > x; chmod +x x; ./x true",
            "./x: error while loading shared libraries: libcaq.so.2: "
            "cannot open shared object file: No such file or directory",
            "library-missing",
        ),
    ),
    # words that are said in a sandbox as well
    Place("read-only-rootfs", user="root"): (
        Row("touch /etc/x", "touch: cannot touch '/etc/x': Read-only file system", "write-outside-roots"),
        Row("touch /usr/.cache", "touch: cannot touch '/usr/.cache': Read-only file system", "write-outside-roots"),
    ),
}
