"""Acts: what the probe does inside the sandbox, what must exist before, and where to look afterwards.

Paths are placeholders until a world is created: @WORKSPACE@ @OUTSIDE@ @ROOT0@ @SIBLING@ (a sibling of root 0) @HOME@
@CODEX_HOME@ @TMP@ (/tmp) @TMPDIR@ @SHM@ (/dev/shm) @WORLD@ (the world's own folder). @NAME@ is a word that is unique to
world and act: files in a shared folder are named by it. Listeners outside the sandbox give @HTTP@ @DNS@ (ports), @UNIX@
(a path) and @ABSTRACT@ (a name; a datagram socket has it too), @DGRAM@ (a datagram socket's path) and @FIFO@ (a named
pipe's path). The agent keeps @SEGMENT@ (the number of a segment of shared memory) and @KEY@ (the name of a key in its
session keyring). @PYTHON@ and @PROBE@ are the programs of the harness, @GUEST@ is the folder of the others. @HIDDEN@ is
a program that exists outside and in no sandbox (guest/hidden_program.py): it makes the file that it is given.
"""

from typing import Any, Final, Literal

import msgspec

PLACEHOLDERS: Final = (
    "WORKSPACE",
    "OUTSIDE",
    "ROOT0",
    "SIBLING",
    "HOME",
    "CODEX_HOME",
    "TMP",
    "TMPDIR",
    "SHM",
    "WORLD",
    "NAME",
    "HTTP",
    "DNS",
    "UNIX",
    "ABSTRACT",
    "DGRAM",
    "FIFO",
    "SEGMENT",
    "KEY",
    "PYTHON",
    "PROBE",
    "GUEST",
    "HIDDEN",
)


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """File, folder, link or database that the agent puts into the world before the call, outside any sandbox."""

    kind: Literal["file", "dir", "symlink", "hardlink", "sqlite", "sqlite-wal", "sqlite-held"]
    path: str
    content: str = ""  # file: its text; symlink and hardlink: the target
    mode: int = 0  # 0: the default of its kind


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """One action of the probe. `verb` names a function of guest/probe.py; `params` are its arguments."""

    verb: str
    path: str = ""
    params: dict[str, Any] = {}
    given: tuple[Given, ...] = ()
    looks: tuple[str, ...] = ()  # paths seen from outside before and after; `path` is always among them


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """Start and end of a call by its caller, where a promise is about them."""

    stdin_file: str = ""  # a file outside that is stdin, opened for reading only
    descriptors: tuple[str, ...] = ()  # left open as FIRST_DESCRIPTOR and on: `folder:PATH`, `file:PATH`, `unix:PATH`
    signal: int = 2  # what `interrupt_after` sends: SIGINT
    signal_alone: bool = False  # to the Codex process alone, as a supervisor does, and not to its group
    terminal: bool = False  # stdin, stdout and stderr are a terminal that the agent made, and the session's own
    closed: tuple[int, ...] = ()  # standard streams that are closed
    umask: int = -1  # -1: the agent's


FIRST_DESCRIPTOR: Final = 210


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """Differences between a promise's own Codex call and the battery that its policy shares."""

    roots: tuple[str, ...] = ()  # added to the policy's writable roots
    excludes: tuple[Literal["slash-tmp", "tmpdir"], ...] = ()  # taken out of them, beside what the policy takes out
    cwd: str = "@WORKSPACE@"
    # Run this instead of the probe. It must make @OUTSIDE@/@NAME@ where nothing hinders it: nothing else proves that
    # this very call was confined.
    argv: tuple[str, ...] = ()
    words: tuple[str, ...] = ()  # further arguments of the probe, which its verb `words` returns
    byte_words: tuple[bytes, ...] = ()  # more of them, which need not be UTF-8
    stdin: bytes = b""
    env: dict[str, str] = {}
    timeout: float = 20.0
    interrupt_after: float = 0.0  # seconds after the probe is ready; `launch` says which signal, and to whom
    launch: Launch = Launch()
    copies: int = 1  # started at once, each in a world of its own
    starts: int = 1  # one after the other in one world: CODEX_HOME and all files stay as the start before left them
    later: tuple[str, ...] = ()  # paths that acts are given, and that the first start goes without
    untrusted: bool = False  # the working folder is no trusted project, at doors that trust it otherwise too
    shell_snapshot: bool = False  # Codex may start the user's shell beside the command, at doors where it does so
    # Every door can make this call: it differs in files, folders, roots, variables, starts, and not in stdin or end.
    at_every_door: bool = False


class ActResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Result of an act as the probe reports it: errno and object, never prose."""

    act: str
    ok: bool
    errno: str = ""  # "EROFS"; "" when ok or when the failure has no errno (then `detail`)
    step: str = ""  # the system call or library step that ended it: "open", "socket", "connect", …
    value: str = ""  # what was read, as text (bytes as latin-1), bounded
    detail: str = ""  # e.g. SQLite's own message
    ms: float = 0.0


class PathState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """State of a path, seen from outside without following links."""

    path: str  # the placeholder form: the same text in every run
    kind: Literal["missing", "file", "dir", "symlink", "other", "unreadable"]
    size: int = 0
    mode: int = 0
    inode: int = 0
    sha256: str = ""
    text: str = ""  # the first 4 KiB, latin-1
    link: str = ""
    names: tuple[str, ...] = ()  # of a folder: at most 200, sorted
    error: str = ""

    def same_as(self, other: "PathState") -> bool:
        return (self.kind, self.size, self.sha256, self.link) == (other.kind, other.size, other.sha256, other.link)
