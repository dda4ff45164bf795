"""A fingerprint: the words by which one cause is known, and what to say and do about it. One TOML file each.

`texts` are plain words, no regular expressions; `…` stands for anything short on the same line. So a search takes
time that grows with the text and nothing else, whatever the text is.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, Literal

import msgspec

from pytest_codexsandbox.diagnosis.fact_conditions import wrong_condition
from pytest_codexsandbox.errors import InputError

GAP: Final = "…"
REACH: Final = 400  # characters that one gap may cover
OFTEN: Final = 200  # places in a text at which one pattern is tried
CONDITION_WEIGHT: Final = 50
# The default test for an undecided cause: the same command without Codex.
DECIDES: Final = (
    "`sh -c 'COMMAND'` in the same folder without Codex decides: what fails so there too is not the sandbox."
)
_ID = re.compile(r"[a-z0-9]+(?:[.-][a-z0-9]+)*")
_SHIPPED: Final = Path(__file__).resolve().parent / "fingerprints"

Span = tuple[int, int]


class Samples(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    match: tuple[str, ...]
    unlike: tuple[str, ...] = msgspec.field(name="not")
    facts: dict[str, str] = {}  # with which the samples are tried


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    verdict: Literal["sandbox", "not-sandbox", "undecided"]
    texts: tuple[str, ...]  # any of them
    cause: str
    remedy: str
    samples: Samples
    together: tuple[str, ...] = ()  # and each of these, anywhere in the same text
    without: tuple[str, ...] = ()  # and none of these, anywhere in the same text: the errno of another cause
    when: dict[str, str] = {}  # facts: a glob, `!` any other than that glob, or a range of versions
    unless: dict[str, str] = {}  # facts that rule this cause out, whatever the text says; unknown facts do not
    explains: tuple[str, ...] = ()  # fingerprints that this one makes superfluous
    decide: str = ""  # of an undecided cause: the one command that would decide, and the meaning of its result
    note: bool = False  # worth knowing, seldom the cause: shown after every cause, never for a violated promise
    link: str = ""

    @property
    def advice(self) -> str:
        """Returns the remedy; for an undecided cause, also the command that decides it."""
        return f"{self.remedy} {self.decide or DECIDES}" if self.verdict == "undecided" else self.remedy

    def weight(self, text: str) -> int:
        """Returns how specific a match by `text` is.

        Counts the letters of `text` and of `together`, and adds CONDITION_WEIGHT for each condition.
        """
        letters = sum(len(part) for words in (text, *self.together) for part in parts(words))
        return letters + CONDITION_WEIGHT * len(self.when)


@cache
def parts(words: str) -> tuple[str, ...]:
    return tuple(part for part in words.split(GAP) if part)


def find(words: str, text: str) -> Iterator[Span]:
    """Yields the spans in `text` that match `words`, anchored on the longest part of `words`."""
    pieces = parts(words)
    anchor = max(range(len(pieces)), key=lambda index: len(pieces[index]))
    start = text.find(pieces[anchor])
    for _ in range(OFTEN):
        if start < 0:
            return
        end = start + len(pieces[anchor])
        before = _backwards(pieces[:anchor], text, start)
        after = _forwards(pieces[anchor + 1 :], text, end)
        if before >= 0 and after >= 0:
            yield before, after
        start = text.find(pieces[anchor], end)


def _backwards(pieces: Sequence[str], text: str, at: int) -> int:
    for piece in reversed(pieces):
        floor = max(text.rfind("\n", 0, at) + 1, at - REACH - len(piece))
        at = text.rfind(piece, floor, at)
        if at < 0:
            return -1
    return at


def _forwards(pieces: Sequence[str], text: str, at: int) -> int:
    for piece in pieces:
        line = text.find("\n", at, at + REACH + len(piece))
        found = text.find(piece, at, line if line >= 0 else at + REACH + len(piece))
        if found < 0:
            return -1
        at = found + len(piece)
    return at


def load(path: Path) -> Fingerprint:
    try:
        read = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Fingerprint)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as problem:
        raise InputError("a fingerprint cannot be read", where=str(path), why=str(problem)) from problem
    wrong = _wrong(read, path.stem)
    if wrong:
        raise InputError("a fingerprint cannot be used", where=str(path), why=wrong)
    return read


def _wrong(read: Fingerprint, stem: str) -> str:
    if not _ID.fullmatch(read.id) or read.id != stem:
        return f"its id {read.id!r} must be the file's name without .toml, in lower case, words joined by `-`"
    if not read.texts or any(len("".join(parts(words))) < 4 for words in (*read.texts, *read.together)):
        return "every text needs at least four characters besides `…`"
    if not read.samples.match or not read.samples.unlike:
        return "samples.match and samples.not need at least one text each"
    unreadable = [
        f"{name} = {wanted!r}: {wrong_condition(wanted)}" for name, wanted in (*read.when.items(), *read.unless.items())
    ]
    return next((line for line in unreadable if not line.endswith(": ")), "")


def load_all(folders: Sequence[Path] = ()) -> tuple[Fingerprint, ...]:
    """Returns the shipped fingerprints and those of other folders, by id; a repeated id is an error."""
    found: dict[str, Fingerprint] = {}
    for folder in (_SHIPPED, *folders):
        if not folder.is_dir():
            raise InputError("the folder of fingerprints does not exist", where=str(folder))
        for path in sorted(folder.glob("*.toml")):
            read = load(path)
            if read.id in found:
                raise InputError(f"the fingerprint {read.id!r} is defined twice", where=str(path))
            found[read.id] = read
    return tuple(found[name] for name in sorted(found))
