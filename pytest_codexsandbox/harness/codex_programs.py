"""Codex programs of one worker: each is resolved once, and must stay the program whose digest the journal names.

The user's own build may be rebuilt, and an installed one updated, while a run goes on. What the new program does is no
result of the old one. A script may start another Codex now than a moment ago; the kernel reports the path and the file
of each program that a script starts.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from pytest_codexsandbox.errors import CodexSandboxError, HarnessError
from pytest_codexsandbox.harness.codex_resolver import Resolver
from pytest_codexsandbox.harness.event_sink import EventSink
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.journal_lines import SubjectLine
from pytest_codexsandbox.model.launched_program import program_of
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.protocols import Subject
from pytest_codexsandbox.releases.binary_cache import digest_of, is_script


class CodexPrograms:
    """Resolves and watches the Codex of each cell. `generators_in`: the id of the environment that the generators of
    all cells run in; each may call Codex there."""

    def __init__(
        self, cells: Sequence[Cell], resolver: Resolver, events: EventSink, *, cache: Path, generators_in: str = ""
    ) -> None:
        self._cells, self._resolver, self._events = cells, resolver, events
        self._generators_in = generators_in
        self._guard = BinaryGuard(cache)
        self._subjects: dict[str, Subject] = {}
        self._errors: dict[str, CodexSandboxError] = {}

    def subject(self, spec: SubjectSpec) -> Subject:
        """Returns the Codex. One that is unavailable is not tried again for every promise."""
        if spec.label in self._errors:
            raise self._errors[spec.label].with_traceback(None)  # else its traceback would grow with each raise
        if spec.label not in self._subjects:
            try:
                self._subjects[spec.label] = self._resolved(spec)
            except CodexSandboxError as error:
                self._errors[spec.label] = error
                raise
        return self._subjects[spec.label]

    def able(self, cell: Cell) -> Capabilities:
        """Returns what the Codex of a cell can do."""
        return self.subject(cell.subject).capabilities

    def version(self, cell: Cell) -> str:
        """Returns the version that selects the rows of a matrix: the one that the user names for a build, else the
        binary's own."""
        return cell.subject.as_version or self.able(cell).version

    def is_known(self, spec: SubjectSpec) -> bool:
        """Checks whether a subject was resolved already, with success or without."""
        return spec.label in self._subjects or spec.label in self._errors

    def needed_in(self, spec: EnvironmentSpec) -> tuple[Subject, ...]:
        """Returns the subjects that will be called in an environment. An unavailable one breaks its own cells alone."""
        found: list[Subject] = []
        for cell in self._cells:
            if spec.id in (cell.environment.id, self._generators_in):
                with suppress(CodexSandboxError):
                    found.append(self.subject(cell.subject))
        return tuple(found)

    def check(self, cell: Cell, seen: Sequence[Observation] = ()) -> None:
        """Raises HarnessError after calls that may have run another program than the reported one."""
        binary = self.subject(cell.subject).binary
        self._guard.need(binary)
        self._guard.need_started(cell.environment.id, binary, seen)

    def _resolved(self, spec: SubjectSpec) -> Subject:
        subject = self._resolver.resolve(spec)
        if why := subject.disagreement:
            raise HarnessError("the probe of this Codex disagrees with what its release can do", why=why)
        self._guard.remember(subject.binary)
        facts = msgspec.to_builtins(subject.capabilities)
        facts |= {"script": True} if self._guard.is_script(subject.binary) else {}
        line = SubjectLine(
            id=spec.label,
            label=spec.label,
            version=subject.capabilities.version,
            digest=subject.digest,
            source=subject.source,
            binary=subject.binary,
            facts=facts,
        )
        self._events.emit(line)
        return subject


Stamp = tuple[int, ...]
"""Device, inode, size and times of a file: any write changes them."""


def stamp_of(path: str) -> Stamp | None:
    """Returns the stamp of a file; None if there is none."""
    try:
        stat = Path(path).stat()
    except OSError:
        return None
    return (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


class BinaryGuard:
    """Detects replaced binaries. Reads a file again only when the kernel says that it was written."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._digests: dict[str, str] = {}  # by path; "" if it could not be read at first
        self._stamps: dict[str, Stamp | None] = {}  # of the file with that digest
        self._scripts: set[str] = set()
        self._started: dict[tuple[str, str], tuple[str, int]] = {}  # by environment and binary: path and file

    def remember(self, binary: str) -> None:
        if binary in self._digests:
            return
        self._stamps[binary] = stamp_of(binary)  # before it is read: a later write changes the stamp
        self._digests[binary] = self._digest(binary)
        if self._digests[binary] and is_script(binary):
            self._scripts.add(binary)

    def need(self, binary: str) -> None:
        """Raises HarnessError where the binary was replaced or is gone."""
        first, stamp = self._digests.get(binary, ""), stamp_of(binary)
        if stamp is not None and stamp == self._stamps.get(binary):
            return
        now = self._digest(binary) if first else ""
        if now != first:
            change = f"it was sha256 {first[:12]}, and is {f'{now[:12]} now' if now else 'gone'}"
            raise HarnessError(
                "this Codex was replaced during the run",
                where=binary,
                why=change,
                next_step="leave it alone until the run has ended, or measure a copy of it",
            )

    def need_started(self, place: str, binary: str, seen: Iterable[Observation]) -> None:
        """Raises HarnessError where a script started another program in these calls than in earlier ones."""
        if not self.is_script(binary):
            return
        for program in filter(None, (program_of(one.readings) for one in seen)):
            first = self._started.setdefault((place, binary), program)
            if program != first:
                same = program[0] == first[0]
                change = f"a new file at {first[0]}" if same else f"{program[0]}, in earlier calls {first[0]}"
                raise HarnessError(
                    "this Codex starts another program than before",
                    where=binary,
                    why=change,
                    next_step="name the program itself: --codex-bin PATH",
                )

    def is_script(self, binary: str) -> bool:
        """Checks whether the binary was a script when it was first read."""
        return binary in self._scripts

    def _digest(self, binary: str) -> str:
        try:
            return digest_of(binary, self._cache)
        except OSError:
            return ""
