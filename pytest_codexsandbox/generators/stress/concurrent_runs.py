"""P15: two different requests at once on the same files.

The result must be what one run after the other leaves, or one alone if the other reports that it declined. Under strace
every call that changes a file is delayed, and the two runs take turns in being slower. This makes conflicts show.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.checks.codex_toml import comparable, read
from pytest_codexsandbox.generators.checks.file_attributes import left
from pytest_codexsandbox.generators.checks.findings import (
    CheckFault,
    Control,
    all_hold,
    as_findings,
    difference,
    skipped,
)
from pytest_codexsandbox.generators.checks.ownership import own
from pytest_codexsandbox.generators.checks.user_values import lost
from pytest_codexsandbox.generators.stress.setup import (
    StressContext,
    StressRun,
    StressSetup,
    cannot,
    shown,
    stress_setup,
)
from pytest_codexsandbox.generators.stress.strace import kept
from pytest_codexsandbox.generators.stress.strace_log import Syscall
from pytest_codexsandbox.model.generator import CaseRun, Declaration, Finding

CLAIM: Final = "two different requests at once leave a complete file for one of them, and nothing is lost"
_PLAIN: Final = 6
# Milliseconds of delay for each change of a file. The longer delay exceeds the time between two starts on a busy
# machine. The delays differ, so that each run is the last one in turn.
_SLOWED: Final = ((400, 100), (100, 400), (400, 0), (0, 400))
_SECOND: Final = "calls-of-the-other"


class ConcurrentPair(msgspec.Struct, frozen=True, kw_only=True):
    """One parallel run of both requests. `overlap`: whether both worked at the same time; None if that was not
    measured."""

    one: StressRun
    other: StressRun
    overlap: bool | None = None

    @property
    def config(self) -> bytes | None:
        return self.one.config


class Alone(msgspec.Struct, frozen=True, kw_only=True):
    """The results of each run alone, and of both in turn."""

    case_run: CaseRun  # of the first one alone
    one: bytes | None
    other: bytes | None
    in_turn: tuple[bytes | None, ...]  # one after the other, in both orders


def together(context: StressContext) -> tuple[Finding, ...]:
    why = cannot(context)
    if why:
        return skipped(CLAIM, why)
    with stress_setup(context) as stage:
        return shown(_played(stage), stage.world())


def _played(stage: StressSetup) -> tuple[Finding, ...]:
    alone, why = _alone(stage)
    if alone is None:
        return skipped(CLAIM, why)
    return judged((*_plain(stage), *_slowed(stage)), alone, stage.context.declaration)


def judged(pairs: Sequence[ConcurrentPair], alone: Alone, declaration: Declaration) -> tuple[Finding, ...]:
    faults = [fault for pair in pairs for fault in faults_of(pair, alone, declaration)]
    return as_findings(CLAIM, faults, control=control(pairs, alone, declaration), saw=_told(pairs))


# ---- playing
def _alone(stage: StressSetup) -> tuple[Alone | None, str]:
    context = stage.context
    empty = stage.alone().config
    before = stage.lay()
    first = stage.play()
    after_first = stage.play(context.other, run=2).config
    stage.lay()
    second = stage.play(context.other)
    after_second = stage.play(run=2).config
    why = _cannot(first, second, stage.config(before))
    if why:
        return None, why
    case_run = stage.case_run(before, (first.outcome,), alone=empty)
    return Alone(case_run=case_run, one=first.config, other=second.config, in_turn=(after_first, after_second)), ""


def _cannot(first: StressRun, second: StressRun, before: bytes | None) -> str:
    for one in (first, second):
        if not one.well:
            return f"it wrote nothing here: {one.said}"
    if before in (first.config, second.config):
        return "it changed no file: it gives arguments, or the file was already as requested"
    return "both requests lead to the same file" if first.config == second.config else ""


def _plain(stage: StressSetup) -> Iterator[ConcurrentPair]:
    for number in range(_PLAIN):
        intents = (stage.context.intent, stage.context.other)
        one, other = intents if number % 2 else intents[::-1]
        stage.lay()
        plays = stage.together([stage.asked(one), stage.asked(other)])
        yield ConcurrentPair(one=plays[0], other=plays[1])


def _slowed(stage: StressSetup) -> Iterator[ConcurrentPair]:
    strace = stage.context.strace()
    if not strace.program:
        return
    logs = (stage.log(), stage.log(_SECOND))
    for times in _SLOWED:
        stage.lay()
        words = [strace.slow(log, milliseconds=time) for log, time in zip(logs, times, strict=True)]
        asked = (stage.asked(stage.context.intent, prefix=words[0]), stage.asked(stage.context.other, prefix=words[1]))
        plays = stage.together(asked)
        calls = [kept(log).calls for log in logs]
        yield ConcurrentPair(one=plays[0], other=plays[1], overlap=overlap(calls[0], calls[1], stage.tops))


# ---- judging: pure
def overlap(one: Sequence[Syscall], other: Sequence[Syscall], tops: Sequence[str]) -> bool:
    """Checks whether each run had begun to use the user's folders before the other was done with them."""
    first, second = _span(one, tops), _span(other, tops)
    return first is not None and second is not None and first[0] <= second[1] and second[0] <= first[1]


def _span(calls: Sequence[Syscall], tops: Sequence[str]) -> tuple[float, float] | None:
    times = [
        call.at
        for call in calls
        if any(path == top or path.startswith(f"{top}/") for path in call.paths for top in tops)
    ]
    return (min(times), max(times)) if times else None


def faults_of(pair: ConcurrentPair, alone: Alone, declaration: Declaration) -> Iterator[CheckFault]:
    case_run, content = alone.case_run, pair.config
    before = case_view.text_before(case_run)
    diff = difference(alone.in_turn[0] or b"", content or b"")
    for play in (pair.one, pair.other):
        if play.outcome.ended != "exit":
            yield CheckFault(reason="does-not-end", saw=f"one of two at once: {play.said}", direction="denied")
    if not (pair.one.well or pair.other.well):
        yield CheckFault(reason="both-declined", saw=f"neither run succeeded: {pair.one.said}", direction="denied")
    if content is None:
        yield CheckFault(reason="file-lost", saw="there is no file any more")
        return
    if not read(content).loads:
        yield CheckFault(reason="half-a-file", saw=f"after two at once: {read(content).fault}", diff=diff)
        return
    yield from lost(before, content, own(case_run, declaration), "after two at once")
    if not any(_alike(content, one) for one in due(pair, alone)):
        saw = f"{len(content)} bytes match neither one run alone nor one after the other"
        yield CheckFault(reason="lost-update", saw=saw, diff=diff)
    yield from left(case_run, pair.one.outcome.files, declaration, 1)


def due(pair: ConcurrentPair, alone: Alone) -> tuple[bytes | None, ...]:
    """Returns the permitted results. A result of one run alone counts only if the other declined: two that report
    success must both have been done."""
    if pair.one.well and pair.other.well:
        return alone.in_turn
    return (alone.one, alone.other, *alone.in_turn)


def _alike(one: bytes, other: bytes | None) -> bool:
    return one == other or (other is not None and comparable(read(one).data) == comparable(read(other).data))


def control(pairs: Sequence[ConcurrentPair], alone: Alone, declaration: Declaration) -> Control:
    seen_at_once = [pair for pair in pairs if pair.overlap is not None]
    controls = [
        Control("each alone gives its own file, and the two differ", alone.one != alone.other),
        Control("a mixture of both files is noticed", _notices(pairs, alone, declaration)),
    ]
    if seen_at_once:
        count = sum(bool(pair.overlap) for pair in seen_at_once)
        controls.append(
            Control(f"both were running at once in {count} of {len(seen_at_once)} traced rounds", count > 0)
        )
    return all_hold(controls)


def _notices(pairs: Sequence[ConcurrentPair], alone: Alone, declaration: Declaration) -> bool:
    """Checks that a torn file is noticed: the beginning of one result with the end of the other."""
    one, other = alone.one or b"", alone.other or b""
    mixed = one[: len(one) // 2] + b"\n= torn\n" + other[len(other) // 2 :]
    some = next(iter(pairs), None)
    if some is None:
        return False
    torn = msgspec.structs.replace(some, one=msgspec.structs.replace(some.one, config=mixed))
    return any(fault.reason == "half-a-file" for fault in faults_of(torn, alone, declaration))


def _told(pairs: Sequence[ConcurrentPair]) -> str:
    traced = sum(pair.overlap is not None for pair in pairs)
    declined = sum(not pair.one.well or not pair.other.well for pair in pairs)
    how = f"{traced} of them with every change slowed down" if traced else "none of them slowed down: that needs strace"
    said = f"; in {declined} one of the two declined" if declined else ""
    return f"{len(pairs)} rounds, {how}: each left the same as one after the other{said}"
