"""Words that programs say, each with the set-up in which a real program says them here, and the cause they must get.

A row is: a line for a shell, the words (whole lines, byte for byte; fresh folders by their names), the fingerprint.
`pasted`: the words alone, as somebody sends them who tells nothing of the machine. What a profile called `synthetic-…`
makes is a refusal by a filter of ours; everything else here is natural: a kernel, an engine or a program says it.
"""

from typing import Final

from tests.docker.repro_builders import Place
from tests.docker.reproduced_ordinary import CODEX, ORDINARY, Row

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
SETATTR: Final = 'bwrap: Can\'t bind mount / on /: mount_setattr() failed at "/newroot": Operation not permitted'
PIVOT: Final = "bwrap: pivot_root: Operation not permitted"
BUNDLED: Final = f"bwrap: No permissions to create a new namespace, {KERNEL} {SYSCTL}"
OURS: Final = f"bwrap: No permissions to create new namespace, {KERNEL} {DEBIAN}"


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
    Place(user="u1000-nopasswd"): (
        Row(
            "unset HOME CODEX_HOME; $CODEX exec hi </dev/null",
            "Error finding codex home: Could not find home directory",
            "codex-home-unknown",
        ),
    ),
    Place("seccomp-unconfined", "0.12.0"): (
        Row(ALL, NEWER_PROC, "proc-mount-refused"),
        Row(f"{CODEX} true", NEWER_PROC, "proc-mount-refused"),
    ),
    Place("synthetic-mount-setattr", "0.13.0"): (
        Row(ALL, SETATTR, "mount-setattr-refused"),
        Row(f"{CODEX} true", SETATTR, "mount-setattr-refused"),
    ),
    Place("seccomp-plus-userns-mount-pivot", "0.13.0"): (
        Row(ALL, NEWER_PROC, "proc-mount-refused"),
        Row(f"{CODEX} true", NEWER_PROC, "proc-mount-refused"),
    ),
    Place("synthetic-userns-enospc"): (
        Row(ALL, NESTING, "userns-limit-by-filter"),
        Row(ALL, NESTING, "userns-limit", pasted=True),
        Row("unshare -U true", "unshare: unshare failed: No space left on device", "unshare-limit"),
    ),
    Place("synthetic-userns-enospc", "0.4.0"): (
        Row(ALL, "bwrap: Creating new namespace failed: No space left on device", "userns-limit-by-filter"),
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

# What the kernel refuses in a user namespace of one's own, whose limits and mounts are nobody else's.
_LIMITED: Final = "unshare -r sh -c 'echo 0 > /proc/sys/user/max_user_namespaces; {}'"
_MOUNTS: Final = (
    'unshare -rmpf $PY -c "import ctypes,os; l=ctypes.CDLL(None); l.mount({}); '
    "os.execvp('bwrap',['bwrap','--unshare-user','--ro-bind','/','/','true'])\""
)
NESTED: Final[dict[Place, tuple[Row, ...]]] = {
    Place(): (
        Row(_LIMITED.format("bwrap --unshare-user --ro-bind / / true"), NESTING, "userns-limit"),
        Row(_LIMITED.format("$CODEX sandbox -- true"), NESTING, "userns-limit"),
        Row(_LIMITED.format("unshare -U true"), "unshare: unshare failed: No space left on device", "unshare-limit"),
        Row(
            _MOUNTS.format("b'proc',b'/proc',b'proc',1,None"),
            "bwrap: setting up uid map: Read-only file system",
            "uid-map-read-only-proc",
        ),
        Row(
            _MOUNTS.format("b'none',b'/proc',b'tmpfs',0,None"),
            "bwrap: Can't read /proc/sys/kernel/overflowuid: No such file or directory",
            "overflow-uid-unreadable",
        ),
        Row(
            "prlimit --nproc=1:1 bwrap --unshare-user --ro-bind / / true",
            "bwrap: Creating new namespace failed: Resource temporarily unavailable",
            "namespace-process-limit",
        ),
        Row(
            "sed s/libcap.so.2/libcaq.so.2/ /usr/bin/bwrap > bwrap; chmod +x bwrap; ./bwrap true",
            "./bwrap: error while loading shared libraries: libcaq.so.2: "
            "cannot open shared object file: No such file or directory",
            "bwrap-library-missing",
        ),
        Row(
            "echo '#!/nonexistent' > x; chmod +x x; bash -c ./x",
            "bash: line 1: ./x: cannot execute: required file not found",
            "loader-missing",
        ),
    ),
}
EVERYTHING: Final = {**REFUSING, **BUBBLEWRAPS, Place(): (*NESTED[Place()], *ORDINARY[Place()])}
