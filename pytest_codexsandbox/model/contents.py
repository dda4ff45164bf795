"""Contents of files in the journal: each text and each list of files is written once, by its digest. Pure.

A generator may bring hundreds of files, the same ones in every case of the corpus. A case run names them by digest; the
first case run that has one carries it. Codex's own configuration is never left out: findings show it. Of other files a
journal keeps a bounded amount, then digests and sizes only.
"""

import hashlib
import posixpath
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from pytest_codexsandbox.model.journal_lines import Line, StoryLine
from pytest_codexsandbox.model.story_log import LoggedFile, LoggedRun, Told

PLACES: Final = ("@CODEX_HOME@", "@WORKSPACE@/.codex", "@HOME@/.codex")
OF_CODEX: Final = "@CODEX_HOME@/tmp/arg0"  # links to itself that Codex makes at a call: no tool's work, no leftovers
MOST: Final = 4 * 1024 * 1024  # characters of files that are no configuration, in the journal of one worker
EACH: Final = 4 * 1024  # of one of them
LISTED: Final = 40  # so many files of a run are named in its own line; more of them are a list of their own
LISTS: Final = 100_000  # entries of all lists together; of later lists the first LISTED are kept


class Writer:
    """Writes the contents of one worker's journal, each once."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}  # digest → characters that are written
        self._lists: set[str] = set()
        self._texts = self._entries = 0

    def thin(self, line: Line) -> Line:
        """Returns the line of a case run without contents that an earlier line carries, and any other line as it is."""
        return self._thinned(line) if isinstance(line, StoryLine) else line

    def _thinned(self, line: StoryLine) -> StoryLine:
        texts: dict[str, str] = {}
        lists: dict[str, Told] = {}
        before = self._taken(line.before, texts)
        runs = tuple(self._run(run, texts, lists) for run in line.runs)
        return msgspec.structs.replace(line, before=before, runs=runs, texts=texts, lists=lists)

    def _run(self, run: LoggedRun, texts: dict[str, str], lists: dict[str, Told]) -> LoggedRun:
        changed = self._taken(run.changed, texts)
        others = {path: file for path, file in changed.items() if not is_configuration(path)}
        if len(others) <= LISTED:
            return msgspec.structs.replace(run, changed=changed)
        own = {path: file for path, file in changed.items() if path not in others}
        digest, more = self._listed(others, lists)
        return msgspec.structs.replace(run, changed=own, listed=digest, more=more)

    def _listed(self, others: Told, lists: dict[str, Told]) -> tuple[str, int]:
        """Returns the digest of the list, and how many of its files the list does not name."""
        digest = hashlib.sha256(msgspec.json.encode(others, order="deterministic")).hexdigest()
        if digest in self._lists:
            return digest, 0
        kept, more = others, 0
        if self._entries + len(others) > LISTS:
            kept, more = dict(list(others.items())[:LISTED]), len(others) - LISTED
            digest = hashlib.sha256(digest.encode() + b" cut").hexdigest()
        self._entries += len(kept)
        if digest not in self._lists:
            lists[digest] = kept
        self._lists.add(digest)
        return digest, more

    def _taken(self, files: Told, texts: dict[str, str]) -> Told:
        return {path: self._without(path, file, texts) for path, file in files.items()}

    def _without(self, path: str, file: LoggedFile, texts: dict[str, str]) -> LoggedFile:
        if not file.sha256 or not file.text:
            return file
        text = file.text if is_configuration(path) else file.text[: min(EACH, MOST - self._texts)]
        if self._known.get(file.sha256, 0) < len(text):  # a configuration may have been another's copy before
            self._known[file.sha256] = len(text)
            texts[file.sha256] = text
            self._texts += 0 if is_configuration(path) else len(text)
        return msgspec.structs.replace(file, text="")


def is_configuration(path: str) -> bool:
    """Checks whether a path is TOML in one of the places where Codex looks for configuration."""
    return path.endswith(".toml") and posixpath.dirname(path) in PLACES


def is_of_codex(path: str) -> bool:
    return path.startswith(OF_CODEX)


def whole(case_runs: Iterable[StoryLine]) -> tuple[StoryLine, ...]:
    """Returns the case runs of a journal with the contents that they name by digest. Equal texts and lists are one
    object."""
    every = tuple(case_runs)
    texts: dict[str, str] = {}
    for digest, text in (pair for line in every for pair in line.texts.items()):
        texts[digest] = max(texts.get(digest, ""), text, key=len)  # one worker may have written less of it
    files: dict[LoggedFile, LoggedFile] = {}

    def filled(file: LoggedFile) -> LoggedFile:
        if file.text or file.sha256 not in texts:
            return file
        return files.setdefault(file, msgspec.structs.replace(file, text=texts[file.sha256]))

    lists = {digest: _of_all(changed, filled) for line in every for digest, changed in line.lists.items()}
    return tuple(_whole(line, lists, filled) for line in every)


def _whole(line: StoryLine, lists: Mapping[str, Told], filled: Callable[[LoggedFile], LoggedFile]) -> StoryLine:
    def run(one: LoggedRun) -> LoggedRun:
        files = {**_of_all(one.changed, filled), **lists.get(one.listed, {})}
        left = "" if one.listed in lists else one.listed  # the line that carried it may be lost
        return msgspec.structs.replace(one, changed=dict(sorted(files.items())), listed=left)

    runs = tuple(map(run, line.runs))
    return msgspec.structs.replace(line, before=_of_all(line.before, filled), runs=runs, texts={}, lists={})


def _of_all(files: Told, filled: Callable[[LoggedFile], LoggedFile]) -> Told:
    return {path: filled(file) for path, file in files.items()}
