"""Generator data: what a config generator receives, what it returns, and what its author declares about it.

Paths are placeholders (`@CODEX_HOME@/config.toml`) wherever they are compared or recorded: the same text in every run.
"""

from typing import Any, Final, Literal, get_args

import msgspec

Platform = Literal["linux", "darwin", "windows", "wsl", "unknown"]
Mode = Literal["", "read-only", "workspace-write", "danger-full-access"]
Part = Literal["sandbox", "network", "roots", "approval"]
CONFIG: Final = "@CODEX_HOME@/config.toml"
FREE: Final = "danger-full-access"
PARTS: Final[tuple[Part, ...]] = get_args(Part)  # of a policy, that a generator may leave as they were
ROW: Final = "row-"  # how case ids of a declaration's own decision matrix begin


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """Request to a generator before any folder exists: the part of a request that a plan knows."""

    roots: tuple[str, ...] = ()  # beside the workspace, as placeholders
    network: bool | None = False  # None: nothing is said about it
    platform: Platform = "linux"
    version: str | None = None  # None: the release of the cell; "" or nonsense: what the generator gets instead
    approval: str = ""
    capabilities: dict[str, bool] = {}  # userns, uid_map, netns, landlock, seccomp; left out: true
    params: dict[str, str] = {}  # of this generator alone


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Request as a generator gets it, in a JSON file and in its environment (docs/reference/generators.md). Paths are
    real."""

    platform: str
    version: str  # of Codex; "" where it is unknown
    home: str
    codex_home: str
    config: str
    workspace: str
    schema: int = 1
    run: int = 1  # the first, second, … on the same files
    codex: str = ""  # the program, as the generator may call it
    roots: tuple[str, ...] = ()
    network: bool | None = None
    approval: str = ""
    scope: Literal["user", "project", "task"] = "user"
    isolation: Literal["none", "container", "vm"] = "none"
    capabilities: dict[str, bool] = {}
    params: dict[str, str] = {}


class ExpectedPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Policy that must be in force after a run. A field that is left out has the value of the intent."""

    sandbox: Mode = ""
    network: bool | None = None  # None in the end: the request says nothing about it
    roots: tuple[str, ...] | None = None  # as placeholders
    approval: str = ""
    refuses: bool = False  # the generator declines, and leaves every byte as it was
    # It sets no policy: what was in force before it ran stays in force. Or these parts of one are not its business:
    # they shall be in force as the user's own files have them.
    keeps: bool | tuple[Part, ...] = False

    @property
    def kept(self) -> tuple[Part, ...]:
        return self.keeps if isinstance(self.keeps, tuple) else PARTS if self.keeps else ()


class DecisionRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Row of the author's decision matrix. `when`: platform, version (a range), network (on|off|unsaid), roots
    (some|none), and capabilities by name (yes|no). The first row that fits decides."""

    when: dict[str, str] = {}
    expect: ExpectedPolicy = ExpectedPolicy()
    why: str = ""


class Marker(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Lines around the part that a generator manages, as they are in the file, without line ends."""

    begin: str
    end: str  # "": there is a mark above, and none below


class Declaration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Author's declaration about a generator, which makes checks sharper. Everything but `run` may be left out."""

    run: str = ""  # SPEC: cmd:… py:… ep:… launch:… chain:…
    name: str = ""
    description: str = ""
    source: str = ""  # where its behaviour is documented
    kind: Literal["", "file", "argv", "both"] = ""  # "": whatever it does
    scope: Literal["user", "project", "task"] = "user"
    owns: tuple[str, ...] | None = None  # key paths that it may make and replace; `*` stands for one word
    authoritative: tuple[str, ...] = ()  # tables in which it may delete what it did not write
    markers: tuple[Marker, ...] = ()
    refuse_exit: tuple[int, ...] = ()  # exit codes that say "declined, nothing was changed"
    platforms: tuple[Platform, ...] = ("linux",)
    needs_network: bool = False
    codex_on_path: bool = False  # it calls Codex itself
    timeout: float = 20.0
    env: dict[str, str] = {}  # added to its environment; placeholders are filled
    setup: dict[str, str] = {}  # files that it needs: placeholder path → text
    installed: tuple[str, ...] = ()  # folders of the tool's own, bound read-only
    semantics: tuple[DecisionRow, ...] = ()
    migrates_from: tuple[str, ...] = ()  # names of generators whose files it takes over
    offline: bool = True  # whether it can be run without a network at all
    keeps: tuple[str, ...] = ()  # files of its own beside the configuration: placeholder paths, with * and **
    install: dict[str, str] = {}  # what brings it: {npm = "add-mcp==1.2.3"} or {pypi = "mcpm==2.0"}
    node: str = ""  # the versions of Node.js that it runs with, as a range: `>=20`
    megabytes: int = 0  # of disk space for the installation; 0 where it is unknown
    second_writer: bool = False  # one that writes into files of other generators: what those must survive
    real: bool = False  # a tool that people use, as it was published: `--codex-generator=real` runs it


class FileState(msgspec.Struct, frozen=True, kw_only=True):
    """State of a path below the private folders, found without following links."""

    kind: Literal["missing", "file", "dir", "symlink", "other", "unreadable"]
    content: bytes = b""  # of a file
    sha256: str = ""  # of a content that is not kept here (generators.file_store)
    stored: str = ""  # the file that holds it; "" where it is not kept at all
    size: int = 0
    mode: int = 0
    uid: int = 0
    inode: int = 0
    modified: int = 0  # nanoseconds since 1970
    links: int = 1
    target: str = ""  # of a symbolic link


Files = dict[str, FileState]
"""Placeholder path → its state. Folders are in it, the private folders themselves are not."""


class CodexLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """Start of `codex` by a generator, as a stub first on PATH recorded it."""

    argv: tuple[str, ...]  # without the program itself
    env: dict[str, str] = {}
    cwd: str = ""
    work: bool | None = None  # False: it asked or changed something, and the real Codex answered; None: not recorded


class GeneratorRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a generator."""

    ended: Literal["exit", "signal", "timeout", "not-started"]
    code: int = 0  # as a shell says it
    seconds: float = 0.0
    stdout: str = ""  # bounded, UTF-8
    stderr: str = ""
    error: str = ""  # why it was not started, or what was wrong with what it gave back
    refused: bool = False  # by its exit code or its own word
    reason: str = ""  # its own word for it
    argv: tuple[str, ...] = ()  # to be put behind Codex's subcommand: `-c`, `key=value`, …
    env: dict[str, str] = {}  # for Codex
    unset: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    told: bool = False  # it gave a result of its own; else all of this is derived
    launches: tuple[CodexLaunch, ...] = ()
    files: Files = {}  # after the run
    strayed: tuple[str, ...] = ()  # what it tried to write or reach outside its folders, and did not
    survivors: tuple[str, ...] = ()  # its processes that outlived it and were ended


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """Case of the corpus, one directory: the user's folders before a generator runs, and the request to it."""

    id: str
    why: str  # what broke where, one sentence
    config: bytes | None = b""  # None: there is no file
    group: str = ""  # placement, spelling, bytes, block, files, inputs, …
    input: Literal["valid", "invalid"] = "valid"  # invalid: no Codex loads it, the generator must refuse or repair
    # @BLOCK@, @BEGIN@, @END@ and @BODY@ stand in `config` for what the generator writes where there is no file, its
    # markers and what is between them (generators/case_blocks.py).
    needs_block: bool = False
    mode: int = 0o644
    folder_mode: int = 0o755  # of CODEX_HOME
    link: Literal["", "symlink", "dangling", "hardlink", "symlinked-home", "missing-home", "directory"] = ""
    files: dict[str, bytes] = {}  # further ones: a project's configuration, a profile; `…/` is a folder
    intent: Intent | None = None  # None: each intent in turn if a promise asks for several, else the first one
    ordinary: bool = False  # as everybody has one: a generator that declines here declines its work
    voids: str = ""  # why the user's own words may keep a policy from being in force, "" where they cannot
    notes: str = ""


class CaseRun(msgspec.Struct, frozen=True, kw_only=True):
    """Run of a generator on a case: all that happened, in order, on the same files."""

    generator: str
    case: Case
    intent: Intent
    before: Files
    runs: tuple[
        GeneratorRun, ...
    ]  # three of them, unless one did not end, or a published tool's second one changed nothing
    world: dict[str, str] = {}  # placeholder name → real path
    confined: str = ""  # by what; "" it was not
    alone: bytes | None = None  # what it writes for this intent where there is no file; None: not known
    row: DecisionRow | None = None  # of its decision matrix, that fits; None: the intent decides
    installed: tuple[str, ...] = ()  # names that are there after a run where there was nothing; folders end in `/`

    @property
    def first(self) -> GeneratorRun:
        return self.runs[0]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a check, which becomes a row of evidence. `skipped` says why a check could not be made."""

    claim: str
    saw: str
    held: bool
    control: str  # how it is known that this check could have failed here
    control_held: bool
    direction: Literal["", "leak", "denied", "wrong-claim", "litter"] = ""
    reason: str = ""  # a word for the cause: captured, duplicate-key, comment-lost, …
    diff: str = ""  # unified, of what matters
    skipped: str = ""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """Policy that the real Codex says it will enforce: thread/start and config/read of its app-server."""

    loads: bool
    error: str = ""  # Codex's own words where it does not
    sandbox: Mode = ""
    network: bool | None = None
    roots: tuple[str, ...] = ()  # writable ones beside the workspace, /tmp and $TMPDIR; as placeholders
    own: tuple[str, ...] = ()  # writable folders that this release adds of itself: @CODEX_HOME@/memories up to 0.130
    exclude_slash_tmp: bool = False
    exclude_tmpdir: bool = False
    approval: str = ""
    profile: str = ""  # of permissions, where Codex names one
    warnings: tuple[str, ...] = ()
    config: dict[str, Any] = {}  # config/read
    raw: dict[str, Any] = {}  # of thread/start: sandbox and what belongs to it
    fresh: bool = True  # a process that was started after the file was written


def expected(declaration: Declaration, intent: Intent, row: DecisionRow | None) -> ExpectedPolicy:
    """Returns the policy that must be in force: as the row says, and where the row is silent as the intent says. A part
    that the generator keeps has the value that holds without a user's file."""
    asked = row.expect if row else ExpectedPolicy()
    intent = msgspec.structs.replace(intent, **{part: value for part, value in _UNSAID.items() if part in asked.kept})
    sandbox: Mode = asked.sandbox or "workspace-write"
    writes = sandbox == "workspace-write"
    return ExpectedPolicy(
        sandbox=sandbox,
        network=asked.network if asked.network is not None else True if sandbox == FREE else intent.network,
        roots=asked.roots if asked.roots is not None else (intent.roots if writes else ()),
        approval=asked.approval or intent.approval,
        refuses=asked.refuses or _is_elsewhere(declaration, intent, row),
        keeps=asked.keeps,
    )


_UNSAID: Final[dict[str, Any]] = {"network": False, "roots": (), "approval": ""}  # without a file: in workspace-write


def is_row(case: str) -> bool:
    return case.startswith(ROW) and case.removeprefix(ROW).isdecimal()


def is_silent(declaration: Declaration, intent: Intent, row: DecisionRow | None) -> bool:
    """Checks whether the declaration promises nothing for this platform. A declaration that names no platform covers
    the default one alone, unless a row says more."""
    named = declaration.platforms != Declaration().platforms or (row is not None and row.expect.refuses)
    return not named and _is_elsewhere(declaration, intent, row)


def _is_elsewhere(declaration: Declaration, intent: Intent, row: DecisionRow | None) -> bool:
    """Checks whether the declaration does not cover the platform. A row that names the platform covers it."""
    return intent.platform not in declaration.platforms and not (row and "platform" in row.when)


class GeneratedFile(msgspec.Struct, frozen=True, kw_only=True):
    """File that a generator wrote, to be put into the world of a call."""

    content: bytes
    mode: int = 0o644


class GeneratedConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Configuration that a door gets instead of a policy's own overrides. Paths are those of the call's world
    everywhere but in the keys of `files`."""

    files: dict[str, GeneratedFile] = {}  # placeholder path → what lies there before Codex starts
    argv: tuple[str, ...] = ()  # behind the subcommand
    env: dict[str, str] = {}
    unset: tuple[str, ...] = ()
