"""Words that programs say, each with the set-up in which a real program says them here, and the cause they must get.

A row is: a line for a shell, the words (whole lines, byte for byte; fresh folders by their names), the fingerprint.
`pasted`: the words alone, as somebody sends them who tells nothing of the machine. What a profile called `synthetic-…`
makes is a refusal by a filter of ours; everything else here is natural: a kernel, an engine or a program says it.
"""

from typing import Final, NamedTuple

from tests.docker.reproducing import Place

CODEX: Final = "$CODEX sandbox -c 'sandbox_mode=\"workspace-write\"' --"
ALL: Final = "bwrap --unshare-all --ro-bind / / --dev /dev --proc /proc true"
DEBIAN: Final = "See <https://deb.li/bubblewrap> or <file:///usr/share/doc/bubblewrap/README.Debian.gz>."
SYSCTL: Final = "On e.g. debian this can be enabled with 'sysctl kernel.unprivileged_userns_clone=1'."
KERNEL: Final = "likely because the kernel does not allow non-privileged user namespaces."
NEW_PROC: Final = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted"
NEWER_PROC: Final = "bwrap: Can't mount proc on /proc: Operation not permitted"
NESTING: Final = (
    "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)"
)
NO_USERNS: Final = (
    "bwrap: Creating new namespace failed, likely because the kernel does not support user namespaces.  "
    "bwrap must be installed setuid on such systems."
)
MAP_DENIED: Final = "bwrap: setting up uid map: Permission denied"
NEWADDR: Final = "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted"
SLAVE: Final = "bwrap: Failed to make / slave: Operation not permitted"
PIVOT: Final = "bwrap: pivot_root: Operation not permitted"
BUNDLED: Final = f"bwrap: No permissions to create a new namespace, {KERNEL} {SYSCTL}"
OURS: Final = f"bwrap: No permissions to create new namespace, {KERNEL} {DEBIAN}"


class Row(NamedTuple):
    line: str
    said: str
    fingerprint: str
    pasted: bool = False


def python(code: str) -> str:
    return f'$PY -c "{code}"'


REFUSING: Final[dict[Place, tuple[Row, ...]]] = {
    Place("docker-default"): (
        Row(ALL, OURS, "userns-refused-by-outer-filter"),
        Row(ALL, OURS, "userns-not-permitted", pasted=True),
        Row(f"{CODEX} true", OURS, "userns-refused-by-outer-filter"),
        Row("unshare -U true", "unshare: unshare failed: Operation not permitted", "unshare-refused"),
    ),
    Place("docker-default", "0.8.0"): (
        Row(ALL, f"bwrap: No permissions to creating new namespace, {KERNEL} {SYSCTL}", "userns-not-permitted", True),
    ),
    Place("docker-default", "none"): (
        Row(f"{CODEX} true", BUNDLED, "userns-refused-by-outer-filter"),
        Row(f"{CODEX} true", BUNDLED, "userns-not-permitted", pasted=True),
        Row("bwrap true", "sh: 1: bwrap: not found", "bwrap-not-found"),
    ),
    Place("docker-default", user="root"): (
        Row(
            "bwrap --ro-bind / / true",
            "bwrap: Creating new namespace failed: Operation not permitted",
            "namespace-refused-to-root",
        ),
    ),
    Place("seccomp-plus-userns"): (
        Row(ALL, SLAVE, "mount-refused-by-seccomp"),
        Row(f"{CODEX} true", SLAVE, "mount-refused-by-seccomp"),
    ),
    Place("sys-admin", user="root"): (
        Row(
            "bwrap --ro-bind / / --unshare-net true",
            "bwrap: loopback: Failed RTM_NEWADDR: No child processes",
            "loopback-newaddr-no-capability",
        ),
        Row(
            "$BUNDLED --ro-bind / / --unshare-net true",  # another C library, another word
            "bwrap: loopback: Failed RTM_NEWADDR: No child process",
            "loopback-newaddr-no-capability",
        ),
        Row(f"{CODEX} true", PIVOT, "pivot-root-refused"),
    ),
    Place("drop-setfcap", user="root"): (
        Row(ALL, "bwrap: setting up uid map: Operation not permitted", "uid-map-needs-setfcap"),
        Row(
            "unshare -r true",
            "unshare: write failed /proc/self/uid_map: Operation not permitted",
            "unshare-uid-map-refused",
        ),
    ),
    Place("seccomp-unconfined"): (Row(ALL, NEW_PROC, "proc-mount-refused"),),
    Place("seccomp-unconfined", "0.12.0"): (
        Row(ALL, NEWER_PROC, "proc-mount-refused"),
        Row(f"{CODEX} true", NEWER_PROC, "proc-mount-refused"),
    ),
    Place("synthetic-userns-enospc"): (
        Row(ALL, NESTING, "userns-limit-by-filter"),
        Row(ALL, NESTING, "userns-limit", pasted=True),
        Row("unshare -U true", "unshare: unshare failed: No space left on device", "unshare-limit"),
    ),
    Place("synthetic-userns-einval"): (
        Row(ALL, NO_USERNS, "userns-einval-by-filter"),
        Row(ALL, NO_USERNS, "userns-not-in-kernel", pasted=True),
        Row("unshare -U true", "unshare: unshare failed: Invalid argument", "unshare-not-in-kernel"),
    ),
    Place("synthetic-uid-map-eacces"): (
        Row(f"{CODEX} true", MAP_DENIED, "uid-map-refused-by-filter"),
        Row(ALL, MAP_DENIED, "uid-map-refused", pasted=True),
    ),
    Place("synthetic-rtm-newaddr"): (
        Row(f"{CODEX} true", NEWADDR, "loopback-newaddr-refused-by-filter"),
        Row(ALL, NEWADDR, "loopback-newaddr-refused", pasted=True),
    ),
    Place("synthetic-netlink-socket"): (
        Row(
            ALL,
            "bwrap: loopback: Failed to create NETLINK_ROUTE socket: Operation not permitted",
            "netlink-socket-refused",
        ),
    ),
    Place("synthetic-seccomp"): (
        Row(
            f"{CODEX} true",
            "error applying Linux sandbox restrictions: Sandbox(SeccompInstall(Seccomp(Os "
            '{ code: 1, kind: PermissionDenied, message: "Operation not permitted" })))',
            "seccomp-install-refused",
        ),
    ),
    Place("synthetic-unshare-eperm"): (
        Row(f"{CODEX} true", "bwrap: unshare user ns: Operation not permitted", "unshare-userns-refused"),
    ),
    Place("synthetic-proc-mount"): (Row(ALL, NEW_PROC, "proc-mount-refused-by-filter"),),
    Place("synthetic-apparmor-userns"): (
        Row(
            "bwrap --ro-bind / / true; unshare -r true",
            f"{MAP_DENIED}\nunshare: write failed /proc/self/uid_map: Operation not permitted",
            "apparmor-restricts-uid-map",
            pasted=True,
        ),
        Row(
            "bwrap --ro-bind / / --unshare-net true; bwrap --ro-bind / / true",
            f"{NEWADDR}\n{MAP_DENIED}",
            "apparmor-restricts-userns",
            pasted=True,
        ),
    ),
}

BUBBLEWRAPS: Final[dict[Place, tuple[Row, ...]]] = {
    Place(bwrap="0.4.1"): (
        Row("bwrap --perms 0700 --dir /x true", "bwrap: Unknown option --perms", "bwrap-too-old-perms"),
    ),
    Place(bwrap="0.8.0"): (
        Row("bwrap --argv0 x --ro-bind / / true", "bwrap: Unknown option --argv0", "bwrap-too-old-argv0"),
        Row("bwrap --overlay-src / true", "bwrap: Unknown option --overlay-src", "bwrap-unknown-option"),
    ),
    Place(bwrap="0.8.0-setuid"): (Row(ALL, "bwrap: capset failed: Operation not permitted", "bwrap-capset-failed"),),
    Place(bwrap="0.12.0-setuid"): (
        Row(ALL, "bwrap: setuid use of bubblewrap is not supported", "bwrap-setuid-refused"),
    ),
    Place(bwrap="0.8.0-0711"): (Row(f"{CODEX} true", MAP_DENIED, "uid-map-bwrap-unreadable"),),
    Place(bwrap="0.8.0-filecap"): (
        Row(ALL, "bwrap: Unexpected capabilities but not setuid, old file caps config?", "bwrap-file-capabilities"),
    ),
}

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
}
EVERYTHING: Final = {**REFUSING, **BUBBLEWRAPS, **ORDINARY}
