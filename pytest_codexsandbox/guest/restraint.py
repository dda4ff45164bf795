"""The answers of a correct sandbox, worked out in Python: which path may be written, which socket may be made.

Where the operation would fail by itself it is let through, so that the kernel says why. The errnos are those that
bubblewrap's mounts give. Each word in `flaws` breaks one of the answers:

    lets:PLACE, denies:PLACE      PLACE: workspace root root0 tmp tmpdir shm home codex-home sibling outside parent
                                  etc run usr-local var-tmp
    denies:reading, hides:outside, denies:hard-linked, denies:renames
    mode:writes (read-only is taken for workspace-write), full-access:denies, errno:NAME
    ignores:roots, ignores:exclude-slash-tmp, ignores:exclude-tmpdir, excludes:both (each key takes out both folders)
    root:file-folder (grants a file's folder)
    paths:lexical (links are not followed), paths:dots (`..` is not either), paths:prefixes (`ws-beside` is in `ws`)
    lets:chmod, lets:renames, lets:hard-links, metadata:renamed, metadata:every-depth
    forgets:NAME, forgets:STATE, forgets:NAME-WHERE, forgets:STATE-WHERE
    forgets:gitdir, forgets:common-dir, forgets:git-link (what a .git leads to), metadata:bare (protects bare.git)
                                  NAME: .git .codex .agents .aws, STATE: existing missing, WHERE: workspace root tmp
    socket:FAMILY, socket:FAMILY-KIND, unix:connect, unix:bind, unix:send, fifo:writes, lookup:lets (let through)
    socketpair:denies, lookup:denies, network-on:denies
    lets:unnamed (files without a name), lets:fifos, lets:exchanges, lets:attributes (owner, times, extended)
    metadata:lets-PATH (one path below a root, as `.git/hooks`, is not protected)
    processes:all (those outside are seen too), settings:open (the kernel's can be changed)
    hardware:open (those of the hardware can be changed)
    capabilities:kept, privileges:gained, identity:other (restrained_probe.py: what the probe says of its process)
    programs:denied (restrained_probe.py: the command starts no other program)
    sqlite:lets, sqlite:denies, sqlite:denies-wal, sqlite:copies, sqlite:other-text
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Any, Callable, Iterator, NoReturn  # noqa: UP035

if TYPE_CHECKING:
    from pytest_codexsandbox.guest import world_flaws
else:  # beside this file
    import world_flaws

METADATA = (".git", ".codex", ".agents", ".aws")
FAMILIES = ("UNIX", "INET", "INET6", "NETLINK", "PACKET", "VSOCK")
KINDS = ("STREAM", "DGRAM", "RAW")
SHM = "/dev/shm"
SETTINGS = ("/proc/sys", "/proc/sysrq-trigger")  # settings of the kernel itself
HARDWARE = ("/proc/irq", "/sys")
Path = Any  # what Python's own functions take: text, bytes, a descriptor


def inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def refuse(number: int, path: Path = None) -> NoReturn:
    raise OSError(number, os.strerror(number), path)


class Boundary:
    """The policy that Codex was asked for, with the flaws applied."""

    def __init__(self, asked: dict[str, Any], flaws: list[str]) -> None:
        self.flaws, self.asked = frozenset(flaws), asked
        self.full = asked["mode"] == "danger-full-access"
        self.network = asked["network"] or self.full
        self.cwd = os.path.realpath(asked["cwd"])
        self.extra = [] if self.has("ignores:roots") else [os.path.realpath(root) for root in asked["roots"]]
        if self.has("root:file-folder"):
            self.extra = [root if os.path.isdir(root) else os.path.dirname(root) for root in self.extra]
        writes = asked["mode"] == "workspace-write" or (self.has("mode:writes") and not self.full)
        more = world_flaws.more_roots(flaws, self.extra)
        self.roots = [self.cwd, *self.extra, *more, *self._temporary()] if writes else []
        places = list(self._places())
        self.unprotected = [flaw[14:] for flaw in self.flaws if flaw.startswith("metadata:lets-")]
        self.let = [path for name, path in places if self.has("lets:" + name)]
        self.denied = [path for name, path in places if self.has("denies:" + name)]

    def has(self, flaw: str) -> bool:
        return flaw in self.flaws

    def _temporary(self) -> Iterator[str]:
        asked = dict(self.asked)
        if self.has("excludes:both") and (asked["exclude_slash_tmp"] or asked["exclude_tmpdir"]):
            asked.update(exclude_slash_tmp=True, exclude_tmpdir=True)
        slash_tmp = not asked["exclude_slash_tmp"] or self.has("ignores:exclude-slash-tmp")
        tmpdir = not asked["exclude_tmpdir"] or self.has("ignores:exclude-tmpdir")
        for path, wanted in (("/tmp", slash_tmp), (asked["tmpdir"], tmpdir)):
            if wanted and path and os.path.isdir(path):
                yield os.path.realpath(path)

    def _places(self) -> Iterator[tuple[str, str]]:
        world = os.path.dirname(self.cwd)
        yield from (("workspace", self.cwd), ("parent", world), ("outside", os.path.join(world, "documents")))
        yield from (("sibling", os.path.join(world, "sibling")), ("tmp", "/tmp"), ("shm", SHM))
        yield "tmpdir", os.path.realpath(self.asked["tmpdir"] or "/tmp")
        yield "home", os.path.realpath(self.asked["home"] or "/proc/nowhere")
        yield from (("codex-home", os.path.join(world, "codex")), ("root0", os.path.join(world, "data")))
        yield from (("etc", "/etc"), ("run", "/run"), ("usr-local", "/usr/local"), ("var-tmp", "/var/tmp"))
        for root in self.extra:
            yield "root", root

    # ---- files
    def real(self, path: Path, *, follow: bool = True) -> str:
        """Returns the path of the object that the kernel would reach; a final link stays one if it is not followed."""
        text: str = os.path.join(os.getcwd(), os.fsdecode(path))
        if self.has("paths:lexical"):
            return os.path.normpath(text)
        if self.has("paths:dots") and "/.." in text:
            return text
        if follow:
            return os.path.realpath(text)
        return os.path.join(os.path.realpath(os.path.dirname(text)), os.path.basename(text))

    def metadata(self, path: str) -> str:
        """Returns the protected folder that `path` is, or is in; "" if there is none."""
        for root in self.roots:
            below = path[len(root) + 1 :].split("/") if inside(path, root) else []
            if any(inside("/".join(below), path) for path in self.unprotected):
                continue
            for depth, name in enumerate(below[: None if self.has("metadata:every-depth") else 1]):
                if name in METADATA and not self._forgotten(name, root):
                    return os.path.join(root, *below[: depth + 1])
            for target in self._git_folders(os.path.join(root, ".git")):
                if inside(path, target):
                    return target
            if self.has("metadata:bare") and "bare.git" in below:
                return os.path.join(root, *below[: below.index("bare.git") + 1])
        return ""

    def _git_folders(self, git: str) -> Iterator[str]:
        """Yields the folders that a `.git` leads to: as a file, to a git folder and its common one; as a link."""
        if os.path.islink(git) and not self.has("forgets:git-link"):
            yield os.path.realpath(git)
        target = "" if self.has("forgets:gitdir") else pointed_at(git)
        if target:
            yield target
            common = "" if self.has("forgets:common-dir") else common_of(target)
            yield from [common] if common else []

    def _forgotten(self, name: str, root: str) -> bool:
        where = "workspace" if root == self.cwd else "root" if root in self.extra else "tmp"
        state = "existing" if os.path.lexists(os.path.join(root, name)) else "missing"
        words = (name, state, f"{name}-{where}", f"{state}-{where}")
        return any(self.has("forgets:" + word) for word in words)

    def mount(self, path: str) -> str:
        """Returns the bubblewrap mount that holds `path`; nothing is renamed or linked from one mount to another."""
        holders = [root for root in self.roots if inside(path, root)]
        return self.metadata(path) or max(holders, key=len, default="/")

    def writable(self, path: str) -> bool:
        if self.full:
            return not self.has("full-access:denies")
        if any(inside(path, folder) for folder in self.let):
            return True
        if any(inside(path, folder) for folder in self.denied):
            return False
        if self.has("denies:hard-linked") and links_of(path) > 1:
            return False
        if any(inside(path, place) for place in SETTINGS):
            return self.has("settings:open")
        if any(inside(path, place) for place in HARDWARE):
            return self.has("hardware:open")
        if path.startswith(("/dev/", "/proc/")) and not inside(path, SHM):
            return True
        within = str.startswith if self.has("paths:prefixes") else inside
        return not self.metadata(path) and any(within(path, root) for root in self.roots)

    def unreadable(self, path: str) -> int:
        """Returns the errno of a read; 0 if it is let through."""
        if not inside(path, os.path.dirname(self.cwd)):
            return 0
        if self.has("hides:outside") and not inside(path, self.cwd):
            return errno.ENOENT
        return errno.EACCES if self.has("denies:reading") else 0

    def refusal(self) -> int:
        named = [flaw[6:] for flaw in self.flaws if flaw.startswith("errno:")]
        return int(getattr(errno, named[0])) if named else errno.EROFS

    # ---- sockets
    def opens(self, *leaks: str) -> bool:
        """Checks whether a socket works: with the network off, not even AF_UNIX connects or binds."""
        if any(map(self.has, leaks)):
            return True
        return bool(self.network) and not self.has("network-on:denies")


class Restraint:
    """The audit hook, which Python calls before each operation."""

    WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

    def __init__(self, boundary: Boundary, more: dict[str, Callable[..., None]] | None = None) -> None:
        self.boundary, self.asking = boundary, False
        self.answers: dict[str, Callable[..., None]] = {
            "open": self.open,
            "os.mkdir": self.make,
            "os.symlink": self.symlink,
            "os.rmdir": self.remove,
            "os.remove": self.remove,
            "os.rename": self.rename,
            "os.link": self.link,
            "os.truncate": self.change,
            "os.chmod": self.mode,
            "os.chown": self.attributes,
            "os.utime": self.attributes,
            "os.setxattr": self.attributes,
            "codexsandbox.exchange": self.exchange,
            "codexsandbox.mkfifo": self.mkfifo,
            "os.listdir": self.read,
            "socket.__new__": self.socket,
            "socket.connect": self.connect,
            "socket.bind": self.bind,
            "socket.sendto": self.send,
            "socket.sendmsg": self.send,
            "socket.getaddrinfo": self.lookup,
            **(more or {}),
        }

    def __call__(self, event: str, words: tuple[Any, ...]) -> None:
        answer = self.answers.get(event)
        if answer is None or self.asking:
            return
        self.asking = True
        try:
            answer(*words)
        finally:
            self.asking = False

    # ---- files
    def open(self, path: Path, mode: object, flags: int) -> None:
        if isinstance(path, int):
            return
        real = self.boundary.real(path, follow=not flags & os.O_NOFOLLOW)
        if self.boundary.has("fifo:writes") and is_fifo(real):
            return
        if not flags & self.WRITING:
            self.read(path)
            return
        if self._shown_instead(real):
            refuse(errno.EEXIST if flags & os.O_EXCL else errno.EISDIR, path)
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            if not self.boundary.has("lets:unnamed"):
                self._need(real, path)
            return
        fails = os.path.isdir(real) or (os.path.lexists(real) and flags & os.O_EXCL)
        if not fails and (os.path.isdir(os.path.dirname(real)) or self.boundary.metadata(real)):
            self._need(real, path)

    def read(self, path: Path = ".", *rest: object) -> None:
        number = 0 if isinstance(path, int) else self.boundary.unreadable(self.boundary.real(path or "."))
        if number:
            refuse(number, path)

    def make(self, path: Path, *rest: object) -> None:
        real = self.boundary.real(path, follow=False)
        if self._shown_instead(real):
            refuse(errno.EEXIST, path)
        if not os.path.lexists(real):
            self._need(real, path)

    def symlink(self, source: Path, target: Path, *rest: object) -> None:
        self.make(target)

    def remove(self, path: Path, *rest: object) -> None:
        real = self.boundary.real(path, follow=False)
        self._no_mount(real, path)
        if os.path.lexists(real):
            self._need(real, path)

    def rename(self, source: Path, target: Path, *rest: object) -> None:
        start, end = self.boundary.real(source, follow=False), self.boundary.real(target, follow=False)
        if not os.path.lexists(start) or self.boundary.has("lets:renames"):
            return
        if self.boundary.has("denies:renames"):
            refuse(errno.EACCES, source)
        self._no_mount(start, source)
        self._no_mount(end, target)
        self._one_mount(start, end, source)
        self._need(start, source)
        self._need(end, target)

    def link(self, source: Path, target: Path, *rest: object) -> None:
        start, end = self.boundary.real(source, follow=False), self.boundary.real(target, follow=False)
        unnamed = os.fsdecode(source).startswith("/proc/self/fd/") and self.boundary.has("lets:unnamed")
        if not self.boundary.has("lets:hard-links") and not unnamed:
            self._need(end, target)
            self._one_mount(start, end, source)

    def change(self, path: Path, *rest: object) -> None:
        real = "" if isinstance(path, int) else self.boundary.real(path)
        if real and os.path.lexists(real):
            self._need(real, path)

    def mode(self, path: Path, *rest: object) -> None:
        if not self.boundary.has("lets:chmod"):
            self.change(path)

    def attributes(self, path: Path, *rest: object) -> None:
        if not self.boundary.has("lets:attributes"):
            self.change(path)

    def exchange(self, one: Path, other: Path) -> None:
        if not self.boundary.has("lets:exchanges"):
            self.rename(one, other)

    def mkfifo(self, path: Path) -> None:
        if not self.boundary.has("lets:fifos"):
            self.make(path)

    def _shown_instead(self, real: str) -> bool:
        """Handles a missing `.git` of a root: bubblewrap shows an empty, read-only folder in its place."""
        boundary = self.boundary
        return boundary.metadata(real) == real and not os.path.lexists(real) and not boundary.writable(real)

    def _no_mount(self, real: str, said: Path) -> None:
        if self.boundary.metadata(real) == real and not self.boundary.has("metadata:renamed"):
            refuse(errno.EBUSY, said)

    def _one_mount(self, start: str, end: str, said: Path) -> None:
        boundary = self.boundary
        let = boundary.full or any(inside(path, folder) for folder in boundary.let for path in (start, end))
        same = boundary.mount(start) == boundary.mount(end) or boundary.has("metadata:renamed")
        if not let and not same:
            refuse(errno.EXDEV, said)

    def _need(self, real: str, said: Path) -> None:
        boundary = self.boundary
        renamed = boundary.has("metadata:renamed") and boundary.metadata(real) == real
        if not boundary.writable(real) and not renamed:
            refuse(boundary.refusal(), said)

    # ---- sockets
    def socket(self, made: object, family: int, kind: int, *rest: object) -> None:
        name, sort = name_of("AF_", FAMILIES, family), name_of("SOCK_", KINDS, kind & 0xF)
        if name != "UNIX" and not self.boundary.opens("socket:" + name, f"socket:{name}-{sort}"):
            refuse(errno.EPERM)

    def connect(self, made: Any, address: object) -> None:
        if name_of("AF_", FAMILIES, made.family) == "UNIX" and not self.boundary.opens("unix:connect"):
            refuse(errno.EPERM)

    def send(self, made: Any, address: object) -> None:
        if address and not self.boundary.has("unix:send"):
            self.connect(made, address)

    def bind(self, made: Any, address: object) -> None:
        if name_of("AF_", FAMILIES, made.family) == "UNIX" and not self.boundary.opens("unix:bind"):
            refuse(errno.EPERM)

    def lookup(self, host: object, *rest: object) -> None:
        import _socket

        known = host in (None, "localhost", b"localhost") or str(host).replace(".", "").isdigit()
        answered = self.boundary.opens("lookup:lets", "socket:INET", "socket:INET-DGRAM") and not self.boundary.has(
            "lookup:denies"
        )
        if not known and not answered:
            raise _socket.gaierror(_socket.EAI_AGAIN, "Temporary failure in name resolution")


def name_of(beginning: str, names: tuple[str, ...], number: int) -> str:
    import _socket

    return next((name for name in names if getattr(_socket, beginning + name, None) == number), "OTHER")


def pointed_at(git: str) -> str:
    """Returns the folder that a `.git` file names, as in a worktree or a submodule."""
    try:
        with open(git, encoding="utf-8") as file:
            head, _, target = file.read(4096).partition(":")
    except (OSError, ValueError):
        return ""
    return os.path.realpath(os.path.join(os.path.dirname(git), target.strip())) if head == "gitdir" else ""


def common_of(gitdir: str) -> str:
    """Returns the folder that `commondir` of a linked worktree's git folder names."""
    try:
        with open(os.path.join(gitdir, "commondir"), encoding="utf-8") as file:
            return os.path.realpath(os.path.join(gitdir, file.read(4096).strip()))
    except (OSError, ValueError):
        return ""


def is_fifo(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False


def links_of(path: str) -> int:
    try:
        found = os.stat(path)
    except OSError:
        return 0
    return 1 if os.path.isdir(path) else found.st_nlink
