"""P13: runs the generator, another program that writes the same file, and the generator again.

The content before that last run is what the user or the other program wrote. It must remain, and the file must contain
the requested policy. The checks are those of every case run; only the starting point is new.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.checks.block_markers import one_marker_pair
from pytest_codexsandbox.generators.checks.codex_toml import leaves, read
from pytest_codexsandbox.generators.checks.file_attributes import mode_owner_links, no_leftovers
from pytest_codexsandbox.generators.checks.findings import CheckFault, Control, as_findings, difference, skipped
from pytest_codexsandbox.generators.checks.idempotence import does_not_grow, second_run_same
from pytest_codexsandbox.generators.checks.key_placement import own_place
from pytest_codexsandbox.generators.checks.line_endings import line_ends_kept
from pytest_codexsandbox.generators.checks.ownership import own
from pytest_codexsandbox.generators.checks.toml_syntax import parses
from pytest_codexsandbox.generators.checks.user_values import values_kept
from pytest_codexsandbox.generators.other_writers import NEEDS_MARKS
from pytest_codexsandbox.generators.stress.remaining_content import comments, comments_remain, values_remain
from pytest_codexsandbox.generators.stress.setup import (
    StressContext,
    StressRun,
    StressSetup,
    cannot,
    shown,
    stress_setup,
)
from pytest_codexsandbox.model.generator import CaseRun, Declaration, Finding, Intent, Marker

RIGHT: Final = (
    "after another program wrote the same file, the next run leaves a file that loads and matches the request"
)
THEIRS: Final = "the run after another program's removes nothing that the user or that program wrote"
_ESSENTIAL: Final = (parses, own_place)
_MORE: Final = (
    one_marker_pair,
    line_ends_kept,
    mode_owner_links,
    no_leftovers,
    second_run_same,
    does_not_grow,
)


class WriterVisit(msgspec.Struct, frozen=True, kw_only=True):
    """The whole sequence. `case_run`: the other writer's file, and the two runs on it."""

    name: str  # name of the other writer
    case_run: CaseRun
    ours: bytes  # after the generator's first run
    theirs: bytes | None  # after the other writer's run
    other: StressRun

    @property
    def changed(self) -> bool:
        return self.theirs != self.ours

    @property
    def refused(self) -> bool:
        """Checks whether the generator declined to touch the other writer's file."""
        return case_view.refused(self.case_run.first)


def survives(context: StressContext) -> tuple[Finding, ...]:
    return _judged(context, RIGHT, right)


def keeps_theirs(context: StressContext) -> tuple[Finding, ...]:
    return _judged(context, THEIRS, kept)


def _judged(
    context: StressContext, claim: str, judge: Callable[[WriterVisit, Declaration], tuple[Finding, ...]]
) -> tuple[Finding, ...]:
    why = cannot(context)
    if why:
        return skipped(claim, why)
    with stress_setup(context) as stage:
        visit, why = _visit(stage)
        world = stage.world()
    return shown(skipped(claim, why) if visit is None else judge(visit, context.declaration), world)


# ---- playing
def _visit(stage: StressSetup) -> tuple[WriterVisit | None, str]:
    context, other = stage.context, stage.context.neighbour()
    alone = stage.alone().config
    before = stage.config(stage.lay())
    first = stage.play()
    if not first.well or first.config is None:
        return None, f"it wrote nothing here: {first.said}"
    if first.config == before:
        return None, "it changed no file: it gives arguments, or the file was already as requested"
    intent = _told_marks(context, stage.case_run(first.outcome.files, [first.outcome], alone=alone))
    if intent is None:
        return None, "it writes no marks: its declaration has no `markers`, and none enclose what it writes"
    theirs = stage.play(intent, generator=other)
    if theirs.outcome.ended != "exit":
        return None, f"{other.name} did not end by itself: {theirs.said}"
    files = theirs.outcome.files
    runs = [stage.play(run=number).outcome for number in (2, 3)]
    case_run = stage.case_run(files, runs, alone=alone)
    visit = WriterVisit(name=other.name, case_run=case_run, ours=first.config, theirs=theirs.config, other=theirs)
    return (visit, "") if visit.changed else (None, f"{other.name} left the file as it was: {theirs.said}")


def _told_marks(context: StressContext, case_run: CaseRun) -> Intent | None:
    """Returns the intent for the other writer. Writers that disturb markers get them; None if the generator has
    none."""
    if context.beside not in NEEDS_MARKS:
        return context.intent
    marker = marker_of(own(case_run, context.declaration).markers, case_run.alone)
    if marker is None:
        return None
    return msgspec.structs.replace(context.intent, params={"begin": marker.begin, "end": marker.end})


def marker_of(markers: Iterable[Marker], alone: bytes | None) -> Marker | None:
    """Returns the first marker pair that the generator writes."""
    there = comments(alone or b"")
    return next((one for one in markers if one.end and {one.begin.strip(), one.end.strip()} <= set(there)), None)


# ---- judging: pure
def right(visit: WriterVisit, declaration: Declaration) -> tuple[Finding, ...]:
    why = _spoilt_and_declined(visit)
    if why:
        return (why,)
    if visit.refused:
        return as_findings(RIGHT, [_declined(visit)], control=_really(visit), saw="")
    essential = [one for check in _ESSENTIAL for one in check(visit.case_run, declaration)]
    unasked = next((one.skipped for one in essential if one.skipped), "")
    if unasked:
        return skipped(RIGHT, unasked)
    more = [one for check in _MORE for one in check(visit.case_run, declaration) if not one.skipped]
    return (*_named(visit, essential), *_named(visit, more), *_same_values(visit))


def kept(visit: WriterVisit, declaration: Declaration) -> tuple[Finding, ...]:
    why = _spoilt_and_declined(visit)
    if why:
        return (msgspec.structs.replace(why, claim=THEIRS),)
    if visit.refused:
        return _left_alone(visit)
    values = values_kept(visit.case_run, declaration)
    unasked = next((one.skipped for one in values if one.skipped), "")
    if unasked:
        return skipped(THEIRS, unasked)
    return (*_named(visit, values), *_comments_stay(visit, declaration))


def _named(visit: WriterVisit, found: Iterable[Finding]) -> Iterator[Finding]:
    """Adds the other writer to each row. A row holds only if that writer changed the file."""
    for one in found:
        yield msgspec.structs.replace(
            one,
            claim=f"after {visit.name}: {one.claim}",
            control=f"{visit.name} has changed the file; {one.control}",
            control_held=one.control_held and visit.changed,
        )


def _really(visit: WriterVisit) -> Control:
    return Control(f"{visit.name} has changed the file", visit.changed)


def _spoilt_and_declined(visit: WriterVisit) -> Finding | None:
    """Returns a finding if the other writer's file does not load and the generator declined it. Then every byte must be
    left."""
    broken = not read(visit.theirs or b"").loads
    if not (broken and visit.refused):
        return None
    untouched = all(
        case_view.config(run.files, visit.case_run.world).content == visit.theirs for run in visit.case_run.runs
    )
    return Finding(
        claim=f"damage by {visit.name} is repaired, or left unchanged",
        saw=f"{visit.name} left no TOML ({read(visit.theirs or b'').fault}); it declined: {_reason(visit)}",
        held=untouched,
        control=_really(visit).text,
        control_held=visit.changed,
        reason="" if untouched else "declined-and-wrote",
    )


def _declined(visit: WriterVisit) -> CheckFault:
    saw = f"after {visit.name} it declines a file that loads: {_reason(visit)}"
    return CheckFault(reason="declines-after-others", saw=saw, direction="denied")


def _reason(visit: WriterVisit) -> str:
    run = visit.case_run.first
    words = run.reason or run.stderr.strip() or run.stdout.strip() or f"exit {run.code}, without a reason"
    return " ".join(words.split())[:300]


def _left_alone(visit: WriterVisit) -> tuple[Finding, ...]:
    """Returns the findings for a refusal: the generator may still not touch the file."""
    after = [case_view.config(run.files, visit.case_run.world).content for run in visit.case_run.runs]
    faults = [
        CheckFault(
            reason="declined-and-wrote",
            saw=f"it declined, but wrote: {_reason(visit)}",
            diff=difference(visit.theirs or b"", one),
        )
        for one in after
        if one != visit.theirs
    ]
    return as_findings(THEIRS, faults, control=_really(visit), saw=f"it declined and changed nothing: {_reason(visit)}")


def _same_values(visit: WriterVisit) -> tuple[Finding, ...]:
    """Checks that the generator's keys have the values from before the other writer ran."""
    asked, ours = leaves(read(visit.case_run.alone or b"").data), leaves(read(visit.ours).data)
    return values_remain(
        f"after {visit.name}: its keys have the same values as before",
        {path: ours[path] for path in asked if path in ours},
        visit.case_run,
        example=visit.ours,
        was="before",
        more=_really(visit),
    )


def _comments_stay(visit: WriterVisit, declaration: Declaration) -> tuple[Finding, ...]:
    """Checks that the comments are still present. They may have moved."""
    claim = f"after {visit.name}: the comments of the user and of {visit.name} are still present"
    theirs = comments_of_others(visit, declaration)
    return comments_remain(claim, theirs, visit.case_run, example=visit.theirs or b"", more=_really(visit))


def comments_of_others(visit: WriterVisit, declaration: Declaration) -> tuple[str, ...]:
    """Returns the comments that are neither markers nor written by the generator itself."""
    marks = [text.strip() for one in own(visit.case_run, declaration).markers for text in (one.begin, one.end) if text]
    mine, known = comments(visit.case_run.alone or b""), comments(visit.case_run.case.config or b"")
    before = comments(visit.ours)
    return tuple(
        text
        for text in comments(visit.theirs or b"")
        if text not in mine and not any(mark in text for mark in marks) and (text in known or text not in before)
    )
