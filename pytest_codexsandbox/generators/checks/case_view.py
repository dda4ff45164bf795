"""Case view: the configuration before and after each run, through links, and the reason why a check is skipped."""

import posixpath
import re
from typing import Final

import msgspec

from pytest_codexsandbox.model.contents import is_of_codex
from pytest_codexsandbox.model.generator import CONFIG, CaseRun, Files, FileState, GeneratorRun

MISSING: Final = FileState(kind="missing")
_SAYS_WHY: Final = "see generator.exit-and-refusal-agree"
_STEPS: Final = 8  # how many links to links are followed
_ANY: Final = re.compile(r"@(?P<name>[A-Z][A-Z0-9_]*)@")
_FIRST: Final = re.compile(rf"{_ANY.pattern}(?=/|$)")


class StateAfterRun(msgspec.Struct, frozen=True, kw_only=True):
    """The state after one run."""

    run: int
    state: FileState

    @property
    def content(self) -> bytes:
        return self.state.content

    @property
    def name(self) -> str:
        return f"run {self.run}"


def before(case_run: CaseRun) -> FileState:
    return config(case_run.before, case_run.world)


def text_before(case_run: CaseRun) -> bytes:
    """Returns the content before the first run; b"" also if there is no file."""
    return before(case_run).content


def results(case_run: CaseRun) -> tuple[StateAfterRun, ...]:
    """Returns the state after each run. A run that changed nothing more is left out."""
    found: list[StateAfterRun] = []
    for number, run in enumerate(case_run.runs, start=1):
        state = config(run.files, case_run.world)
        if not found or not same(found[-1].state, state):
            found.append(StateAfterRun(run=number, state=state))
    return tuple(found)


def same(one: FileState, other: FileState) -> bool:
    return (one.kind, one.content, one.size) == (other.kind, other.content, other.size)


def config(files: Files, world: dict[str, str]) -> FileState:
    """Returns the file that Codex reads. Links are followed as far as their targets were recorded."""
    return files.get(resolved(files, CONFIG, world), MISSING)


def resolved(files: Files, path: str, world: dict[str, str]) -> str:
    """Returns the recorded name of the file that `path` leads to. The path and each of its folders may be links.

    CODEX_HOME is below HOME, so one file may have two names: links are followed among real paths.
    """
    names = {real_path(name, world): name for name in files}
    at = real_path(path, world)
    for _ in range(_STEPS):
        linked = next((one for one in _with_parents(at) if one in names and files[names[one]].kind == "symlink"), None)
        if linked is None:
            break
        target = real_path(files[names[linked]].target, world)
        at = posixpath.normpath(posixpath.join(posixpath.dirname(linked), target) + at.removeprefix(linked))
    return names.get(at) or (path if at == real_path(path, world) else placeholder(at, world))


def _with_parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(2, len(parts) + 1)]


def real_path(path: str, world: dict[str, str]) -> str:
    found = _FIRST.match(path)
    name = found["name"] if found else ""
    return world[name] + path.removeprefix(f"@{name}@") if name in world else path


def filled(text: str, world: dict[str, str]) -> str:
    """Replaces every placeholder in a text by the path that the generator saw."""
    return _ANY.sub(lambda found: world.get(found["name"], found[0]), text)


def placeholder(path: str, world: dict[str, str]) -> str:
    """Returns a real path with the placeholder of the deepest folder that contains it."""
    roots = sorted(world.items(), key=lambda item: -len(item[1]))
    found = next(((name, root) for name, root in roots if root and name != "CONFIG" and is_inside(path, root)), None)
    return path if found is None else f"@{found[0]}@{path.removeprefix(found[1])}"


def is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def refused(run: GeneratorRun) -> bool:
    return run.ended == "exit" and (run.refused or run.code != 0)


def untouched(case_run: CaseRun) -> bool:
    """Checks whether the first run left the configuration unchanged."""
    return same(before(case_run), config(case_run.first.files, case_run.world))


def declined(case_run: CaseRun) -> str:
    """Returns that the generator declined, and what it wrote besides the configuration."""
    return f"it declined and {left(case_run)}: {_SAYS_WHY}"


def left(case_run: CaseRun) -> str:
    """Returns what a run that changed no configuration has done to other files."""
    count = len(other_files(case_run.before, case_run.runs[-1].files))
    if not count:
        return "wrote nothing"
    return f"left the configuration as it was, but {count:,} other file{'s are' if count > 1 else ' is'} new or changed"


def other_files(before: Files, after: Files) -> tuple[str, ...]:
    """Returns the files that are new or changed, whatever their purpose. Codex's own are left out."""
    files = (path for path in sorted(after) if after[path].kind == "file" and not is_of_codex(path))
    return tuple(path for path in files if not _is_there(before, path, after))


def _is_there(before: Files, path: str, after: Files) -> bool:
    return path in before and same(before[path], after[path])


def not_asked(case_run: CaseRun) -> str:
    """Returns why nothing can be said about what this generator wrote; "" if something can."""
    if case_run.first.ended != "exit":
        return f"it did not end by itself ({case_run.first.ended}): see generator.ends-by-itself"
    if refused(case_run.first) and untouched(case_run):
        return declined(case_run)
    truncated = next((one for one in results(case_run) if one.state.size > len(one.state.content)), None)
    return f"{truncated.name} left {truncated.state.size} bytes: too large to be read" if truncated else ""
