"""Runner: runs generators in private folders of this machine, confined unless the user requested no confinement.

It keeps one run init for each set of folders that generators must see. A run of a Python function then costs one fork.
"""

import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.errors import CodexSandboxError, EnvironmentLost, HarnessError, Unavailable
from pytest_codexsandbox.generators import placeholders, request_environ, required_paths, run_result
from pytest_codexsandbox.generators.confinement import NEXT, Confinement
from pytest_codexsandbox.generators.local_dirs import LocalDirs
from pytest_codexsandbox.generators.private_dirs import LAUNCHES, PrivateDirs
from pytest_codexsandbox.generators.required_paths import GUEST, Invocation
from pytest_codexsandbox.generators.run_init_client import FunctionCall, Job, Limits, RunInitClient, started_run_init
from pytest_codexsandbox.guest import disk_space
from pytest_codexsandbox.guest.subcommands import starts_work
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.generator import GeneratorRun, Intent, Request
from pytest_codexsandbox.model.generator_spec import Generator

_MOST_RUN_INITS: Final = 4
FULL: Final = 16 << 20  # bytes: a disk with less counts as full, even if space is freed meanwhile
NO_ROOM: Final = "No space left on device"


class GeneratorCall(msgspec.Struct, frozen=True, kw_only=True):
    """One run: the generator and the intent. `codex`: the program of the cell, "" if there is none."""

    generator: Generator
    intent: Intent
    version: str
    codex: str = ""
    run: int = 1
    prefix: tuple[str, ...] = ()  # a tracer's words, put before the generator's own


class Runner:
    """Runs generators in one set of private folders. `close` ends every run init."""

    def __init__(self, stage: LocalDirs, confinement: Confinement) -> None:
        self.stage: PrivateDirs = stage
        self._here, self.confinement = stage, confinement
        self._run_inits: dict[tuple[str, ...], tuple[RunInitClient, ExitStack]] = {}
        self._found: dict[tuple[bytes, str], Invocation] = {}
        self._stubs = stage.folder / "stubs"
        self._stubs.mkdir(exist_ok=True)

    @property
    def by(self) -> str:
        return self.confinement.by

    def close(self) -> None:
        while self._run_inits:
            self._leave(next(iter(self._run_inits)))

    def run(self, asked: GeneratorCall) -> GeneratorRun:
        """Runs one generator. A failure to start is a result too."""
        return self.together([asked])[0]

    def together(self, asked: Sequence[GeneratorCall]) -> tuple[GeneratorRun, ...]:
        """Runs all at once on the same files, each with its own request and result. The stub's records are returned
        only for a single generator."""
        self._before()
        try:
            prepared = [self._prepared(one, number) for number, one in enumerate(asked)]
        except CodexSandboxError as problem:
            return tuple(self._not_started(_line(problem)) for _ in asked)
        finished = self._performed(prepared)
        results = [self.stage.reported_result(number) for number in range(len(asked))]
        launches = self.stage.launches()
        files, strayed = self.stage.files(), self._strayed()
        folders = (*self.stage.inside.values(), self.stage.own)
        outcomes = tuple(
            run_result.outcome(
                ended,
                result,
                launches if len(asked) == 1 else (),
                declaration=one.generator.declaration,
                given=job.command.env,
                folders=folders,
                files=files,
                strayed=strayed,
            )
            for ended, one, (job, _), result in zip(finished, asked, prepared, results, strict=True)
        )
        self._need_room(outcomes)
        return outcomes

    def _need_room(self, outcomes: Sequence[GeneratorRun]) -> None:
        """Raises HarnessError if a generator failed on a full disk. Such a run shows nothing about the generator."""
        left = disk_space.least([str(self._here.root)])
        said = (word for one in outcomes for word in (one.stderr, one.stdout, one.reason, one.error))
        if 0 <= left < FULL and any(NO_ROOM in word for word in said):
            why = f"{left >> 10} KiB are free"
            raise HarnessError("a generator failed because the disk is full", where=str(self._here.root), why=why)

    def _before(self) -> None:
        """Discards what was in the replaced folders before this run."""
        self._here.strayed()

    def values(self, asked: GeneratorCall, number: int = 0) -> dict[str, str]:
        """Returns placeholder → value. `number`: of several parallel runs."""
        paths = self.stage.paths_of(number)
        return {**paths, **placeholders.of_intent(asked.intent, asked.version, paths)}

    # ---- one run
    def _prepared(self, asked: GeneratorCall, number: int) -> tuple[Job, Invocation]:
        values = self.values(asked, number)
        declaration = asked.generator.declaration
        if declaration.needs_network and self.confinement.bwrap:
            raise Unavailable("the generator needs a network, but it is confined without one", next_step=NEXT)
        calls_codex = declaration.codex_on_path or asked.generator.spec.words[:1] == (required_paths.CODEX,)
        if calls_codex and not asked.codex:
            raise Unavailable("the generator calls Codex, but this cell has no Codex for it")
        works = declaration.codex_on_path
        stubs = self._stubs_of(works=works)
        made = self._made(asked)
        if is_start_of_codex(asked.generator):  # how this command starts Codex is its whole result
            made = msgspec.structs.replace(made, argv=(f"{stubs}/codex", *made.argv[1:]))
        request = request_environ.request(asked.intent, values, declaration, codex=f"{stubs}/codex", run=asked.run)
        self.stage.ready(request_environ.as_bytes(request), number)
        self._stub(stub_of(works=works, codex=asked.codex), stubs)
        env = request_environ.environment(request, values, declaration, folders=(stubs, *made.folders))
        return self._job(asked, made, request, values, env, number=number), made

    def _made(self, asked: GeneratorCall) -> Invocation:
        """Returns how to start a generator, cached: three runs on each of two hundred files use the same programs."""
        key = (msgspec.json.encode(asked.generator), asked.codex)
        if key not in self._found:
            made = required_paths.made(asked.generator, codex=asked.codex)
            shown = tuple(sorted({*made.readable, str(self._stubs)}))
            self._found[key] = msgspec.structs.replace(made, readable=shown)
        return self._found[key]

    def _job(
        self,
        asked: GeneratorCall,
        made: Invocation,
        request: Request,
        values: Mapping[str, str],
        env: dict[str, str],
        *,
        number: int,
    ) -> Job:
        call = None
        argv = required_paths.filled(made.argv, values)
        if made.function[0]:
            module, function = made.function
            call = FunctionCall(
                module=module,
                function=function,
                path=made.path,
                request=request_environ.as_json(request),
                result=values["RESULT"],
            )
            argv = (f"py:{module}:{function}",)  # a name for messages: it is never executed
            if asked.prefix:  # a tracer needs a separate process
                argv, call = self._once(call, number), None
        command = Command(
            argv=(*asked.prefix, *argv),
            cwd=values["WORKSPACE"],
            env=env,
            output_limit=run_result.SAID,
            timeout=asked.generator.declaration.timeout,
            why=f"the generator {asked.generator.name}",
        )
        return Job(command=command, call=call)

    def _once(self, call: FunctionCall, number: int) -> tuple[str, ...]:
        words = self._stubs / f"call-{number}.json"
        words.write_bytes(msgspec.json.encode(call))
        return (sys.executable, str(GUEST / "forkserver.py"), "once", str(words))

    def _performed(self, prepared: Sequence[tuple[Job, Invocation]]) -> tuple[CommandResult, ...]:
        shown = tuple(sorted({path for _, made in prepared for path in made.readable}))
        away = self._away()
        limits = Limits(tops=(*self._tops(), *away), shown=shown if away else ())
        try:
            return self._run_init(shown).run([job for job, _ in prepared], limits)
        except EnvironmentLost as problem:
            self._leave(shown)
            return tuple(CommandResult(ended="lost", error=_line(problem)) for _ in prepared)

    def _tops(self) -> tuple[str, ...]:
        return (*self.stage.inside.values(), self.stage.own) if self.stage.is_elsewhere else (str(self._here.root),)

    def _away(self) -> tuple[str, ...]:
        return ("/tmp", "/var/tmp", "/dev/shm", "/run") if self.confinement.bwrap else ()

    def _strayed(self) -> tuple[str, ...]:
        if not self.confinement.bwrap:
            return ()
        found = self._here.strayed()
        if not self._here.is_whole():  # a mount point was moved: later processes would not see these folders
            self.close()
        return found

    def _not_started(self, why: str) -> GeneratorRun:
        return GeneratorRun(ended="not-started", error=why, files=self.stage.files())

    # ---- run inits
    def _run_init(self, shown: tuple[str, ...]) -> RunInitClient:
        if not self.confinement.bwrap:
            shown = ()
        if shown not in self._run_inits:
            while len(self._run_inits) >= _MOST_RUN_INITS:
                self._leave(next(iter(self._run_inits)))
            stack = ExitStack()
            walls = self.confinement.walls(self._here, shown)
            name = self.by or "unconfined"
            run_init = stack.enter_context(started_run_init(walls, log=self._here.folder / "run-init.log", name=name))
            run_init.run([_nothing()], Limits())  # after this run everything is mounted
            self._here.settle()
            self._run_inits[shown] = run_init, stack
        return self._run_inits[shown][0]

    def _leave(self, shown: tuple[str, ...]) -> None:
        found = self._run_inits.pop(shown if self.confinement.bwrap else (), None)
        if found is not None:
            with suppress(OSError):
                found[1].close()

    def _stubs_of(self, *, works: bool) -> str:
        """Returns the folder of a `codex` that records its calls."""
        return str(self._stubs / ("works" if works else "recorded"))

    def _stub(self, words: tuple[str, ...], folder: str) -> None:
        text = stub(sys.executable, str(GUEST), self.stage.own, words)
        program = Path(folder) / "codex"
        if not program.is_file() or program.read_text(encoding="utf-8") != text:
            program.parent.mkdir(exist_ok=True)
            program.write_text(text, encoding="utf-8")
            program.chmod(0o755)


def is_start_of_codex(generator: Generator) -> bool:
    """Checks whether a command is itself a start of work: `codex exec -c key=value PROMPT`."""
    words = generator.spec.words
    return words[:1] == (required_paths.CODEX,) and starts_work(words[1:])


def stub_of(*, works: bool, codex: str) -> tuple[str, ...]:
    """Returns the recorder's words. With `works`, the real Codex gets starts of work too; it gets every other call
    anyway."""
    return ("1" if works and codex else "0", codex)


def stub(python: str, guest: str, own: str, words: tuple[str, ...]) -> str:
    """Returns the text of a program `codex` that records its calls (guest/codex_stub.py)."""
    argv = (python, "-I", "-S", f"{guest}/codex_stub.py", f"{own}/{LAUNCHES}", *words)
    return f'#!/bin/sh\nexec {shlex.join(argv)} "$@"\n'


def _nothing() -> Job:
    return Job(command=Command(argv=("/bin/true",), cwd="/", env={}, timeout=30.0))


def _line(problem: CodexSandboxError) -> str:
    return "; ".join(part for part in (problem.what, problem.why, problem.next_step) if part)
