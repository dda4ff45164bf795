"""Story log: a case run as the journal keeps it: what changed, as text, bounded. Pure."""

import hashlib
from collections.abc import Mapping
from functools import reduce
from typing import Any, Final, TypeVar

import msgspec

from pytest_codexsandbox.model.generator import CaseRun, CodexLaunch, Files, FileState, GeneratorRun

T = TypeVar("T", bound=msgspec.Struct)
SHOWN: Final = 16 * 1024  # characters of a file
SAID: Final = 4 * 1024  # characters of a stream


class LoggedFile(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    size: int = 0
    sha256: str = ""
    mode: int = 0
    links: int = 1
    target: str = ""
    text: str = ""  # latin-1, bounded


Told = dict[str, LoggedFile]
"""Placeholder path → the file."""


class LoggedRun(msgspec.Struct, frozen=True, kw_only=True):
    ended: str
    code: int
    seconds: float
    stdout: str = ""
    stderr: str = ""
    error: str = ""
    refused: bool = False
    reason: str = ""
    argv: tuple[str, ...] = ()
    env: dict[str, str] = {}
    unset: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    launches: tuple[CodexLaunch, ...] = ()
    strayed: tuple[str, ...] = ()
    survivors: tuple[str, ...] = ()
    changed: Told = {}  # against what was there before this run
    listed: str = ""  # digest of a list of further files that it changed (StoryLine.lists)
    more: int = 0  # files that the list does not name


def anonymous(value: T, world: Mapping[str, str]) -> T:
    """Replaces the private folders of a run by placeholders, in every text of a value. The names of these folders mean
    nothing to a reader, and show where a user keeps files."""
    return msgspec.convert(without_paths(msgspec.to_builtins(value), world), type(value))


def without_paths(value: Any, world: Mapping[str, str]) -> Any:
    """Does the same for a JSON value."""
    deepest = sorted(((root, f"@{name}@") for name, root in world.items() if root), key=lambda pair: -len(pair[0]))

    def replaced(member: Any) -> Any:
        match member:
            case str():
                return reduce(lambda text, pair: text.replace(*pair), deepest, member)
            case dict():
                return {replaced(name): replaced(below) for name, below in member.items()}
            case list() | tuple():
                return [replaced(below) for below in member]
        return member

    return replaced(value)


def told_files(files: Files) -> dict[str, LoggedFile]:
    return {path: _file(state) for path, state in files.items() if state.kind != "dir"}


def told_runs(case_run: CaseRun) -> tuple[LoggedRun, ...]:
    befores = (case_run.before, *(run.files for run in case_run.runs))
    return tuple(_run(run, before) for run, before in zip(case_run.runs, befores, strict=False))


def _run(run: GeneratorRun, before: Files) -> LoggedRun:
    paths = sorted({*run.files, *before})
    missing = FileState(kind="missing")
    changed = {path: run.files.get(path, missing) for path in paths if run.files.get(path) != before.get(path)}
    return LoggedRun(
        ended=run.ended,
        code=run.code,
        seconds=run.seconds,
        stdout=run.stdout[:SAID],
        stderr=run.stderr[:SAID],
        error=run.error,
        refused=run.refused,
        reason=run.reason,
        argv=run.argv,
        env=run.env,
        unset=run.unset,
        warnings=run.warnings,
        launches=run.launches,
        strayed=run.strayed,
        survivors=run.survivors,
        changed=told_files(changed),
    )


def _file(state: FileState) -> LoggedFile:
    return LoggedFile(
        kind=state.kind,
        size=state.size,
        mode=state.mode,
        links=state.links,
        target=state.target,
        sha256=state.sha256 or (hashlib.sha256(state.content).hexdigest() if state.kind == "file" else ""),
        text=state.content[:SHOWN].decode("latin-1"),
    )
