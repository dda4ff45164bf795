"""P7: a second run changes nothing, nor does a third, and the file does not grow."""

from collections.abc import Iterator
from itertools import pairwise

import msgspec

from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.checks.codex_toml import comparable, read
from pytest_codexsandbox.generators.checks.findings import CheckFault, Control, as_findings, difference, skipped
from pytest_codexsandbox.model.contents import is_configuration
from pytest_codexsandbox.model.generator import CONFIG, CaseRun, Declaration, Files, FileState, Finding, GeneratorRun

SECOND = "a second run changes nothing"
THIRD = "a third run changes nothing"
SIZE = "the file does not grow from run to run"
IDLE = "no third run: the second changed nothing, so a third would start from the same state"
MEANING = "the file of a later run has the same meaning"


def second_run_same(case_run: CaseRun, declaration: Declaration) -> tuple[Finding, ...]:
    return _same_bytes(case_run, 2, SECOND)


def third_run_same(case_run: CaseRun, declaration: Declaration) -> tuple[Finding, ...]:
    return _same_bytes(case_run, 3, THIRD)


def _same_bytes(case_run: CaseRun, number: int, claim: str) -> tuple[Finding, ...]:
    why = not_run(case_run, number)
    if why:
        return skipped(claim, why)
    one, other = case_run.runs[number - 2], case_run.runs[number - 1]
    world = case_run.world
    return as_findings(
        claim,
        unlike(one, other, world, number),
        control=_touched(one, other, world, number),
        saw=_told(one, other, world),
    )


def not_run(case_run: CaseRun, number: int) -> str:
    if len(case_run.runs) < number and case_run.runs[-1].ended == "exit":
        return IDLE
    if len(case_run.runs) < number:
        return f"no run {number}: the run before it ended by {case_run.runs[-1].ended}"
    late = next((one for one in case_run.runs[:number] if one.ended != "exit"), None)
    if late is not None:
        return f"a run did not end by itself ({late.ended}): see generator.ends-by-itself"
    declined = all(case_view.refused(one) for one in case_run.runs[:number])
    return (
        f"it declined each time, and {case_view.left(case_run)}" if declined and case_view.untouched(case_run) else ""
    )


def unlike(one: GeneratorRun, other: GeneratorRun, world: dict[str, str], number: int) -> Iterator[CheckFault]:
    """Yields differences in every configuration file, in the targets of links, and in the arguments for Codex."""
    if case_view.refused(one) != case_view.refused(other):
        saw = f"run {number - 1} ended with {one.code}, run {number} with {other.code} ({other.reason or 'no reason'})"
        yield CheckFault(reason="declines-its-own", saw=saw, direction="wrong-claim")
    if one.argv != other.argv:
        yield CheckFault(reason="argv-changed", saw=f"run {number - 1} gave {one.argv}, run {number} gave {other.argv}")
    before, after = configurations(one.files, world), configurations(other.files, world)
    for path in sorted(before.keys() | after.keys()):
        here, now = before.get(path, case_view.MISSING), after.get(path, case_view.MISSING)
        if (here.kind, here.content, here.target, here.mode) != (now.kind, now.content, now.target, now.mode):
            reason = "grew" if now.size > here.size else "changed-again"
            saw = f"run {number} made of {path} ({_shown(here)}) something else ({_shown(now)})"
            yield CheckFault(reason=reason, saw=saw, diff=difference(here.content, now.content))


def _shown(state: FileState) -> str:
    return f"{state.kind}, {state.size} bytes, mode {state.mode & 0o7777:04o}"


def configurations(files: Files, world: dict[str, str]) -> Files:
    """Returns the files that Codex reads: TOML in places of configuration. Files that a tool keeps for itself are left
    out."""
    real = case_view.resolved(files, CONFIG, world)
    return {path: state for path, state in files.items() if path == real or is_configuration(path)}


def _told(one: GeneratorRun, other: GeneratorRun, world: dict[str, str]) -> str:
    sizes = [case_view.config(run.files, world).size for run in (one, other)]
    return f"{sizes[1]} bytes, the same as before; {len(other.argv)} arguments, the same as before"


def _touched(one: GeneratorRun, other: GeneratorRun, world: dict[str, str], number: int) -> Control:
    """Adds one byte to the later run's file, and one word to its arguments."""
    path = case_view.resolved(one.files, CONFIG, world)
    state = one.files.get(path, case_view.MISSING)
    more = msgspec.structs.replace(state, kind="file", content=state.content + b"\n", size=state.size + 1)
    longer = msgspec.structs.replace(one, files={**one.files, path: more})
    wordy = msgspec.structs.replace(one, argv=(*one.argv, "-c"))
    held = (
        any(unlike(one, longer, world, number))
        and any(unlike(one, wordy, world, number))
        and not any(unlike(one, one, world, number))
    )
    return Control("an extra byte in the file, or an extra argument, is noticed", held)


def does_not_grow(case_run: CaseRun, declaration: Declaration) -> tuple[Finding, ...]:
    why = not_run(case_run, 2)
    if why:
        return skipped(SIZE, why)
    sizes = [case_view.config(run.files, case_run.world).size for run in case_run.runs]
    noticed = any(grown([sizes[0], sizes[0] + 1])) and not any(grown([sizes[0]] * 3))
    control = Control("an extra byte is noticed, the same size is not", noticed)
    return as_findings(SIZE, grown(sizes), control=control, saw=f"{', '.join(map(str, sizes))} bytes")


def grown(sizes: list[int]) -> Iterator[CheckFault]:
    for number, (one, other) in enumerate(pairwise(sizes), start=2):
        if other > one:
            yield CheckFault(reason="grew", saw=f"run {number}: {one} bytes became {other}; all: {sizes}")


def same_meaning(case_run: CaseRun, declaration: Declaration) -> tuple[Finding, ...]:
    """Checks the meaning, apart from the bytes: a file with another layout may have the same meaning."""
    why = not_run(case_run, 2)
    states = [case_view.config(run.files, case_run.world) for run in case_run.runs if run.ended == "exit"]
    why = why or ("it writes no file" if all(one.kind == "missing" for one in states) else "")
    why = why or ("" if read(states[0].content).loads else "its first run left no TOML: see generator.parses")
    if why:
        return skipped(MEANING, why)
    faults = [
        fault
        for number, (one, other) in enumerate(pairwise(states), start=2)
        for fault in meant(one.content, other.content, number)
    ]
    first = states[0].content
    extra = b'"codexsandbox control" = 1\n'
    held = any(meant(first, extra + first.removeprefix(b"\xef\xbb\xbf"), 2)) and not any(meant(b"a = 1", b"a=1", 2))
    return as_findings(
        MEANING,
        faults,
        control=Control("an extra key is noticed, another layout is not", held),
        saw=f"{len(read(first).data)} keys at the root, the same after each run",
    )


def meant(one: bytes, other: bytes, number: int) -> Iterator[CheckFault]:
    before, after = read(one), read(other)
    if not after.loads:
        if one != other:
            saw = f"run {number}: {after.fault} ({after.place})"
            yield CheckFault(reason=after.reason, saw=saw, diff=difference(one, other))
        return
    if comparable(before.data) != comparable(after.data):
        saw = f"run {number}: the file says something else than after run {number - 1}"
        yield CheckFault(reason="means-something-else", saw=saw, diff=difference(one, other))
