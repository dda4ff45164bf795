"""Reader: reads a journal strictly. It refuses what no run writes, with the number of the line."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from packaging.version import InvalidVersion, Version

from pytest_codexsandbox.errors import Contradiction, InputError
from pytest_codexsandbox.journal.references import Faulty, Parts, TooLarge
from pytest_codexsandbox.journal.rejudge import LineNumbers, rejudged
from pytest_codexsandbox.journal.running_sum import RunningSum, without_sum
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
from pytest_codexsandbox.model.plan_key import keys_digest
from pytest_codexsandbox.model.record import Record

FILE: Final = "journal.ndjson"
_AGAIN: Final = "give the journal.ndjson of a run, or run again: pytest --codex-matrix"
_NOT_UNDERSTOOD: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)  # the last one: nested too deeply
_WHOLE: Final = (msgspec.ValidationError, RecursionError)  # the line does not stop in the middle
_FIRST: Final = 1  # the schema without parts and sums
_LAST_WITH_FIRST: Final = Version("0.1.0")  # the last version that wrote it
_OF_SCHEMA_2: Final = re.compile(rb',\s*"(?:sum"\s*:\s*"[0-9a-f]+"|plain"\s*:\s*true)\s*\}\s*\Z')


def read(path: str | Path) -> ledger.ReadJournal:
    """Returns the journal at `path` (or in the folder `path`). InputError says what is wrong in which line."""
    path = Path(path)
    path = path / FILE if path.is_dir() else path
    lines = _lines(path, _content(path))
    return _Reader(path, _schema(path, lines[0])).gather(lines)


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


def _schema(path: Path, first: bytes) -> int:
    """Returns the schema of a journal. Refuses a file of another program or version, before anything else is read."""
    try:
        head: Any = msgspec.json.decode(first)
    except _NOT_UNDERSTOOD as error:
        if first.startswith(b'{"line":"run"'):
            raise _wrong(path, "the journal has no plan", "it stops in the middle of its first line", 1) from error
        raise _wrong(path, "this is not a journal", f"its first line is not JSON: {error}", 1) from error
    kind = head.get("line") if isinstance(head, dict) else None
    if kind is None:
        raise _wrong(path, "this is not a journal of codexsandbox", "its first line has no member `line`", 1)
    if kind != "run":
        raise _wrong(path, "the head of the journal is missing", f"it starts with a line {kind!r}, not with `run`", 1)
    schema = head.get("schema", _FIRST)
    if isinstance(schema, bool) or schema not in (_FIRST, SCHEMA):
        why = f"it has schema {schema!r}, this version reads schema {_FIRST} and {SCHEMA}"
        raise _wrong(path, "the journal was written by another version", why, 1)
    product = str(head.get("product", ""))
    if schema == _FIRST and _is_later(product):
        raise _contradicted(
            path, "the journal was changed after it was written", f"{product} writes schema {SCHEMA}", 1
        )
    return int(schema)


def _is_later(product: str) -> bool:
    """Checks whether a version of this program writes no journal of the first schema any more."""
    name, _, version = product.partition(" ")
    try:
        return name == "codexsandbox" and Version(version) > _LAST_WITH_FIRST
    except InvalidVersion:
        return False


class _Said(msgspec.Struct, frozen=True, kw_only=True):
    """Members of plan and end that are about the journal itself."""

    keys_digest: str = ""
    lines: dict[str, int] = {}


class _Reader:
    """Gathers the lines and refuses what a run cannot have written."""

    def __init__(self, path: Path, schema: int) -> None:
        self.path, self.schema = path, schema
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
        self._kinds: Counter[str] = Counter()

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
        resolved = enumerate(lines, 1) if self.schema == _FIRST else self._resolved(lines)
        for number, raw in resolved:
            try:
                line = decoder.decode(raw)
            except _NOT_UNDERSTOOD as error:
                if self._is_torn(number, lines) and not isinstance(error, _WHOLE):
                    self.torn = f"line {number} stops in the middle: {error}"
                    return
                why = f"{error}"
                raise _wrong(self.path, "a line of the journal cannot be understood", why, number) from error
            if self.schema == _FIRST:
                self._refuse_later_members(number, line, raw)
            elif isinstance(line, PlanLine | EndLine):
                self._verify(number, line, raw)
            yield number, line

    def _resolved(self, lines: list[bytes]) -> Iterator[tuple[int, bytes]]:
        """Yields each line that is no part, with the values of the parts that it refers to."""
        running, parts = RunningSum(), Parts(sum(map(len, lines)))
        for number, raw in enumerate(lines, 1):
            if not running.fits(raw):
                if self._is_torn(number, lines) and (fault := _not_json(raw)):
                    self.torn = f"line {number} stops in the middle: {fault}"
                    return
                why = "its sum does not fit the bytes up to it: a line was edited, removed, inserted or moved"
                raise _contradicted(self.path, "the journal was changed after it was written", why, number)
            line = without_sum(raw)
            try:
                if line.startswith(b'{"line":"part"'):
                    parts.add(line)
                    self._kinds["part"] += 1
                    continue
                whole = parts.whole(line)
            except TooLarge as fault:
                raise _wrong(
                    self.path, "the journal is larger than any that a run writes", f"{fault}", number
                ) from None
            except Faulty as fault:
                raise _contradicted(
                    self.path, "a part of the journal is missing or changed", f"{fault}", number
                ) from None
            except _NOT_UNDERSTOOD as error:
                raise _wrong(self.path, "a line of the journal cannot be understood", f"{error}", number) from error
            yield number, whole

    def _is_torn(self, number: int, lines: list[bytes]) -> bool:
        """Checks whether the line may be the one that a killed run was writing. Behind an end no run writes."""
        return number == len(lines) and number > 1 and self.end is None

    def _verify(self, number: int, line: PlanLine | EndLine, raw: bytes) -> None:
        """Compares the plan's digest with its keys, and the line counts of the end with the lines before it."""
        said = msgspec.json.decode(raw, type=_Said)
        if isinstance(line, PlanLine) and said.keys_digest != keys_digest(line.keys):
            why = "keys_digest is not the digest of its keys"
            raise _contradicted(self.path, "the plan's keys do not fit their digest", why, number)
        if isinstance(line, EndLine) and said.lines != dict(+self._kinds):
            differ = sorted(
                name for name in {*said.lines, *self._kinds} if said.lines.get(name, 0) != self._kinds[name]
            )
            why = ", ".join(f"{said.lines.get(name, 0)} {name}, not {self._kinds[name]}" for name in differ)
            raise _contradicted(self.path, "the journal has other lines than its end counts", why, number)

    def _refuse_later_members(self, number: int, line: Line, raw: bytes) -> None:
        """Refuses a line of schema 2 in a journal that says that it is one of schema 1."""
        said = msgspec.json.decode(raw, type=_Said) if isinstance(line, PlanLine | EndLine) else _Said()
        if said != _Said() or _OF_SCHEMA_2.search(raw, max(0, len(raw) - 99)):
            why = f"it has members of schema {SCHEMA}, and the journal says that it has schema {_FIRST}"
            raise _contradicted(self.path, "the journal was changed after it was written", why, number)

    def _take(self, number: int, line: Line) -> None:
        self._kinds[str(line.__struct_config__.tag)] += 1
        match line:
            case ResultLine():
                self._result(number, line)
            case CallLine():
                self.calls.append(line)
                self._numbers.calls.append(number)
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


def _not_json(line: bytes) -> str:
    """Returns why a line is no JSON; "" if it is, or if it is nested too deeply to tell."""
    try:
        msgspec.json.decode(line)
    except RecursionError:
        return ""
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return f"{error}"
    return ""


def _contradicted(path: Path, what: str, why: str, number: int) -> Contradiction:
    return Contradiction(what, where=f"{path}, line {number}", why=why, next_step=_AGAIN)


def _wrong(path: Path, what: str, why: str, number: int = 0) -> InputError:
    where = f"{path}, line {number}" if number else str(path)
    return InputError(what, where=where, why=why, next_step=_AGAIN)
