"""Stress setup: the input of a stress check, and the private folders in which it runs generators and reads the file."""

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.confinement import UNCONFINED, Confinement
from pytest_codexsandbox.generators.environment_dirs import EnvironmentDirs
from pytest_codexsandbox.generators.environment_runner import EnvironmentRunner
from pytest_codexsandbox.generators.local_dirs import LocalDirs, place
from pytest_codexsandbox.generators.private_dirs import PrivateDirs
from pytest_codexsandbox.generators.runner import GeneratorCall, Runner
from pytest_codexsandbox.generators.stress import local_writers, strace
from pytest_codexsandbox.generators.stress.file_watch import content
from pytest_codexsandbox.generators.stress.strace import Tracer
from pytest_codexsandbox.model.generator import (
    Case,
    CaseRun,
    DecisionRow,
    Declaration,
    Files,
    Finding,
    GeneratorRun,
    Intent,
)
from pytest_codexsandbox.model.generator_spec import FOLDERS, Generator
from pytest_codexsandbox.protocols import Environment

NOT_THERE: Final = Tracer(why="strace is used on the host only, but these generators run in an environment")
NOTHING: Final = Case(id="nothing", why="there is no file", config=None)


class StressContext(msgspec.Struct, frozen=True, kw_only=True):
    generator: Generator
    case: Case  # the user's file: rich and ordinary
    intent: Intent
    other: Intent  # a second intent, which leads to another file
    version: str  # the release of Codex that the generator gets
    folder: Path  # of the run, outside the temp directory
    confinement: Confinement = UNCONFINED
    codex: str = ""  # the program of the cell, for generators that call it
    beside: str = ""  # name of the other writer, or of the older release
    named: Callable[[str], Generator] | None = None  # finds other writers and older releases by name
    row: DecisionRow | None = None  # the row of its decision matrix that applies
    tracer: Tracer | None = None  # None: strace, if it is installed
    environment: Environment | None = None  # where it runs, if not on this machine

    @property
    def declaration(self) -> Declaration:
        return self.generator.declaration

    def strace(self) -> Tracer:
        if self.environment is not None:
            return NOT_THERE
        return strace.tracer() if self.tracer is None else self.tracer

    def neighbour(self) -> Generator:
        if self.named is None or not self.beside:
            raise LookupError("no second generator was named")
        return self.named(self.beside)


class StressRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run, and the configuration after it."""

    outcome: GeneratorRun
    config: bytes | None

    @property
    def well(self) -> bool:
        return self.outcome.ended == "exit" and not self.refused

    @property
    def refused(self) -> bool:
        return case_view.refused(self.outcome)

    @property
    def said(self) -> str:
        """Returns how the run ended, and its last message on one line."""
        one = self.outcome
        words = one.reason or one.error or one.stderr.strip()[-300:] or one.stdout.strip()[-300:] or "no output"
        return f"{one.ended} {one.code}: {' '.join(words.split())[:300]}"


class StressSetup:
    """The private folders of one stress check. Every folder keeps its path in each run."""

    def __init__(self, context: StressContext) -> None:
        self.context = context
        self.stage: PrivateDirs
        self._runner: Runner
        if context.environment is None:
            self.stage = stage = LocalDirs(place(context.folder))
            self._runner = Runner(stage, context.confinement)
        else:
            self.stage = inside = EnvironmentDirs(context.environment)
            self._runner = EnvironmentRunner(context.environment, inside)

    def close(self) -> None:
        self._runner.close()
        self.stage.end()

    @property
    def top(self) -> str:
        """Returns the folder that contains all private folders, for observers on this machine."""
        return posixpath.commonpath(self.stage.folders.values())

    @property
    def config_path(self) -> str:
        return f"{self.stage.folders['CODEX_HOME']}/config.toml"

    @property
    def tops(self) -> tuple[str, ...]:
        """Returns the user's folders."""
        return tuple(self.stage.folders[name] for name in ("HOME", "CODEX_HOME", "WORKSPACE"))

    def log(self, name: str = "calls") -> str:
        return strace.log_of(self.stage.own, name)

    def world(self) -> dict[str, str]:
        return {name: path for name, path in self.stage.paths.items() if name in FOLDERS}

    def lay(self, case: Case | None = None, *, generator: Generator | None = None) -> Files:
        """Writes the user's files as they were at the start."""
        asked = self.asked(self.context.intent, generator=generator)
        self.stage.fresh()
        self.stage.lay(case or self.context.case, self._runner.values(asked), asked.generator.declaration)
        return self.stage.files()

    def asked(
        self, intent: Intent, *, generator: Generator | None = None, run: int = 1, prefix: Sequence[str] = ()
    ) -> GeneratorCall:
        context = self.context
        return GeneratorCall(
            generator=generator or context.generator,
            intent=intent,
            version=context.version,
            codex=context.codex,
            run=run,
            prefix=tuple(prefix),
        )

    def play(
        self,
        intent: Intent | None = None,
        *,
        generator: Generator | None = None,
        run: int = 1,
        prefix: Sequence[str] = (),
    ) -> StressRun:
        asked = self.asked(intent or self.context.intent, generator=generator, run=run, prefix=prefix)
        if self.context.environment is not None and local_writers.is_ours(asked.generator):
            return self._played(
                local_writers.write(asked.generator, asked.intent, run=run, stage=self.stage, world=self.world())
            )
        parts = asked.generator.spec.parts or (asked.generator,)
        outcome = GeneratorRun(ended="not-started")
        for part in parts:
            outcome = self._runner.run(msgspec.structs.replace(asked, generator=part))
            if outcome.ended != "exit" or outcome.code:
                break
        return self._played(outcome)

    def together(self, asked: Sequence[GeneratorCall]) -> tuple[StressRun, ...]:
        return tuple(self._played(one) for one in self._runner.together(asked))

    def config(self, files: Files) -> bytes | None:
        return content(case_view.config(files, self.world()))

    def _played(self, outcome: GeneratorRun) -> StressRun:
        return StressRun(outcome=outcome, config=self.config(outcome.files))

    def case_run(
        self, before: Files, runs: Sequence[GeneratorRun], *, alone: bytes | None, case: Case | None = None
    ) -> CaseRun:
        """Returns the runs as a case run, the input of checks."""
        context = self.context
        return CaseRun(
            generator=context.generator.name,
            case=case or context.case,
            intent=context.intent,
            before=before,
            runs=tuple(runs),
            world=self.world(),
            confined=self._runner.by,
            alone=alone,
            row=context.row,
        )

    def alone(self, generator: Generator | None = None) -> StressRun:
        """Runs the generator where there is no file."""
        self.lay(NOTHING, generator=generator)
        return self.play(generator=generator)


@contextmanager
def stress_setup(context: StressContext) -> Iterator[StressSetup]:
    opened = StressSetup(context)
    try:
        yield opened
    finally:
        opened.close()


def shown(found: Sequence[Finding], world: Mapping[str, str]) -> tuple[Finding, ...]:
    """Replaces our folders by placeholders, so that every run gives the same text."""

    def plain(text: str) -> str:
        for name, path in sorted(world.items(), key=lambda item: -len(item[1])):
            text = text.replace(path, f"@{name}@")
        return text

    return tuple(
        msgspec.structs.replace(
            one, saw=plain(one.saw), diff=plain(one.diff), skipped=plain(one.skipped), control=plain(one.control)
        )
        for one in found
    )


def cannot(context: StressContext) -> str:
    """Returns why stress checks do not apply; "" if they do."""
    if context.generator.spec.scheme == "chain":
        return "a chain is several programs: each is checked on its own"
    if context.case.link:
        return "the user's file is a link here: the check needs an ordinary file"
    return ""
