"""Journal on disk: one JSON line for each thing known, written once, read strictly.

A full disk must not end a run. What could not be written is kept in `fault`, and the file is cut back to its last whole
line. The ledger then does not add up, because the results are missing from it.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.errors import Contradiction, InputError, os_errors_as
from pytest_codexsandbox.journal.rejudge import LineNumbers, rejudged
from pytest_codexsandbox.model import contents, ledger
from pytest_codexsandbox.model.journal_lines import (
    SCHEMA,
    CallLine,
    ClaimLine,
    EndLine,
    EnvironmentLine,
    Line,
    PlanLine,
    ResultLine,
    RunLine,
    StoryLine,
    SubjectLine,
)
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.redact import redact_json

FILE: Final = "journal.ndjson"
_AGAIN: Final = "give the journal.ndjson of a run, or run again: pytest --codex-matrix"


class JournalWriter:
    """Writes a journal, unbuffered, so that a killed process leaves every line that it wrote."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.fault = ""  # the first thing that could not be written, and why
        self.lost = 0  # lines that could not be written
        self._descriptor = descriptor
        self._size = 0
        self._end = -1  # offset of the line `end`; -1: not written yet
        self._encoder = msgspec.json.Encoder(enc_hook=repr)

    @classmethod
    def open(cls, folder: Path, run_line: RunLine) -> "JournalWriter":
        """Starts a new journal in `folder`, which must not have one."""
        path = folder / FILE
        next_step = "give a folder that can be written: --codex-report-dir DIR"
        with os_errors_as(InputError, "the journal cannot be written", where=path, next_step=next_step):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # shows `run_folders` that the run is running
        journal = cls(path, descriptor)
        journal.write(run_line)
        return journal

    def write(self, line: Line) -> None:
        data = redact_json(self._encoded(line)) + b"\n"
        try:
            written = 0
            while written < len(data):
                written += os.write(self._descriptor, data[written:])
        except OSError as error:
            self._failed(f"{type(line).__name__} could not be written: {error.strerror or error}")
        else:
            self._size += len(data)

    def write_end(self, line: EndLine) -> None:
        """Writes the last line; a later call replaces it. A file that another process changed is left alone."""
        if self._end >= 0:
            try:
                if os.fstat(self._descriptor).st_size != self._size:
                    return
                os.ftruncate(self._descriptor, self._end)
                self._size = os.lseek(self._descriptor, self._end, os.SEEK_SET)
            except OSError as error:
                self.fault = self.fault or f"the last line could not be replaced: {error.strerror or error}"
                return
        start, lost = self._size, self.lost
        self.write(line)
        self._end = start if self.lost == lost else -1
        self.sync()

    def _encoded(self, line: Line) -> bytes:
        try:
            return self._encoder.encode(line)
        except UnicodeEncodeError:  # a file name that is not UTF-8
            return self._encoder.encode(spelled(msgspec.to_builtins(line, enc_hook=repr)))

    def sync(self) -> None:
        """Flushes the journal to the disk, not only to its cache: the plan, before the first effect."""
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            self.fault = self.fault or f"the journal could not be synced: {error.strerror or error}"

    @property
    def closed(self) -> bool:
        return self._descriptor < 0

    def close(self) -> None:
        if self.closed:
            return
        self.sync()
        try:
            os.close(self._descriptor)
        except OSError as error:
            self.fault = self.fault or f"the journal could not be closed: {error.strerror or error}"
        self._descriptor = -1

    def _failed(self, why: str) -> None:
        self.fault = self.fault or why
        self.lost += 1
        with suppress(OSError):  # half a line would spoil the next one
            os.ftruncate(self._descriptor, self._size)
            os.lseek(self._descriptor, self._size, os.SEEK_SET)


def read(path: str | Path) -> ledger.ReadJournal:
    """Returns the journal at `path` (or in the folder `path`). InputError says what is wrong in which line."""
    path = Path(path)
    path = path / FILE if path.is_dir() else path
    lines = _lines(path, _content(path))
    _head(path, lines[0])
    return _Reader(path).gather(lines)


def _content(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _wrong(path, "the journal cannot be read", error.strerror or str(error)) from error
    if not content:
        raise _wrong(path, "the journal is empty", "the run ended before it wrote anything")
    if b"\0" in content:
        raise _wrong(path, "this is not a journal", "it holds binary data; a journal is lines of JSON")
    return content


def _lines(path: Path, content: bytes) -> list[bytes]:
    lines = content.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _head(path: Path, first: bytes) -> None:
    """Refuses a file of another program or another version, before anything else is read."""
    try:
        head: Any = msgspec.json.decode(first)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if first.startswith(b'{"line":"run"'):
            raise _wrong(path, "the journal has no plan", "it stops in the middle of its first line", 1) from error
        raise _wrong(path, "this is not a journal", f"its first line is not JSON: {error}", 1) from error
    kind = head.get("line") if isinstance(head, dict) else None
    if kind is None:
        raise _wrong(path, "this is not a journal of codexsandbox", "its first line has no member `line`", 1)
    if kind != "run":
        raise _wrong(path, "the head of the journal is missing", f"it starts with a line {kind!r}, not with `run`", 1)
    schema = head.get("schema", SCHEMA)
    if schema != SCHEMA:
        why = f"it has schema {schema!r}, this version reads schema {SCHEMA}"
        raise _wrong(path, "the journal was written by another version", why, 1)


class _Reader:
    """Gathers the lines and refuses what a run cannot have written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn = ""
        self.run: RunLine | None = None
        self.plan: PlanLine | None = None
        self.end: EndLine | None = None
        self.environments: list[EnvironmentLine] = []
        self.subjects: list[SubjectLine] = []
        self.calls: list[CallLine] = []
        self.stories: list[StoryLine] = []
        self.claims: list[ClaimLine] = []
        self.records: list[Record] = []
        self._numbers = LineNumbers()
        self._planned: frozenset[Any] = frozenset()
        self._seen: dict[Any, int] = {}

    def gather(self, lines: list[bytes]) -> ledger.ReadJournal:
        for number, line in self._decoded(lines):
            if self.end is not None:
                raise _contradicted(self.path, "the journal goes on after its end", "two journals in one file?", number)
            self._take(number, line)
        if self.run is None or self.plan is None:
            raise _wrong(self.path, "the journal has no plan", "the run ended before it had planned anything")
        journal = ledger.ReadJournal(
            run=self.run,
            plan=self.plan,
            environments=tuple(self.environments),
            subjects=tuple(self.subjects),
            calls=tuple(self.calls),
            stories=contents.whole(self.stories),
            claims=tuple(self.claims),
            records=tuple(self.records),
            end=self.end,
            torn=self.torn,
        )
        return rejudged(journal, self._numbers)

    def _decoded(self, lines: list[bytes]) -> Iterator[tuple[int, Line]]:
        decoder = msgspec.json.Decoder(Line)
        for number, raw in enumerate(lines, 1):
            try:
                line = decoder.decode(raw)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                if number == len(lines) and number > 1 and not isinstance(error, msgspec.ValidationError):
                    self.torn = f"line {number} stops in the middle: {error}"
                    return
                why = f"{error}"
                raise _wrong(self.path, "a line of the journal cannot be understood", why, number) from error
            yield number, line

    def _take(self, number: int, line: Line) -> None:
        match line:
            case ResultLine():
                self._result(number, line)
            case CallLine():
                self.calls.append(line)
            case StoryLine():
                self.stories.append(line)
            case ClaimLine():
                self.claims.append(line)
            case EnvironmentLine():
                self.environments.append(line)
            case SubjectLine():
                self.subjects.append(line)
            case EndLine():
                self.end, self._numbers.end = line, number
            case RunLine():
                if self.run is not None:
                    raise _contradicted(self.path, "the journal has a second head", "two journals in one file?", number)
                self.run = line
            case PlanLine():
                self._take_plan(number, line)

    def _take_plan(self, number: int, line: PlanLine) -> None:
        if self.plan is not None:
            raise _contradicted(self.path, "the journal has a second plan", "two journals in one file?", number)
        self.plan, self._planned, self._numbers.plan = line, frozenset(line.keys), number
        if len(self._planned) != len(line.keys):
            raise _contradicted(self.path, "the plan names a key twice", "every planned key has one state", number)
        strangers = {key.cell for key in line.keys} - {cell.id for cell in line.cells}
        if strangers:
            raise _contradicted(self.path, "the plan has a key of a cell that it does not have", min(strangers), number)
        if ruled_out := set(line.not_applicable) - {str(key) for key in line.keys}:
            raise _contradicted(self.path, "the plan rules out a key that it does not have", min(ruled_out), number)

    def _result(self, number: int, line: ResultLine) -> None:
        record = line.record
        key = record.key
        if (line.cell, line.door, line.policy, line.promise, line.case) != (
            key.cell,
            key.door,
            key.policy,
            key.promise,
            key.case,
        ) or (line.attempt, line.verdict) != (record.attempt, record.verdict.value):
            raise _contradicted(self.path, "a result contradicts its own record", f"{key}", number)
        if key not in self._planned:
            raise _contradicted(self.path, "a result was never planned", f"{key}", number)
        known = self._seen.setdefault((key, record.attempt), number)
        if known != number:
            why = f"{key}, attempt {record.attempt}: also in line {known}"
            raise _contradicted(self.path, "two results have one key and one attempt", why, number)
        self.records.append(record)
        self._numbers.records.append(number)


def spelled(value: Any) -> Any:
    """Returns `value` with the characters that UTF-8 cannot encode spelled out."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {spelled(name): spelled(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [spelled(member) for member in value]
    return value


def _contradicted(path: Path, what: str, why: str, number: int) -> Contradiction:
    return Contradiction(what, where=f"{path}, line {number}", why=why, next_step=_AGAIN)


def _wrong(path: Path, what: str, why: str, number: int = 0) -> InputError:
    where = f"{path}, line {number}" if number else str(path)
    return InputError(what, where=where, why=why, next_step=_AGAIN)
