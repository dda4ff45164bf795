"""P8: at every moment the file is either the old one or the new one.

Two observers: a process that reads the file all the time, and strace, which also sees moments between two reads. Both
must detect a writer that empties the file, waits and writes. An observer that misses it proves nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.generators.checks.codex_toml import read
from pytest_codexsandbox.generators.checks.findings import (
    CheckFault,
    Control,
    all_hold,
    as_findings,
    difference,
    skipped,
)
from pytest_codexsandbox.generators.other_writers import TORN
from pytest_codexsandbox.generators.stress.file_watch import FileSample, FileSamples, is_at, looking
from pytest_codexsandbox.generators.stress.intermediate_files import HALF_DONE, is_between
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
from pytest_codexsandbox.model.generator import Finding, Intent
from pytest_codexsandbox.model.generator_spec import Generator

CLAIM: Final = "a concurrent reader finds the old file or the new one"
UNSEEN: Final = "it runs in an environment, but the reader and strace run on the host"
_ROUNDS: Final = 2  # after the first; each: a first run, and one with another request
_SLOW: Final = 4.0  # seconds of a round


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One run with both observers."""

    before: bytes | None
    play: StressRun
    looks: FileSamples
    calls: tuple[Syscall, ...] = ()
    traced: bool = False

    @property
    def changed(self) -> bool:
        return self.play.config != self.before

    def is_step(self, sight: FileSample) -> bool:
        """Checks whether a sample is a whole file that was put in place and replaced again. It must be a file of its
        own that no reader has seen with other content."""
        ends = {other.file for other in self.looks.seen if is_at(other, self.before) or is_at(other, self.play.config)}
        alone = sum(other.file == sight.file for other in self.looks.seen) == 1
        return sight.kind == "file" and sight.file > 0 and alone and sight.file not in ends


def at_once(context: StressContext) -> tuple[Finding, ...]:
    why = cannot(context) or ("" if context.environment is None else UNSEEN)
    if why:
        return skipped(CLAIM, why)
    with stress_setup(context) as stage:
        rounds = tuple(_rounds(stage))
        changing = tuple(one for one in rounds if one.changed)
        torn = tuple(_pair(stage, TORN, traced=bool(context.strace().program))) if changing else ()
        path, world = stage.config_path, stage.world()
    found = judged(changing, torn, path) if changing else skipped(CLAIM, _nothing(rounds))
    return shown(found, world)


def judged(changing: Sequence[Round], torn: Sequence[Round], path: str) -> tuple[Finding, ...]:
    faults = [fault for one in changing for fault in faults_of(one, path)]
    return as_findings(CLAIM, faults, control=control(changing, torn, path), saw=_told(changing))


def _nothing(rounds: Sequence[Round]) -> str:
    refused = next((one.play.said for one in rounds if not one.play.well), "")
    return (
        f"it changed no file ({refused})"
        if refused
        else "it changed no file: it gives arguments, or the file was already as requested"
    )


# ---- playing
def _rounds(stage: StressSetup) -> Iterator[Round]:
    """Yields rounds, most of them under strace. Its slower calls make short moments easier to see.

    If the first round shows that nothing changes, no second request follows. A slow generator gets only one more round.
    """
    known = bool(stage.context.strace().program)
    first = tuple(_pair(stage, stage.context.generator, traced=known))
    yield from first
    times = 1 if sum(one.play.outcome.seconds for one in first) > _SLOW else _ROUNDS
    intents = 2 if first[1].changed or not known else 1
    for number in range(times):
        yield from _pair(stage, stage.context.generator, traced=known and number + 1 < times, intents=intents)


def _pair(stage: StressSetup, generator: Generator, *, traced: bool, intents: int = 2) -> Iterator[Round]:
    """Yields a first run, and one with another request."""
    before = stage.config(stage.lay(generator=generator))
    for run, intent in enumerate((stage.context.intent, stage.context.other)[:intents], start=1):
        one = _round(stage, generator, intent, before=before, run=run, traced=traced)
        yield one
        before = one.play.config


def _round(
    stage: StressSetup, generator: Generator, intent: Intent, *, before: bytes | None, run: int, traced: bool
) -> Round:
    strace, log = stage.context.strace(), stage.log()
    with looking(stage.top, stage.config_path) as watcher:
        play = stage.play(intent, generator=generator, run=run, prefix=strace.words(log) if traced else ())
    calls = kept(log).calls if traced else ()
    return Round(before=before, play=play, looks=watcher.looks, calls=calls, traced=traced)


# ---- judging: pure
def faults_of(one: Round, path: str) -> Iterator[CheckFault]:
    for sight in one.looks.other_than((one.before, one.play.config)):
        if one.is_step(sight):
            yield from _of_step(sight, one)
        else:
            yield _of_sight(sight, one)
    yield from in_place(one.calls, path, there=one.before is not None)


def _of_sight(sight: FileSample, one: Round) -> CheckFault:
    if sight.kind != "file":
        return CheckFault(reason="taken-away", saw=f"a reader found no file at all ({sight.kind}), {sight.looks} times")
    whole = max(len(one.before or b""), len(one.play.config or b""))
    empty = not sight.content
    return CheckFault(
        reason="emptied-first" if empty else "half-a-file",
        diff=difference(one.play.config or b"", sight.content),
        saw=f"a reader found {'an empty file' if empty else f'{len(sight.content)} bytes of {whole}'}",
    )


def _of_step(sight: FileSample, one: Round) -> Iterator[CheckFault]:
    if not read(sight.content).loads:
        yield _of_sight(sight, one)
    elif not is_between(sight.content, one.before, one.play.config):
        saw = "a reader found a whole file between two steps, without keys that it has before and afterwards"
        yield CheckFault(reason=HALF_DONE, saw=saw, diff=difference(one.play.config or b"", sight.content))


def in_place(calls: Iterable[Syscall], path: str, *, there: bool) -> Iterator[CheckFault]:
    """Yields faults that the system calls show. `there`: whether the file existed at the start."""
    for call in calls:
        if not call.worked:
            continue
        if call.takes_away and _holds(call.takes_away, path):
            if there:
                yield CheckFault(reason="taken-away", saw=f"{call.name} removes the file before the new one exists")
            there = False
        reason, what = _in_one_place(call, path, there=there)
        if reason:
            yield CheckFault(reason=reason, saw=f"{call.name} {what}")
        there = there or path in call.changed


def _in_one_place(call: Syscall, path: str, *, there: bool) -> tuple[str, str]:
    if call.puts == path or path not in call.changed:
        return "", ""
    if call.makes or call.empties:
        if not there:
            return "made-empty", "creates an empty file at the final path and fills it later"
        return ("emptied-first", "empties the file in place") if call.empties else ("", "")
    return ("written-in-place", "writes into the file in place") if path in call.writes else ("", "")


def _holds(gone: str, path: str) -> bool:
    return path == gone or path.startswith(f"{gone}/")


def control(changing: Sequence[Round], torn: Sequence[Round], path: str) -> Control:
    """Checks that the observers saw this generator's old and new file, and detected the torn writer."""
    both = all(one.looks.saw(one.before) and one.looks.saw(one.play.config) for one in changing)
    caught = any(_seen_by_reader(one) for one in torn)
    controls = [
        Control("a writer that empties the file, waits and writes is seen by the same reader", caught),
        Control("the reader has seen each old file and each new one", both),
    ]
    if any(one.traced for one in changing):
        noted = any(tuple(in_place(one.calls, path, there=True)) for one in torn)
        known = all(any(path in call.changed for call in one.calls) for one in changing if one.traced)
        controls.append(Control("that writer's calls, and this generator's, are seen by strace", noted and known))
    return all_hold(controls)


def _seen_by_reader(one: Round) -> bool:
    return bool(one.looks.other_than((one.before, one.play.config)))


def _told(changing: Sequence[Round]) -> str:
    looks = sum(one.looks.looks for one in changing)
    traced = sum(one.traced for one in changing)
    steps = sum(one.is_step(sight) for one in changing for sight in one.looks.seen)
    between = f"; {steps} times between two steps, with each key as before or as afterwards" if steps else ""
    by = f"{traced} of them under strace" if traced else "without strace (to see more: apt install strace)"
    return f"{len(changing)} runs that changed the file, {by}; read {looks} times meanwhile, always complete{between}"
