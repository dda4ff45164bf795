"""Catalogue of bad generators: what each does wrong, on which file it shows, and which promises must report it."""

from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from pytest_codexsandbox.config_writer import OWNED
from pytest_codexsandbox.config_writer.managed_block import Marks
from pytest_codexsandbox.model.generator import Declaration, Intent, Marker

USER: Final = b"""\
# my own settings
model = "gpt-5.5"  # the big one

# servers
[mcp_servers.docs]
command = "docs"
startup_timeout_sec = 10.5

[tui]
# quiet, please
notifications = false
"""
_CRLF: Final = USER.replace(b"\n", b"\r\n")
_BOM: Final = b"\xef\xbb\xbf" + USER
_NO_NEWLINE: Final = USER.rstrip(b"\n")
_VOID: Final = b'default_permissions = ":read-only"\n' + USER
_HERE: Final = "pytest_codexsandbox.generators.bad"
ONE_ROOT: Final = Intent(roots=("@ROOT0@",))


class Bad(msgspec.Struct, frozen=True, kw_only=True):
    """`caught`: a promise in `caught_by` must report `violates`. `prevented`: it reaches for something outside and
    prints REACHED when it succeeds. The confinement must prevent that; the files it leaves are good.
    """

    name: str
    wrong: str  # in one clause
    run: str  # a SPEC
    caught_by: tuple[str, ...]
    kind: Literal["caught", "prevented"] = "caught"
    config: bytes | None = USER  # the user's file on which the flaw shows
    intent: Intent = ONE_ROOT
    link: Literal["", "symlink"] = ""
    between: Literal["", "loses-end", "loses-marks", "key-inside"] = (
        ""  # what another writer does to its file before the flaw shows
    )
    migrates_from: tuple[str, ...] = ()
    timeout: float = 20.0
    markers: bool = True  # whether it writes the good one's block

    def disturbed(self, content: bytes) -> bytes:
        """Returns the file as the other writer leaves it. Measured: `codex mcp add` removes markers with what it
        rewrites."""
        begin, end = Marks("codexsandbox").begin.encode(), Marks("codexsandbox").end.encode()
        if self.between in ("loses-end", "loses-marks"):
            left = content.replace(end + b"\n", b"", 1)
            return left if self.between == "loses-end" else left.replace(begin + b"\n", b"", 1)
        return content.replace(end, b"check_for_update_on_startup = false\n" + end, 1) if self.between else content

    def declaration(self) -> Declaration:
        """Returns the declaration that its author would write: the same as the good generator's."""
        marks = Marks("codexsandbox")
        return Declaration(
            run=self.run,
            name=self.name,
            description=self.wrong,
            owns=tuple(".".join(path) for path in OWNED),
            markers=(Marker(begin=marks.begin, end=marks.end),) if self.markers else (),
            timeout=self.timeout,
            migrates_from=self.migrates_from,
        )


def _contents(name: str, wrong: str, *caught_by: str, config: bytes | None = USER, intent: Intent = ONE_ROOT) -> Bad:
    return _of("bad_content", name, wrong, caught_by, config=config, intent=intent)


def _of(module: str, name: str, wrong: str, caught_by: tuple[str, ...], **more: object) -> Bad:
    run = f"py:{_HERE}.{module}:{name.replace('-', '_')}"
    return Bad(name=name, wrong=wrong, run=run, caught_by=caught_by, **more)  # type: ignore[arg-type]


CONTENTS: Final = (
    _contents("breaks-toml", "leaves a string open", "generator.parses", "generator.config-loads"),
    _contents("wrong-type", "writes a boolean as a string", "generator.config-loads"),
    _contents("means-nothing", "misspells a key: it loads, and nothing is in force", "effective.says-what-was-asked",
              "effective.does-what-was-asked"),
    _contents("unescaped", "writes paths into the file unescaped", "effective.grants-no-more",
              intent=Intent(roots=('@ROOT0@","/',))),
    _contents("floats-to-strings", "writes the user's floats as strings", "generator.user-keys-keep-their-values"),
    _contents("eats-comments", "parses and rewrites the file without its comments", "generator.comments-stay"),
    _contents("reorders-comments", "collects the comments at the top", "generator.comments-stay"),
    _contents("at-the-end", "appends its keys below the last table", "generator.keys-at-their-own-place",
              "effective.says-what-was-asked"),
    _contents("duplicates-its-block", "never looks for its own block", "generator.parses",
              "generator.second-run-changes-nothing", "managed-block.one-balanced-pair"),
    _contents("second-run-differs", "writes another line in its second run",
              "generator.second-run-changes-nothing"),
    _contents("third-run-differs", "writes another line in its third run", "generator.third-run-changes-nothing"),
    _contents("flips-the-network", "switches the network on in its second run", "generator.means-the-same-again",
              "generator.second-run-changes-nothing"),
    _contents("grows", "adds an empty line in each run", "generator.does-not-grow"),
    _contents("line-feeds-only", "ends every line with a line feed", "generator.line-ends-stay", config=_CRLF),
    _contents("drops-bom", "drops the byte order mark", "generator.line-ends-stay", config=_BOM),
    _contents("adds-final-newline", "ends the last line", "generator.line-ends-stay", config=_NO_NEWLINE),
    _contents("forgets-end", "leaves the end marker out", "managed-block.one-balanced-pair"),
)  # fmt: skip

WRITINGS: Final = (
    _of("bad_writes", "changes-mode", "changes the mode of the file", ("generator.mode-owner-links-stay",)),
    _of("bad_writes", "replaces-the-link", "puts a file in the place of a link", ("generator.mode-owner-links-stay",),
        link="symlink"),
    _of("bad_writes", "writes-the-same-anew", "puts a new file with the same bytes in place at every start",
        ("generator.second-run-touches-nothing",)),
    _of("bad_writes", "writes-in-place-anew", "writes the same bytes over themselves at every start",
        ("generator.second-run-touches-nothing",)),
    _of("bad_writes", "writes-in-halves", "empties the file and writes it in two steps",
        ("generator.replaced-at-once", "generator.crash-leaves-a-whole-file")),
    _of("bad_writes", "empties-amid-other-files", "empties the file and writes it between 100 calls on other files",
        ("generator.crash-leaves-a-whole-file",)),
    _of("bad_writes", "ends-its-block-later", "writes the end of its block in a second step",
        ("generator.replaced-at-once",)),
    _of("bad_writes", "leaves-a-copy", "leaves a backup behind", ("generator.leaves-nothing-behind",)),
    _of("bad_writes", "leaves-a-temporary-file", "leaves its temporary file behind",
        ("generator.leaves-nothing-behind",)),
    _of("bad_writes", "loses-an-update", "writes in place, from an old read",
        ("generator.two-at-once-lose-nothing",)),
    _of("bad_writes", "deletes-what-follows", "deletes everything after a block without an end",
        ("managed-block.deletes-nothing-of-theirs",), between="loses-end"),
    _of("bad_writes", "gives-up-on-moved-marks", "deletes everything between its marks",
        ("managed-block.deletes-nothing-of-theirs",), between="key-inside"),
    _of("bad_writes", "looks-for-marks-only", "writes its keys a second time if its marks are gone",
        ("managed-block.survives-other-writers",), between="loses-marks"),
    _of("bad_writes", "knows-its-own-words-only", "writes a second block beside one of an earlier release",
        ("generator.migrates",), migrates_from=("good-earlier",)),
)  # fmt: skip

GRANTS: Final = (
    _of("bad_grants", "ignores-default-permissions", "ignores settings that void its policy",
        ("effective.says-what-was-asked", "effective.does-what-was-asked"), config=_VOID),
    _of("bad_grants", "grants-home", "grants the whole home", ("effective.grants-no-more",)),
    _of("bad_grants", "grants-everything", "grants the root folder", ("effective.grants-no-more",)),
    _of("bad_grants", "forgets-a-root", "leaves out the last root",
        ("effective.says-what-was-asked", "effective.does-what-was-asked")),
    _of("bad_grants", "wrong-network", "writes the opposite network setting", ("effective.says-what-was-asked",
        "effective.does-what-was-asked")),
    _of("bad_grants", "argv-unescaped", "writes paths into overrides unescaped", ("effective.argv-reads-as-asked",),
        intent=Intent(roots=('@ROOT0@","/',)), markers=False),
    _of("bad_grants", "argv-as-python-writes-it", "writes True instead of true",
        ("effective.argv-reads-as-asked",), markers=False),
    _of("bad_grants", "argv-grants-home", "grants the whole home in overrides", ("effective.grants-no-more",),
        markers=False),
)  # fmt: skip

CONDUCTS: Final = (
    _of("bad_behaviour", "idle", "does nothing and reports success", ("generator.exit-and-refusal-agree",)),
    _of("bad_behaviour", "swallows", "calls Codex, which refuses, and reports success",
        ("generator.exit-and-refusal-agree",)),
    _of("bad_behaviour", "fails-after-writing", "writes everything, then fails", ("generator.exit-and-refusal-agree",)),
    _of("bad_behaviour", "refuses-after-writing", "writes everything, then reports a refusal",
        ("generator.exit-and-refusal-agree",)),
    _of("bad_behaviour", "hangs", "never ends", ("generator.ends-by-itself",), timeout=2.0),
    _of("bad_behaviour", "stays", "leaves a process running", ("generator.ends-by-itself",)),
    _of("bad_behaviour", "writes-to-the-real-home", "writes into the real home of its user",
        ("generator.stays-inside",)),
    _of("bad_behaviour", "writes-beside", "leaves a file in the shared temp folder", ("generator.stays-inside",)),
    *(
        _of("bad_behaviour", name, wrong, (), kind="prevented")
        for name, wrong in {
            "reads-keys": "reads ~/.ssh and ~/.codex and prints them",
            "reaches-docker": "connects to the engine's socket",
            "reaches-the-agent": "connects to the agent's socket",
            "types-into-the-terminal": "types into the user's terminal (TIOCSTI)",
        }.items()
    ),
)  # fmt: skip

BAD: Final = (*CONTENTS, *WRITINGS, *GRANTS, *CONDUCTS)


def named(names: Iterable[str]) -> tuple[Bad, ...]:
    """Returns the generators with these names, in the catalogue's order. Raises KeyError for an unknown name."""
    wanted = set(names)
    unknown = wanted - {bad.name for bad in BAD}
    if unknown:
        raise KeyError(min(unknown))
    return tuple(bad for bad in BAD if bad.name in wanted)
