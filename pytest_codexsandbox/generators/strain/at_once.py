"""P8: no moment at which the file is neither the old one nor the new one.

Two witnesses: somebody who reads it all the time, and strace, which sees also the moment that nobody has read. Both
are shown a writer that empties the file, waits and writes: what does not see that one says nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.generators.checks.found import Control, Fault, all_hold, difference, findings, skipped
from pytest_codexsandbox.generators.strain import tracing
from pytest_codexsandbox.generators.strain.bench import Play, Rig, StrainBench, cannot, rig
from pytest_codexsandbox.generators.strain.looking import Looks, Sight, looking
from pytest_codexsandbox.generators.strain.syscalls import Call
from pytest_codexsandbox.generators.writers import TORN
from pytest_codexsandbox.model.generator import Finding, Wish
from pytest_codexsandbox.model.generator_spec import Generator

CLAIM: Final = "whoever reads while it works finds the old file or the new one"
_ROUNDS: Final = 3  # each: a first run, and one that changes what it wrote


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One run with both witnesses."""

    before: bytes | None
    play: Play
    looks: Looks
    calls: tuple[Call, ...] = ()
    traced: bool = False

    @property
    def changed(self) -> bool:
        return self.play.config != self.before


def at_once(bench: StrainBench) -> tuple[Finding, ...]:
    why = cannot(bench)
    if why:
        return skipped(CLAIM, why)
    with rig(bench) as stage:
        rounds = tuple(_rounds(stage, bench.generator, rounds=_ROUNDS))
        changing = tuple(one for one in rounds if one.changed)
        if not changing:
            return skipped(CLAIM, _nothing(rounds))
        torn = tuple(_rounds(stage, TORN, rounds=1))
        path = stage.config_path
    return judged(changing, torn, path)


def judged(changing: Sequence[Round], torn: Sequence[Round], path: str) -> tuple[Finding, ...]:
    faults = [fault for one in changing for fault in faults_of(one, path)]
    return findings(CLAIM, faults, control=control(changing, torn, path), saw=_told(changing))


def _nothing(rounds: Sequence[Round]) -> str:
    refused = next((one.play.said for one in rounds if not one.play.well), "")
    return (
        f"it changed no file ({refused})" if refused else "it changed no file: it gives arguments, or all is as asked"
    )


# ---- playing
def _rounds(stage: Rig, generator: Generator, *, rounds: int) -> Iterator[Round]:
    """Half of them under strace, where every call takes longer: more is seen of a short moment, too."""
    strace = stage.bench.strace()
    for number in range(rounds):
        before = stage.config(stage.lay(generator=generator))
        for run, wish in enumerate((stage.bench.wish, stage.bench.other), start=1):
            traced = bool(strace.program) and (rounds == 1 or number < rounds - 1)
            one = _round(stage, generator, wish, before=before, run=run, traced=traced)
            yield one
            before = one.play.config


def _round(stage: Rig, generator: Generator, wish: Wish, *, before: bytes | None, run: int, traced: bool) -> Round:
    strace, log = stage.bench.strace(), stage.log()
    with looking(stage.top, stage.config_path) as onlooker:
        play = stage.play(wish, generator=generator, run=run, prefix=strace.words(log) if traced else ())
    calls = tracing.kept(log).calls if traced else ()
    return Round(before=before, play=play, looks=onlooker.looks, calls=calls, traced=traced)


# ---- judging: pure
def faults_of(one: Round, path: str) -> Iterator[Fault]:
    for sight in one.looks.other_than((one.before, one.play.config)):
        yield _of_sight(sight, one)
    yield from in_place(one.calls, path, there=one.before is not None)


def _of_sight(sight: Sight, one: Round) -> Fault:
    if sight.kind != "file":
        return Fault(reason="taken-away", saw=f"a reader found no file at all ({sight.kind}), {sight.looks} times")
    whole = max(len(one.before or b""), len(one.play.config or b""))
    empty = not sight.content
    return Fault(
        reason="emptied-first" if empty else "half-a-file", diff=difference(one.play.config or b"", sight.content),
        saw=f"a reader found {'an empty file' if empty else f'{len(sight.content)} bytes of {whole}'}",
    )  # fmt: skip


def in_place(calls: Iterable[Call], path: str, *, there: bool) -> Iterator[Fault]:
    """What the system calls say. `there`: whether there was a file in the beginning."""
    for call in calls:
        if not call.worked:
            continue
        if call.takes_away and _holds(call.takes_away, path):
            if there:
                yield Fault(reason="taken-away", saw=f"{call.name} takes the file away before another one is there")
            there = False
        if call.puts == path:
            there = True
        elif path in call.writes:
            word = "emptied-first" if call.empties else "written-in-place"
            if there or not call.empties:
                yield Fault(reason=word, saw=f"{call.name} {_did(word)} where it is read")
            there = True
        elif call.makes and path in call.changed and not there:
            yield Fault(reason="made-empty", saw=f"{call.name} makes an empty file, which is filled later")
            there = True


def _did(word: str) -> str:
    return "empties the file" if word == "emptied-first" else "writes into the file"


def _holds(gone: str, path: str) -> bool:
    return path == gone or path.startswith(f"{gone}/")


def control(changing: Sequence[Round], torn: Sequence[Round], path: str) -> Control:
    """Who looked at this generator has seen the old file and the new one, and caught the other writer."""
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
    by = f"{traced} of them under strace" if traced else "without strace (apt install strace sees more)"
    return f"{len(changing)} runs that changed the file, {by}; read {looks} times meanwhile, always whole"
