"""A story as the journal keeps it: what changed, as text, bounded. Pure."""

import hashlib
from typing import Final

import msgspec

from pytest_codexsandbox.model.generator import Files, FileState, Launch, Outcome, Story

SHOWN: Final = 16 * 1024  # characters of a file
SAID: Final = 4 * 1024  # characters of a stream


class ToldFile(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    size: int = 0
    sha256: str = ""
    mode: int = 0
    links: int = 1
    target: str = ""
    text: str = ""  # latin-1, bounded


class ToldRun(msgspec.Struct, frozen=True, kw_only=True):
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
    launches: tuple[Launch, ...] = ()
    strayed: tuple[str, ...] = ()
    survivors: tuple[str, ...] = ()
    changed: dict[str, ToldFile] = {}  # against what was there before this run


def told_files(files: Files) -> dict[str, ToldFile]:
    return {path: _file(state) for path, state in files.items() if state.kind != "dir"}


def told_runs(story: Story) -> tuple[ToldRun, ...]:
    befores = (story.before, *(run.files for run in story.runs))
    return tuple(_run(run, before) for run, before in zip(story.runs, befores, strict=False))


def _run(run: Outcome, before: Files) -> ToldRun:
    paths = sorted({*run.files, *before})
    missing = FileState(kind="missing")
    changed = {path: run.files.get(path, missing) for path in paths if run.files.get(path) != before.get(path)}
    return ToldRun(
        ended=run.ended, code=run.code, seconds=run.seconds, stdout=run.stdout[:SAID], stderr=run.stderr[:SAID],
        error=run.error, refused=run.refused, reason=run.reason, argv=run.argv, env=run.env, unset=run.unset,
        warnings=run.warnings, launches=run.launches, strayed=run.strayed, survivors=run.survivors,
        changed=told_files(changed),
    )  # fmt: skip


def _file(state: FileState) -> ToldFile:
    return ToldFile(
        kind=state.kind, size=state.size, mode=state.mode, links=state.links, target=state.target,
        sha256=hashlib.sha256(state.content).hexdigest() if state.kind == "file" else "",
        text=state.content[:SHOWN].decode("latin-1"),
    )  # fmt: skip
