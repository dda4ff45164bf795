"""Fake Codexes: every fake subject. A new promise needs at least one here that it catches; a new mutant is one entry.

The general ones come first; the mutants are sorted by the topic whose boundary they break. Those that open system
calls, devices or terminals are in kernel_fakes.py. Those about names, variables, repositories and earlier calls are in
fake_worlds.py.
"""

from collections.abc import Iterable
from typing import Final

from pytest_codexsandbox.model.policy import (
    EVERY,
    FULL_ACCESS,
    NETWORK,
    NO_TMP,
    READ_ONLY,
    ROOTS,
    SANDBOXED,
    WORKSPACE_WRITE,
)
from pytest_codexsandbox.selftest.fake import Fake, mutant, mute
from pytest_codexsandbox.selftest.fake_worlds import WORLDS
from pytest_codexsandbox.selftest.kernel_fakes import KERNEL

GOOD: Final = Fake(name="good", wrong="", kind="good", policies=EVERY)
ALLOW_ALL: Final = mutant(
    "allow-all",
    "has no sandbox: it runs the command as it is",
    "start.sandbox-is-on",
    "filesystem.outside-create-refused",
    "filesystem.workspace-read-only",
    "sqlite.rollback-outside-refused",
    "network.loopback-http-refused",
    conduct="unconfined",
    under=SANDBOXED,
)
GENERAL: Final = (
    mute("exit-0", "does nothing and reports success"),
    mute("exit-1", "does nothing and reports failure"),
    mute("silent", "swallows all output of the command", patience=0.02),
    mute("hang", "never ends", patience=0.02),
    mute("garbage", "prints nonsense with the right nonce"),
    mute("wrong-nonce", "prints what a pass would print, with another call's nonce", patience=0.02),
    mute("prose", "prints 'Permission denied' and fails"),
    mute("crash", "dies by a signal"),
    mutant(
        "liar",
        "prints what a pass would print, and does nothing",
        "filesystem.workspace-writable",
        "sqlite.workspace-works",
        conduct="liar",
    ),
    mutant(
        "late",
        "refuses while it is watched, and does it all afterwards",
        "filesystem.outside-create-refused",
        "sqlite.rollback-outside-refused",
        "network.loopback-http-refused",
        conduct="late",
    ),
    mutant("half", "stops in the middle of the work", "process.success-is-zero", conduct="half"),
    mutant("twice", "runs the command twice", "process.success-is-zero", conduct="twice"),
    mutant(
        "deny-all",
        "refuses everything, reading too",
        "filesystem.workspace-writable",
        "filesystem.outside-readable",
        flaws=("denies:workspace", "denies:tmp", "denies:tmpdir", "denies:reading", "network-on:denies"),
    ),
)

FILESYSTEM: Final = (
    mutant(
        "denies-workspace", "makes the workspace read-only", "filesystem.workspace-writable", "sqlite.workspace-works",
        flaws=("denies:workspace",),
    ),
    mutant(
        "empties-files", "gives files back without what was written into them", "filesystem.workspace-writable",
        "filesystem.root-writable", "filesystem.rename-between-roots", "sqlite.workspace-works",
        flaws=("files:emptied",), under=(ROOTS,),
    ),
    mutant(
        "read-only-writes", "takes read-only for workspace-write", "filesystem.workspace-read-only",
        flaws=("mode:writes",), under=(READ_ONLY,),
    ),
    mutant(
        "hides-outside", "hides what lies outside the workspace", "filesystem.outside-readable",
        "sqlite.outside-readable", flaws=("hides:outside",),
    ),
    mutant(
        "full-access-denies", "confines danger-full-access too", "filesystem.full-access-writes-outside",
        flaws=("full-access:denies",), under=(FULL_ACCESS,),
    ),
    mutant(
        "widens-to-parent", "widens the workspace to its parent folder", "filesystem.outside-create-refused",
        "filesystem.outside-change-refused", "filesystem.outside-delete-refused", "filesystem.home-refused",
        "filesystem.root-not-granted-refused", "sqlite.wal-outside-refused", "sqlite.new-database-outside-refused",
        "sqlite.left-over-wal-outside-refused", "sqlite.wal-in-use-outside-refused",
        "filesystem.root-missing-is-harmless", "filesystem.root-may-be-a-file", "filesystem.root-may-be-relative",
        flaws=("lets:parent",),
    ),
    mutant("lets-outside", "lets one folder outside through", "filesystem.outside-create-refused",
           flaws=("lets:outside",)),
    mutant("lets-chmod", "lets modes be changed anywhere", "filesystem.outside-mode-refused", flaws=("lets:chmod",)),
    mutant("forgets-dots", "judges a path with `..` as it is written", "filesystem.dotdot-refused",
           flaws=("paths:dots",)),
    mutant(
        "compares-prefixes", "compares paths by their beginnings", "filesystem.beside-workspace-refused",
        "filesystem.sibling-of-root-refused", flaws=("paths:prefixes",), under=(ROOTS,),
    ),
    mutant("lets-home", "lets the home folder through", "filesystem.home-refused", flaws=("lets:home",)),
    mutant("lets-codex-home", "lets $CODEX_HOME through", "filesystem.codex-home-refused",
           flaws=("lets:codex-home",)),
    mutant(
        "follows-links", "judges a link by where it lies, not by where it ends", "filesystem.symlink-escape-refused",
        "filesystem.symlinked-folder-escape-refused", "filesystem.made-symlink-escape-refused",
        flaws=("paths:lexical",),
    ),
    mutant("links-across", "lets hard links cross the boundary", "filesystem.hard-link-from-outside-refused",
           flaws=("lets:hard-links",)),
    mutant("refuses-hard-linked", "refuses files with a second name",
           "filesystem.hard-link-laid-before-writes-through", flaws=("denies:hard-linked",)),
    mutant("renames-across", "lets renames cross the boundary", "filesystem.rename-across-refused",
           flaws=("lets:renames",)),
    mutant("refuses-renames", "refuses every rename with EACCES", "filesystem.rename-between-roots",
           "filesystem.workspace-writable", flaws=("denies:renames",), under=(ROOTS,)),
    mutant("ignores-roots", "ignores writable_roots", "filesystem.root-writable", "sqlite.granted-folder-works",
           flaws=("ignores:roots",), under=(ROOTS,)),
    mutant("denies-root", "refuses a granted root", "filesystem.root-writable", "sqlite.granted-folder-works",
           "sqlite.second-reader-outside-sees-it", flaws=("denies:root",), under=(ROOTS,)),
    mutant("grants-unasked", "grants a root that was not requested", "filesystem.root-not-granted-refused",
           flaws=("lets:root0",)),
    mutant("widens-to-sibling", "widens a root to the folder beside it", "filesystem.sibling-of-root-refused",
           "sqlite.sibling-database-refused", flaws=("lets:sibling",), under=(ROOTS,)),
    mutant("missing-root-kills", "dies of a root that is not there", "filesystem.root-missing-is-harmless",
           flaws=("root:missing-kills",)),
    mutant("missing-root-inside-kills", "dies of a root in the workspace that is not there yet",
           "filesystem.root-missing-in-workspace-is-harmless", flaws=("root:missing-inside-kills",)),
    mutant("missing-root-made", "makes a root that is not there", "filesystem.root-missing-is-harmless",
           flaws=("root:missing-made",)),
    mutant("file-root-kills", "dies of a root that is a file", "filesystem.root-may-be-a-file",
           flaws=("root:file-kills",)),
    mutant("file-root-widened", "widens a root that is a file to its folder", "filesystem.root-may-be-a-file",
           "sqlite.only-the-file-granted", flaws=("root:file-folder",)),
    mutant("relative-root-lost", "loses a root that is relative", "filesystem.root-may-be-relative",
           flaws=("root:relative-ignored",)),
    mutant("foreign-root-kills", "dies of a root that the user cannot write",
           "filesystem.root-not-the-users-is-harmless", flaws=("root:foreign-kills",)),
    mutant("denies-tmp", "refuses /tmp", "filesystem.slash-tmp-writable", flaws=("denies:tmp",)),
    mutant("denies-tmpdir", "refuses $TMPDIR", "filesystem.tmpdir-writable", flaws=("denies:tmpdir",)),
    mutant("ignores-exclude-slash-tmp", "ignores exclude_slash_tmp", "filesystem.slash-tmp-refused",
           flaws=("ignores:exclude-slash-tmp",), under=(NO_TMP,)),
    mutant("ignores-exclude-tmpdir", "ignores exclude_tmpdir_env_var", "filesystem.tmpdir-refused",
           flaws=("ignores:exclude-tmpdir",), under=(NO_TMP,)),
    mutant("excludes-both", "takes each exclude key for both", "filesystem.exclude-slash-tmp-alone",
           "filesystem.exclude-tmpdir-alone", flaws=("excludes:both",)),
    mutant("excludes-neither", "ignores an exclude key that stands alone", "filesystem.exclude-slash-tmp-alone",
           "filesystem.exclude-tmpdir-alone", flaws=("ignores:exclude-slash-tmp", "ignores:exclude-tmpdir")),
    mutant("shares-shm", "lets the machine's /dev/shm through", "filesystem.shm-is-not-shared", flaws=("lets:shm",)),
    mutant("lets-pipes-be-made", "lets a named pipe be made outside", "filesystem.outside-rare-changes-refused",
           flaws=("lets:fifos",)),
    mutant("lets-files-change-places", "lets two files outside change places",
           "filesystem.outside-rare-changes-refused", flaws=("lets:exchanges",)),
    mutant("lets-unnamed-files", "lets a file without a name get one outside",
           "filesystem.outside-rare-changes-refused", flaws=("lets:unnamed",)),
    mutant("lets-attributes", "lets owner, times and extended attributes be changed anywhere",
           "filesystem.outside-attributes-refused", flaws=("lets:attributes",)),
    mutant("lets-pipes-be-written", "lets a named pipe outside be written", "filesystem.pipe-outside-refused",
           flaws=("fifo:writes",)),
    # An ordinary user may write to none of the others, so each subject opens /var/tmp.
    mutant("opens-var-tmp", "lets files be made in /var/tmp", "filesystem.system-folders-refused",
           flaws=("lets:var-tmp",)),
    mutant("opens-system-folders", "lets files be made in the folders of the system",
           "filesystem.system-folders-refused", flaws=("lets:etc", "lets:run", "lets:usr-local", "lets:var-tmp")),
    mutant("litters-workspace", "leaves a folder behind in the workspace", "filesystem.nothing-left-behind",
           flaws=("litter:workspace",), under=(READ_ONLY,)),
    mutant("litters-root", "leaves a folder behind in a root", "filesystem.nothing-left-behind",
           flaws=("litter:root",), under=(ROOTS,)),
    mutant("says-enoent", "refuses with ENOENT, as if nothing were there", "filesystem.outside-create-refused",
           flaws=("errno:ENOENT",)),
    mutant("says-eperm", "refuses with EPERM, as if a file were immutable", "filesystem.outside-change-refused",
           flaws=("errno:EPERM",)),
)  # fmt: skip

PROTECTED: Final = (
    *(
        mutant(f"forgets-{name}", f"forgets to protect .{name}", "protected.existing-in-workspace",
               "protected.existing-in-root", "protected.missing-in-root", "protected.rename-refused",
               flaws=(f"forgets:.{name}",), under=(ROOTS, WORKSPACE_WRITE))
        for name in ("git", "codex", "agents")
    ),
    mutant("forgets-in-roots", "protects the workspace and no root", "protected.existing-in-root",
           "protected.missing-in-root",
           flaws=("forgets:existing-root", "forgets:missing-root"), under=(ROOTS,)),
    mutant("forgets-missing", "protects what exists and lets the missing be made", "protected.missing-in-workspace",
           flaws=("forgets:missing",)),
    *(
        mutant(f"opens-{name}", f"lets {path} of a root be changed", "protected.tool-files-in-workspace",
               "protected.tool-files-in-root", flaws=(f"metadata:lets-{path}",), under=(ROOTS, WORKSPACE_WRITE))
        for name, path in {"git-config": ".git/config", "codex-config": ".codex/config.toml"}.items()
    ),
    mutant("opens-git-hooks", "lets the hooks of git be changed", "protected.no-way-to-change-a-hook",
           "protected.tool-files-in-workspace", flaws=("metadata:lets-.git/hooks",)),
    mutant("believes-the-project", "obeys the settings of a project that is not trusted",
           "protected.hostile-workspace-widens-nothing", flaws=("project:believed",)),
    mutant("believes-the-projects-network", "opens the network for a project that is not trusted",
           "protected.hostile-workspace-widens-nothing", flaws=("project:network",)),
    mutant("renames-metadata", "protects the content of .git and not its name", "protected.rename-refused",
           flaws=("metadata:renamed",)),
    mutant("protects-every-depth", "protects .git at every depth", "protected.nested-is-writable",
           flaws=("metadata:every-depth",)),
    mutant("forgets-gitdir", "protects a .git file and not the folder that it names",
           "protected.git-file-and-its-target", "protected.git-folders-of-worktrees-and-submodules",
           flaws=("forgets:gitdir",)),
)  # fmt: skip

SQLITE: Final = (
    mutant("sqlite-outside", "lets databases outside be written", "sqlite.rollback-outside-refused",
           "sqlite.wal-outside-refused", "sqlite.new-database-outside-refused", flaws=("sqlite:lets",)),
    mutant("sqlite-read-only", "makes every database read-only", "sqlite.workspace-works",
           "sqlite.granted-folder-works", "sqlite.second-reader-outside-sees-it",
           flaws=("sqlite:denies",), under=(ROOTS,)),
    mutant("sqlite-no-wal", "refuses -wal and -shm", "sqlite.workspace-works", "sqlite.granted-folder-works",
           flaws=("sqlite:denies-wal",), under=(ROOTS,)),
    mutant("sqlite-copies", "lets a database be changed in a copy", "sqlite.lock-held-outside-is-respected",
           "sqlite.second-reader-outside-sees-it", flaws=("sqlite:copies",), under=(ROOTS,)),
    mutant("sqlite-other-text", "gives SQLite's refusals another text", "sqlite.opened-read-only-says-so",
           "sqlite.file-without-write-permission", "sqlite.rollback-outside-refused", flaws=("sqlite:other-text",)),
)  # fmt: skip

NETWORKS: Final = (
    mutant("leaks-inet", "leaves IPv4 open", "network.ip-socket-refused", "network.loopback-http-refused",
           "dns.direct-question-refused", flaws=("socket:INET",)),
    mutant("leaks-inet6", "leaves IPv6 open", "network.ip-socket-refused", flaws=("socket:INET6",)),
    mutant("leaks-udp", "leaves UDP open", "network.ip-socket-refused", "dns.direct-question-refused",
           flaws=("socket:INET-DGRAM",)),
    mutant("leaks-netlink", "leaves netlink open", "network.netlink-socket-refused", flaws=("socket:NETLINK",)),
    mutant("leaks-unix", "lets unix sockets be reached", "network.unix-sockets-unreachable", flaws=("unix:connect",)),
    mutant("offers-unix", "lets unix sockets be offered", "network.unix-listen-refused", flaws=("unix:bind",)),
    mutant("lets-datagrams", "lets datagrams to unix sockets through", "network.unix-sendto-refused",
           "network.unix-sendmsg-refused", "network.unix-sendmmsg-refused", flaws=("unix:send",)),
    mutant("refuses-socketpair", "refuses socketpair(2)", "network.socketpair-works", flaws=("socketpair:denies",)),
    mutant("looks-names-up", "lets the system's resolver be asked", "dns.system-resolver-fails",
           "dns.neighbour-not-found",
           flaws=("lookup:lets",)),
    mutant("finds-no-name", "finds no name with the network on", "dns.system-resolver-answers", "dns.neighbour-found",
           flaws=("lookup:denies",), under=(NETWORK,)),
    mutant("network-on-denies", "ignores network_access", "network.loopback-http-arrives",
           "network.ip-socket-allowed", "network.unix-sockets-reachable", "network.unix-listen-allowed",
           "dns.direct-question-answered", flaws=("network-on:denies",), under=(NETWORK,)),
)  # fmt: skip

PROCESSES: Final = (
    mutant("fails-always", "ends with 1 when all went well", "process.success-is-zero", flaws=("exit:failure",)),
    mutant("swallows-exit-code", "ends with 0 whatever the command did", "process.exit-code-kept",
           "process.death-by-term-is-143", "process.missing-command-is-named", flaws=("exit:swallowed",)),
    mutant("exit-code-one", "ends with 1 for every failure", "process.exit-code-kept",
           "process.death-by-term-is-143", flaws=("exit:one",)),
    mutant("signal-as-code", "reports a signal as an exit code", "process.death-by-term-is-143",
           "process.death-by-kill-is-137", flaws=("exit:signal",), under=(WORKSPACE_WRITE, READ_ONLY)),
    mutant("missing-command-unnamed", "does not name a missing command", "process.missing-command-is-named",
           flaws=("command:silent",)),
    mutant("confines-probes-only", "confines the probe alone", "process.missing-command-is-named",
           flaws=("unconfined:command",)),
    mutant("drops-it-for-output", "runs commands with much output without a sandbox", "process.output-is-intact",
           flaws=("unconfined:output",), under=(READ_ONLY,)),
    mutant("drops-it-for-one-call", "has no sandbox in the calls of some promises", "process.exit-code-kept",
           "process.stdin-arrives", "process.children-die-with-the-call",
           flaws=("unconfined:exit", "unconfined:stdin", "unconfined:spawn-lingering")),
    mutant("leaves-children", "leaves the command's children running", "process.children-die-with-the-call",
           flaws=("children:left",)),
    mutant("leaves-late-writers", "leaves a process that writes outside later", "process.nothing-outlives-the-call",
           flaws=("late:write",), under=(READ_ONLY,)),
    mutant("leaves-one-late-writer", "leaves such a process in one call", "process.exit-code-kept",
           flaws=("late:exit",)),
    mutant("shows-everybody", "shows the processes outside the sandbox", "process.sees-only-its-own-processes",
           flaws=("processes:all",)),
    mutant("opens-kernel-settings", "leaves the settings of the kernel open to be changed",
           "process.kernel-settings-out-of-reach", flaws=("settings:open",)),
    mutant("keeps-capabilities", "leaves the command its capabilities", "process.no-capabilities",
           flaws=("capabilities:kept",)),
    mutant("gains-privileges", "lets setuid programs give privileges", "process.no-new-privileges",
           flaws=("privileges:gained",)),
    mutant("runs-as-another-user", "runs the command as user 65534", "process.identity-kept",
           flaws=("identity:other",)),
    mutant("opens-umask", "gives the command a umask of 0", "process.umask-kept", flaws=("umask:open",)),
    mutant("lowers-limits", "lets the command open 64 files only", "process.limits-kept", flaws=("limits:lowered",)),
    mutant("ignores-signals", "runs the command with signals ignored", "process.signals-as-outside",
           flaws=("signals:ignored",)),
    mutant("failure-is-success", "ends with 0 whatever the command did, but for signals", "process.exit-code-1-kept",
           "process.exit-code-2-kept", "process.exit-code-127-kept", flaws=("exit:swallowed",)),
    mutant("swaps-exit-codes", "ends with 1 for 2, and with 2 for 1", "process.exit-code-1-kept",
           "process.exit-code-2-kept", flaws=("exit:swapped",)),
    mutant("cuts-exit-codes", "ends with 1 for what is above 128", "process.exit-code-255-kept",
           flaws=("exit:above-128",)),
    mutant("splits-words", "splits arguments at spaces", "process.arguments-passed", flaws=("words:split",)),
    mutant("loses-empty-words", "drops empty arguments", "process.arguments-passed", flaws=("words:empty-lost",)),
    mutant("loses-stderr", "drops what the command writes to stderr", "process.error-output-is-intact",
           flaws=("stderr:lost",)),
    *(
        mutant(f"trusts-{name}", f"runs {name} without a sandbox", f"process.{topic}-is-confined",
               flaws=(f"unconfined:{name}",))
        for name, topic in {
            "sh": "shell", "bash": "bash", "run-me": "script", "run-static": "static-program",
            "cp": "copy", "git": "git",
        }.items()
    ),
    mutant("ignores-broken-pipes", "runs the command with SIGPIPE ignored", "process.program-signals-as-outside",
           flaws=("signals:pipe",)),
    mutant("leaves-descriptors", "leaves open what the caller left open", "process.no-descriptor-inherited",
           "process.only-standard-descriptors", flaws=("descriptors:left",), under=(READ_ONLY,)),
    mutant("leaks-descriptor", "leaves a folder of its own open", "process.only-standard-descriptors",
           flaws=("descriptors:own",), under=(READ_ONLY,)),
    mutant("reopens-stdin", "lets a file that is stdin be written", "process.stdin-file-is-read-only",
           flaws=("lets:outside",), under=(READ_ONLY,)),
    mutant("dies-alone", "leaves its command running when it is ended", "process.term-ends-the-call",
           "process.kill-ends-the-call", "process.hangup-ends-the-call",
           "process.interrupt-of-codex-ends-the-call", flaws=("death:alone",)),
    mutant("ignores-interrupt", "ignores SIGINT", "process.interrupt-ends-the-call",
           flaws=("interrupt:ignored",), patience=0.05),
    mutant("eats-stdin", "gives the command no stdin", "process.stdin-arrives", flaws=("stdin:eaten",)),
    *(
        mutant(f"output-{word}", wrong, "process.output-is-intact", flaws=(f"output:{word}",), under=(READ_ONLY,))
        for word, wrong in {
            "lost": "loses a part of the output",
            "doubled": "prints a part of the output twice",
            "altered": "changes bytes of the output",
            "banner": "prints a banner of its own on stdout",
        }.items()
    ),
    mutant("drops-environment", "drops variables", "process.environment-passed", "process.standard-variables-kept",
           flaws=("environment:dropped",)),
    mutant("flag-missing", "never says that the network is off", "process.network-flag-tells-the-truth",
           flaws=("marker:missing",)),
    mutant("flag-always", "says that the network is off when it is on", "process.network-flag-tells-the-truth",
           flaws=("marker:always",), under=(NETWORK,)),
    mutant("one-at-a-time", "fails while another call runs", "process.sixteen-calls-at-once",
           conduct="one-at-a-time"),
)  # fmt: skip

FAKES: Final = (GOOD, ALLOW_ALL, *GENERAL, *FILESYSTEM, *PROTECTED, *SQLITE, *NETWORKS, *PROCESSES, *KERNEL, *WORLDS)


def named(names: Iterable[str]) -> tuple[Fake, ...]:
    """Returns the subjects with these names, in the catalogue's order. Raises KeyError for the first unknown name."""
    wanted = list(names)
    known = {fake.name for fake in FAKES}
    for name in wanted:
        if name not in known:
            raise KeyError(name)
    return tuple(fake for fake in FAKES if fake.name in wanted)
