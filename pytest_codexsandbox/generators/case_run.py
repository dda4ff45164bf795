"""Case run: sets up the files of a case, runs a generator on them up to three times and records every state."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.errors import HarnessError, Unavailable
from pytest_codexsandbox.generators import case_blocks, managed_block, placeholders
from pytest_codexsandbox.generators.confinement import UNCONFINED, Confinement
from pytest_codexsandbox.generators.environment_dirs import EnvironmentDirs
from pytest_codexsandbox.generators.environment_runner import EnvironmentRunner
from pytest_codexsandbox.generators.local_dirs import LocalDirs, place
from pytest_codexsandbox.generators.managed_block import CaseNotApplicable, ManagedBlock
from pytest_codexsandbox.generators.private_dirs import PrivateDirs
from pytest_codexsandbox.generators.repository_files import steers_git
from pytest_codexsandbox.generators.runner import GeneratorCall, Runner
from pytest_codexsandbox.generators.server_names import asks_for_a_name, named, server_names
from pytest_codexsandbox.model.generator import (
    CONFIG,
    Case,
    CaseRun,
    DecisionRow,
    Files,
    GeneratedConfig,
    GeneratedFile,
    GeneratorRun,
    Intent,
)
from pytest_codexsandbox.model.generator_spec import FOLDERS, Generator
from pytest_codexsandbox.protocols import Environment

RUNS: Final = 3
TICK: Final = 12_000_000  # nanoseconds
ALONE: Final = Case(id="nothing", why="there is no file", config=None)
EMPTY: Final = Case(id="empty", why="the file is empty", config=b"")


class CaseRunner:
    """Runs cases in one set of private folders, one after the other. Not for several threads at once."""

    def __init__(self, folder: Path, confinement: Confinement, *, environment: Environment | None = None) -> None:
        """Opens the private folders. `environment`: where generators run, and what confines them
        (--codex-generator-in); None: on this machine."""
        self.folder, self.confinement = folder, confinement
        self._stage: PrivateDirs
        self._runner: Runner
        if environment is None:
            self._stage = stage = LocalDirs(place(folder))
            self._runner = Runner(stage, confinement)
        else:
            self._stage = inside = EnvironmentDirs(environment)
            self._runner = EnvironmentRunner(environment, inside)
        self._alone: dict[tuple[bytes, str], GeneratorRun] = {}

    @property
    def confined(self) -> str:
        """Returns what confines the generators; "" if nothing does."""
        return self._runner.by

    def close(self) -> None:
        self._runner.close()
        self._stage.end()

    def run_case(
        self,
        generator: Generator,
        case: Case,
        intent: Intent,
        *,
        version: str,
        codex: str = "",
        runs: int = RUNS,
        row: DecisionRow | None = None,
    ) -> CaseRun:
        """Runs a generator on the files of a case. Raises CaseNotApplicable where the case needs a block or markers
        that this generator does not have. `version`: the release of the cell's Codex; `codex`: the path of its program.

        Another run follows only if the last one ended by itself. For a published tool the third run is made only if the
        second changed a file. Such a tool does not know the number of a run, so the third run would only repeat the
        second.
        """
        asked = GeneratorCall(generator=generator, intent=case.intent or intent, version=version, codex=codex)
        alone = self.alone(asked)
        before = self._laid(asked, self._filled(asked, case))
        outcomes: list[GeneratorRun] = []
        for number in range(1, runs + 1):
            _let_time_pass(outcomes[-1].files if outcomes else before)
            outcomes.append(self._once(msgspec.structs.replace(asked, run=number)))
            if outcomes[-1].ended != "exit" or (generator.declaration.real and unmoved(outcomes)):
                break
        outcomes[0] = _with_import(outcomes[0], alone)
        return CaseRun(
            generator=generator.name,
            case=case,
            intent=asked.intent,
            before=before,
            runs=tuple(outcomes),
            world=self.world(),
            confined=self.confined,
            row=row,
            alone=managed_block.content(alone.files),
            installed=installed(alone.files),
        )

    def together(self, case: Case, asked: Sequence[GeneratorCall]) -> tuple[Files, tuple[GeneratorRun, ...]]:
        """Runs several generators at once on the files of one case. Returns the files before, and the result of each
        run."""
        if any(one.generator.spec.scheme == "chain" for one in asked):
            raise Unavailable(
                "a chain runs its generators one after the other, not at once",
                next_step="name its generators instead of the chain",
            )
        before = self._laid(asked[0], self._filled(asked[0], case))
        return before, self._runner.together(asked)

    def after(self, case: Case, asked: Sequence[GeneratorCall]) -> tuple[Files, tuple[GeneratorRun, ...]]:
        """Runs several generators one after the other on the files of one case."""
        before = self._laid(asked[0], self._filled(asked[0], case))
        return before, tuple(self._once(one) for one in asked)

    def alone(self, asked: GeneratorCall) -> GeneratorRun:
        """Returns what the generator does where there is no file. The answer is cached for each call."""
        return self._of(asked, ALONE)

    def block(self, asked: GeneratorCall) -> ManagedBlock:
        """Returns what the generator writes into an empty file, with the marker lines around it."""
        return managed_block.block(self._of(asked, EMPTY), asked.generator)

    def world(self) -> dict[str, str]:
        """Returns placeholder name → path of the private folder."""
        return {name: path for name, path in self._stage.paths.items() if name in FOLDERS}

    # ---- parts
    def _of(self, asked: GeneratorCall, case: Case) -> GeneratorRun:
        key = (msgspec.json.encode(asked), case.id)
        if key not in self._alone:
            self._laid(asked, case)
            self._alone[key] = self._once(asked)
        return self._alone[key]

    def server_names(self, asked: GeneratorCall) -> tuple[str, ...]:
        """Returns the MCP servers that the generator writes into an empty file, or else where there is no file."""
        found = (managed_block.content(self._of(asked, case).files) for case in (EMPTY, ALONE))
        return next(filter(None, (server_names(content or b"") for content in found)), ())

    def _filled(self, asked: GeneratorCall, case: Case) -> Case:
        if asks_for_a_name(case):
            case = named(case, self.server_names(asked))
        if case.config is None or not case.needs_block:
            return case
        found = self.block(asked)
        if not found.text:
            raise CaseNotApplicable(f"the case {case.id} begins with a block of the generator's own", why=found.why)
        return case_blocks.filled(case, found.text, (found.marker,) if found.marker else ())

    def _laid(self, asked: GeneratorCall, case: Case) -> Files:
        self._stage.fresh()
        self._stage.lay(case, self._runner.values(asked), asked.generator.declaration)
        return self._stage.files()

    def _once(self, asked: GeneratorCall) -> GeneratorRun:
        parts = asked.generator.spec.parts
        if not parts:
            return self._runner.run(asked)
        outcomes = []
        for part in parts:
            outcomes.append(self._runner.run(msgspec.structs.replace(asked, generator=part)))
            if outcomes[-1].ended != "exit" or outcomes[-1].code:
                break
        return _joined(outcomes)


def _let_time_pass(files: Files) -> None:
    """Waits until a new write gets another modification time: the kernel counts in ticks of up to 10 ms."""
    newest = max((state.modified for state in files.values() if state.kind == "file"), default=0)
    left = newest + TICK - time.time_ns()
    if 0 < left <= TICK:
        time.sleep(left / 1e9)


def installed(files: Files) -> tuple[str, ...]:
    """Returns the paths that exist after a run where nothing was before. A tool that installs itself adds to them."""
    there = {path: state.kind for path, state in files.items() if state.kind != "missing"}
    return tuple(f"{path}/" if kind == "dir" else path for path, kind in sorted(there.items()))


def unmoved(outcomes: Sequence[GeneratorRun]) -> bool:
    """Checks whether the last of several runs changed no file. Rewriting a file with the same bytes is no change."""
    seen = [
        {path: msgspec.structs.replace(state, inode=0, modified=0) for path, state in one.files.items()}
        for one in outcomes[-2:]
    ]
    return len(seen) == 2 and seen[0] == seen[1]


def _with_import(first: GeneratorRun, alone: GeneratorRun) -> GeneratorRun:
    """Adds what happened while the module was imported. That happens once, in the first call, which had no file."""
    return msgspec.structs.replace(
        first,
        strayed=tuple(dict.fromkeys((*alone.strayed, *first.strayed))),
        survivors=first.survivors or alone.survivors,
    )


def _joined(outcomes: Sequence[GeneratorRun]) -> GeneratorRun:
    """Joins the runs of a chain: the end of the last one, and the arguments, warnings and errors of all."""
    last = outcomes[-1]
    return msgspec.structs.replace(
        last,
        seconds=sum(one.seconds for one in outcomes),
        error="; ".join(one.error for one in outcomes if one.error),
        argv=tuple(word for one in outcomes for word in one.argv),
        env={name: value for one in outcomes for name, value in one.env.items()},
        unset=tuple(dict.fromkeys(name for one in outcomes for name in one.unset)),
        warnings=tuple(word for one in outcomes for word in one.warnings),
        launches=tuple(one for each in outcomes for one in each.launches),
        strayed=tuple(dict.fromkeys(name for one in outcomes for name in one.strayed)),
        survivors=tuple(name for one in outcomes for name in one.survivors),
    )


@contextmanager
def open_case_runner(
    folder: Path, confinement: Confinement = UNCONFINED, *, environment: Environment | None = None
) -> Iterator[CaseRunner]:
    """Opens a case runner. Leaving ends all its processes and removes its folders.

    `folder`: of the run, outside the temp directory.
    """
    opened = CaseRunner(folder, confinement, environment=environment)
    try:
        yield opened
    finally:
        opened.close()


def run_single_case(
    generator: Generator,
    case: Case,
    intent: Intent,
    *,
    folder: Path,
    version: str,
    confinement: Confinement,
    codex: str = "",
    runs: int = RUNS,
) -> CaseRun:
    """Runs a single case. For many cases, one case runner (`open_case_runner`) is faster."""
    with open_case_runner(folder, confinement) as runner:
        return runner.run_case(generator, case, intent, version=version, codex=codex, runs=runs)


def generated(
    generator: Generator,
    intent: Intent,
    values: Mapping[str, str],
    *,
    folder: Path,
    version: str,
    confinement: Confinement,
    codex: str = "",
    case: Case = ALONE,
) -> GeneratedConfig:
    """Returns what a generator writes for a world, on this machine or in a container. Raises HarnessError if the
    generator fails. `values`: placeholder → folder of that world. The caller puts the files into the world before it
    calls Codex."""
    inside = {name: values[name] for name in FOLDERS if name in values}
    stage = LocalDirs(place(folder), inside)
    runner = Runner(stage, confinement)
    try:
        if stage.is_elsewhere and not confinement.bwrap:
            raise Unavailable(
                "an unconfined generator cannot be shown the folders of an environment",
                why="it sees the paths of this machine",
            )
        asked = GeneratorCall(generator=generator, intent=case.intent or intent, version=version, codex=codex)
        stage.lay(case, runner.values(asked), generator.declaration)
        before = stage.files()
        outcome = runner.run(asked)
    finally:
        runner.close()
        stage.end()
    return written(before, outcome, generator.name)


def written(before: Files, outcome: GeneratorRun, name: str) -> GeneratedConfig:
    if outcome.ended != "exit" or outcome.error:
        raise HarnessError(
            f"{name} did not finish, so its configuration cannot be used",
            where=f"{outcome.ended} {outcome.code}",
            why=outcome.error or outcome.stderr.strip()[-500:],
        )
    files = {
        path: GeneratedFile(content=state.content, mode=state.mode)
        for path, state in outcome.files.items()
        if state.kind == "file" and (path == CONFIG or not _is_same(before.get(path), state)) and not steers_git(path)
    }
    return GeneratedConfig(files=files, argv=outcome.argv, env=outcome.env, unset=outcome.unset)


def _is_same(before: object, after: object) -> bool:
    return before is not None and before == after


__all__ = (
    "RUNS",
    "CaseRunner",
    "GeneratorCall",
    "generated",
    "open_case_runner",
    "placeholders",
    "run_single_case",
    "written",
)
