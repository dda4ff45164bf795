"""Stories as they may go: what was there, and what each run made of it."""

from typing import Any

import msgspec

from pytest_codexsandbox.model.generator import (
    CONFIG,
    Case,
    CaseRun,
    Declaration,
    Files,
    FileState,
    Finding,
    GeneratorRun,
    Intent,
    Marker,
)

WORLD = {
    "HOME": "/stage/home",
    "CODEX_HOME": "/stage/home/.codex",
    "WORKSPACE": "/stage/workspace",
    "ROOT0": "/stage/root0",
}
WORLD |= {"SIBLING": "/stage/sibling", "OUTSIDE": "/stage/outside"}
BLOCK = b'# BEGIN x\nsandbox_mode = "workspace-write"\nsandbox_workspace_write.network_access = false\n# END x\n'
ANY = Declaration(run="cmd:x")
USER = b'model = "m"\n\n[tui]\ntheme = "x"\n'
GOOD = BLOCK + b"\n" + USER
MARKED = Declaration(markers=(Marker(begin="# BEGIN x", end="# END x"),))


def state(content: bytes | None, **words: Any) -> FileState:
    if content is None:
        return FileState(kind="missing")
    given: dict[str, Any] = {"mode": 0o100644, "uid": 1000, "size": len(content)} | words
    return FileState(kind="file", content=content, **given)


def files(content: bytes | None, **words: Any) -> Files:
    return {} if content is None else {CONFIG: state(content, **words)}


def run(content: bytes | None, **words: Any) -> GeneratorRun:
    given: dict[str, Any] = {"ended": "exit", "files": files(content)} | words
    return GeneratorRun(**given)


def case_run(before: bytes | None, *after: bytes | None, **words: Any) -> CaseRun:
    """One run for each text; with a single one all three left the same."""
    texts = after * 3 if len(after) == 1 else after
    given: dict[str, Any] = {
        "generator": "g",
        "case": Case(id="c", why="w", config=before),
        "intent": Intent(),
        "before": files(before),
        "runs": tuple(run(text) for text in texts),
        "world": WORLD,
        "alone": BLOCK,
        "confined": "bubblewrap bwrap",
    }
    return CaseRun(**(given | words))


def with_files(before: Files, after: Files, **words: Any) -> CaseRun:
    """Three runs that all left the same files."""
    one = run(None, files=after)
    return msgspec.structs.replace(case_run(None, None, runs=(one, one, one), **words), before=before)


def ended(before: bytes | None, **words: Any) -> CaseRun:
    """Three runs that ended as `words` say."""
    after = words.pop("after", before)
    of_story = {name: words.pop(name) for name in ("row", "alone") if name in words}
    return case_run(before, after, runs=(run(after, **words),) * 3, **of_story)


def held(found: tuple[Finding, ...]) -> bool:
    """All rows hold, and every control does."""
    assert found
    assert all(one.skipped or one.control_held for one in found), [one.control for one in found]
    return all(one.held for one in found)


def reasons(found: tuple[Finding, ...]) -> set[str]:
    assert all(one.skipped or one.control_held for one in found), [one.control for one in found]
    return {one.reason for one in found if not one.held and not one.skipped}


def skips(found: tuple[Finding, ...]) -> str:
    (one,) = found
    assert not one.held
    assert not one.control_held
    return one.skipped
