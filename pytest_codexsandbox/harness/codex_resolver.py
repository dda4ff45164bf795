"""Codex resolver: finds, downloads and probes the binary of a subject."""

from pathlib import Path
from typing import Protocol

import msgspec

from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.protocols import Subject
from pytest_codexsandbox.releases.resolve import resolve
from pytest_codexsandbox.system import process
from pytest_codexsandbox.system.progress import Progress


class Resolver(Protocol):
    """Resolves subjects. Passed down to each part that needs a Codex."""

    def resolve(self, spec: SubjectSpec) -> Subject:
        """Returns the binary. Unavailable names the reason if there is none."""


class CodexResolver:
    """Resolves real Codex binaries, probed with the run's own time limits.

    An unavailable subject is not tried again: a dead network takes its time.
    """

    def __init__(self, cache: Path, *, timeout_scale: float = 1.0) -> None:
        self._cache, self._scale = cache, timeout_scale
        self._unavailable: dict[SubjectSpec, Unavailable] = {}

    def resolve(self, spec: SubjectSpec, *, progress: Progress | None = None) -> Subject:
        spec = msgspec.structs.replace(spec, generator="")  # the program is the same with any generator
        if spec in self._unavailable:
            raise self._unavailable[spec].with_traceback(None)
        try:
            return resolve(spec, cache=self._cache, progress=progress, run=self._run)
        except Unavailable as problem:
            self._unavailable[spec] = problem
            raise

    def _run(self, command: Command) -> CommandResult:
        return process.run(msgspec.structs.replace(command, timeout=command.timeout * self._scale))


class OneSubject:
    """Resolves everything to one given subject: a canary, or a fake of the selftest."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject

    def resolve(self, spec: SubjectSpec) -> Subject:
        return self._subject
