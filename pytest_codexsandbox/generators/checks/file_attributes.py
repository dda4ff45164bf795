"""P8: mode, owner and links of the user's file stay, and no leftovers remain."""

import posixpath
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.checks.findings import (
    CheckFault,
    Control,
    all_hold,
    as_findings,
    listed,
    of_first_run,
    skipped,
)
from pytest_codexsandbox.model.contents import OF_CODEX
from pytest_codexsandbox.model.generator import CONFIG, CaseRun, Declaration, Files, FileState, Finding

STAY = "the mode, the owner and the links of the user's file stay as they are"
NOTHING = "nothing is left behind except the requested files"
_OF_CODEX: Final = f"{OF_CODEX}*"
_WATCHED: Final = ("@HOME@", "@CODEX_HOME@", "@WORKSPACE@")


def mode_owner_links(case_run: CaseRun, declaration: Declaration) -> tuple[Finding, ...]:
    if case_run.first.ended != "exit":
        return skipped(STAY, case_view.not_asked(case_run))
    if _entry(case_run.before).kind == "missing" and not _home_link(case_run.before):
        return skipped(STAY, "the user has no file in this case")
    faults = of_first_run(
        altered(case_run.before, run.files, case_run.world, f"run {number}")
        for number, run in enumerate(case_run.runs, start=1)
    )
    return as_findings(
        STAY, faults, control=_altered(case_run), saw=_told(case_run.before, case_run.world), direction=""
    )


def _entry(files: Files) -> FileState:
    return files.get(CONFIG, case_view.MISSING)


def _home_link(files: Files) -> str:
    """Returns the path of CODEX_HOME if it is itself a link; "" if not."""
    names = ("@CODEX_HOME@", "@HOME@/.codex")
    return next((path for path in names if files.get(path, case_view.MISSING).kind == "symlink"), "")


def _told(files: Files, world: dict[str, str]) -> str:
    entry, real = _entry(files), case_view.config(files, world)
    link = f"a link to {case_view.placeholder(entry.target, world)}, " if entry.kind == "symlink" else ""
    return f"{link}mode {real.mode & 0o7777:04o}, uid {real.uid}, {real.links} name{'s' if real.links > 1 else ''}"


def altered(before: Files, after: Files, world: dict[str, str], name: str = "afterwards") -> Iterator[CheckFault]:
    linked = _home_link(before)
    for path in (CONFIG, *((linked,) if linked else ())):
        yield from _link(path, before.get(path, case_view.MISSING), after.get(path, case_view.MISSING), name)
    real = case_view.resolved(before, CONFIG, world)
    one, other = before.get(real, case_view.MISSING), after.get(real, case_view.MISSING)
    if one.kind in ("missing", "symlink"):
        return  # a dangling link: the generator made the file that it leads to now
    if one.kind != other.kind:
        yield CheckFault(reason="file-replaced", saw=f"{name}: {real} was a {one.kind}, and is {other.kind} now")
        return
    if one.mode & 0o7777 != other.mode & 0o7777:
        saw = f"{name}: the mode was {one.mode & 0o7777:04o}, and is {other.mode & 0o7777:04o}"
        yield CheckFault(
            reason="mode-changed", saw=saw, direction="leak" if other.mode & ~one.mode & 0o077 else "denied"
        )
    if one.uid != other.uid:
        yield CheckFault(reason="owner-changed", saw=f"{name}: the owner was {one.uid}, and is {other.uid}")
    if one.links > 1 and other.links < one.links:
        saw = f"{name}: the file had {one.links} names, and has {other.links}: the other name keeps the old text"
        yield CheckFault(reason="hard-link-broken", saw=saw)


def _link(path: str, one: FileState, other: FileState, name: str) -> Iterator[CheckFault]:
    if one.kind != "symlink":
        return
    if other.kind != "symlink":
        yield CheckFault(
            reason="link-replaced", saw=f"{name}: {path} was a link to {one.target}, and is a {other.kind} now"
        )
    elif one.target != other.target:
        yield CheckFault(
            reason="link-changed", saw=f"{name}: {path} pointed to {one.target}, and points to {other.target}"
        )


def _altered(case_run: CaseRun) -> Control:
    """Repeats the check on this file with another mode, another owner, without its link, and with one name less."""
    world, files = case_run.world, case_run.before
    real = case_view.resolved(files, CONFIG, world)
    controls = [Control("the same files pass", not any(altered(files, files, world)))]
    state = files.get(real, case_view.MISSING)
    if state.kind not in ("missing", "symlink"):
        changes: tuple[dict[str, int], ...] = ({"mode": state.mode ^ 0o020}, {"uid": state.uid + 1})
        changes += ({"links": 1},) if state.links > 1 else ()
        for change in changes:
            other = {**files, real: msgspec.structs.replace(state, **change)}
            controls.append(Control(f"another {next(iter(change))} is noticed", any(altered(files, other, world))))
    for path in (CONFIG, _home_link(files)):
        if files.get(path, case_view.MISSING).kind == "symlink":
            plain = {**files, path: FileState(kind="file", mode=0o100644)}
            controls.append(Control("a file in place of the link is noticed", any(altered(files, plain, world))))
    return all_hold(controls)


def no_leftovers(case_run: CaseRun, declaration: Declaration) -> tuple[Finding, ...]:
    runs = enumerate(case_run.runs, start=1)
    faults = of_first_run(left(case_run, run.files, declaration, number) for number, run in runs)
    trace = {"@CODEX_HOME@/.config.toml.codexsandbox": FileState(kind="file")}
    controls = [
        Control(
            "an extra file beside it is noticed", any(left(case_run, {**case_run.before, **trace}, declaration, 1))
        ),
        Control("the same names pass", not any(left(case_run, case_run.before, declaration, 1))),
    ]
    count, own = len(case_run.runs[-1].files), _installed_here(case_run)
    also = f"; in an empty home it also leaves: {listed(own)}" if own else ""
    saw = f"{count} names, each accounted for{also}"
    return as_findings(NOTHING, faults, control=all_hold(controls), saw=saw, direction="litter")


def left(case_run: CaseRun, files: Files, declaration: Declaration, number: int) -> Iterator[CheckFault]:
    """Yields a fault for new names that neither the user nor the declaration explains. A folder counts as one."""
    explained = _explained(files, case_run, declaration)
    new = sorted(path for path in files.keys() - case_run.before.keys() if _is_stray(path, files, case_run, explained))
    tops = [path for path in new if not any(path.startswith(other + "/") for other in new)]
    if tops:
        yield CheckFault(reason="left-behind", saw=f"run {number} left {listed(tops)}")


def _explained(files: Files, case_run: CaseRun, declaration: Declaration) -> set[str]:
    """Returns the permitted paths, by their own names and by their real ones: CODEX_HOME may be a link."""
    patterns = (CONFIG, _OF_CODEX, *declaration.setup, *declaration.keeps)
    every = {*patterns, *(case_view.resolved(files, one, case_run.world) for one in patterns)}
    return {case_view.real_path(one, case_run.world) for one in every}


def _is_stray(path: str, files: Files, case_run: CaseRun, explained: set[str]) -> bool:
    if not path.startswith(_WATCHED) or files[path].kind == "missing":
        return False
    real = case_view.real_path(path, case_run.world)
    return not (any(_explains(one, real) for one in explained) or is_installed(path, case_run))


def is_installed(path: str, case_run: CaseRun) -> bool:
    """Checks whether the generator leaves this name, or its folder, on an empty home too: skills, hooks, a cache.

    A copy or a temporary file of the configuration always counts as left behind, and so does a file in the workspace.
    """
    world = case_run.world
    real, config = case_view.real_path(path, world), case_view.real_path(CONFIG, world)
    if posixpath.basename(config) in posixpath.basename(real) or case_view.is_inside(real, world.get("WORKSPACE", "")):
        return False
    own = [one for one in _real_names(case_run) if not config.startswith(one)]
    return any(real == one.rstrip("/") or (one.endswith("/") and real.startswith(one)) for one in own)


def _real_names(case_run: CaseRun) -> Iterator[str]:
    """Yields each installed name, and its name behind the links of this case: CODEX_HOME may be a link."""
    for one in case_run.installed:
        name, end = one.rstrip("/"), "/" if one.endswith("/") else ""
        for either in (name, case_view.resolved(case_run.before, name, case_run.world)):
            yield case_view.real_path(either, case_run.world) + end


def _installed_here(case_run: CaseRun) -> list[str]:
    new = case_run.runs[-1].files.keys() - case_run.before.keys()
    own = sorted(path for path in new if path.startswith(_WATCHED) and is_installed(path, case_run))
    return [path for path in own if posixpath.dirname(path) not in own]


def _explains(pattern: str, path: str) -> bool:
    """Checks whether a pattern covers a path: the path itself, what is below a pattern with /**, and the folders above
    it."""
    below = pattern.endswith("/**") and path.startswith(pattern.removesuffix("**"))
    return below or fnmatchcase(path, pattern) or pattern.removesuffix("**").startswith(path.rstrip("/") + "/")
