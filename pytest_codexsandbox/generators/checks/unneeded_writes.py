"""P7: a run that has nothing to change does not rewrite the file.

The same bytes under a new inode or a new time wake every program that watches the file, at every start.
"""

from collections.abc import Iterator
from itertools import pairwise

import msgspec

from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.checks.findings import CheckFault, Control, as_findings, of_first_run, skipped
from pytest_codexsandbox.generators.checks.idempotence import configurations, not_run
from pytest_codexsandbox.model.generator import CaseRun, Declaration, Files, FileState, Finding

TOUCHES = "a later run that has nothing to change writes nothing"


def touches_nothing(case_run: CaseRun, declaration: Declaration) -> tuple[Finding, ...]:
    why = not_run(case_run, 2) or _no_file(case_run) or _nothing_seen(case_run) or _changed(case_run)
    if why:
        return skipped(TOUCHES, why)
    files = [configurations(run.files, case_run.world) for run in case_run.runs]
    faults = of_first_run(rewritten(one, other, number) for number, (one, other) in enumerate(pairwise(files), 2))
    return as_findings(TOUCHES, faults, control=_control(case_run), saw="the same inode and modification time")


def rewritten(before: Files, after: Files, number: int) -> Iterator[CheckFault]:
    """Yields a fault for each file that was rewritten with the same bytes."""
    for path in sorted(before.keys() & after.keys()):
        one, other = before[path], after[path]
        if (one.kind, one.content) == (other.kind, other.content) and _was_touched(one, other):
            how = "a new file was put in its place" if one.inode != other.inode else "it was written in place"
            saw = f"run {number} rewrote {path} with the same {other.size} bytes: {how}"
            yield CheckFault(reason="rewritten", saw=saw)


def _was_touched(one: FileState, other: FileState) -> bool:
    return one.kind == "file" and (one.inode, one.modified) != (other.inode, other.modified)


def _no_file(case_run: CaseRun) -> str:
    last = case_view.config(case_run.runs[-1].files, case_run.world)
    return "" if last.kind == "file" else "it writes no file"


def _nothing_seen(case_run: CaseRun) -> str:
    """Returns why a rewrite might go unseen. Only a write in the first run shows that a write would be seen."""
    if not case_view.config(case_run.first.files, case_run.world).modified:
        return "the files were recorded without their times"
    return "" if any(_written_first(case_run)) else "its first run wrote nothing: there was nothing to change"


def _written_first(case_run: CaseRun) -> Iterator[str]:
    before = configurations(case_run.before, case_run.world)
    for path, after in configurations(case_run.first.files, case_run.world).items():
        one = before.get(path, case_view.MISSING)
        if after.kind == "file" and (one.kind != "file" or one.content != after.content or _was_touched(one, after)):
            yield path


def _changed(case_run: CaseRun) -> str:
    """Returns why the check is skipped if the second run changed bytes: it had something to change."""
    one, other = (configurations(run.files, case_run.world) for run in case_run.runs[:2])
    same = one.keys() == other.keys() and all(one[path].content == other[path].content for path in one)
    return "" if same else "its second run changed bytes: see generator.second-run-changes-nothing"


def _control(case_run: CaseRun) -> Control:
    """Checks that the write of the first run left the trace that this check looks for."""
    paths = list(_written_first(case_run))
    before, after = case_run.before, case_run.first.files
    there = [path for path in paths if before.get(path, case_view.MISSING).kind == "file"]
    noticed = all(_was_touched(before[path], after[path]) for path in there)
    later = {path: msgspec.structs.replace(state, modified=state.modified + 1) for path, state in after.items()}
    held = noticed and any(rewritten(after, later, 2)) and not any(rewritten(after, after, 2))
    return Control(f"the write of the first run is visible in {', '.join(paths)}: by the inode or by the time", held)
