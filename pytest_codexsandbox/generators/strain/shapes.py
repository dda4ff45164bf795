"""P14: a file that an older release wrote is taken over.

Who lost what is told apart: what the older one had already taken from the user, nobody can give back; what it had only
moved (a key that its table captured) is still there, and must be there afterwards, at its own place or where it was.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from pytest_codexsandbox.generators.checks import seen
from pytest_codexsandbox.generators.checks.again import second_run_same
from pytest_codexsandbox.generators.checks.found import Control, Fault, all_hold, difference, findings, listed, skipped
from pytest_codexsandbox.generators.checks.markers import one_marker_pair
from pytest_codexsandbox.generators.checks.owning import Own, own
from pytest_codexsandbox.generators.checks.parses import parses
from pytest_codexsandbox.generators.checks.places import own_place
from pytest_codexsandbox.generators.checks.reading import Path, comparable, everywhere, leaves, read, written
from pytest_codexsandbox.generators.checks.values import users
from pytest_codexsandbox.generators.strain.bench import Rig, StrainBench, cannot, rig
from pytest_codexsandbox.model.generator import Declaration, Finding, Story

TAKEN: Final = "a file in an older shape says the same afterwards as an empty one, and the user's words in it stay"


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """`story`: the file in the older shape, and the runs of the new one on it."""

    name: str  # of the older one
    users: bytes  # what the user had before any of it
    older: bytes  # after the older one
    story: Story
    older_owns: Own  # what the older one sets


def migrates(bench: StrainBench) -> tuple[Finding, ...]:
    why = cannot(bench)
    if why:
        return skipped(TAKEN, why)
    with rig(bench) as stage:
        move, why = _moved(stage)
    return skipped(TAKEN, why) if move is None else judged(move, bench.declaration)


def _moved(stage: Rig) -> tuple[Move | None, str]:
    older = stage.bench.neighbour()
    alone, its_alone = stage.alone().config, stage.alone(older).config
    theirs = stage.config(stage.lay(generator=older))
    shaped = stage.play(generator=older)
    if not shaped.well or shaped.config is None or shaped.config == theirs:
        return None, f"{older.name} wrote nothing here: {shaped.said}"
    files = shaped.outcome.files
    runs = [stage.play(run=number).outcome for number in (1, 2, 3)]
    story = stage.story(files, runs, alone=alone)
    before = stage.story(files, runs, alone=its_alone)
    owns = own(before, older.declaration)
    return Move(name=older.name, users=theirs or b"", older=shaped.config, story=story, older_owns=owns), ""


# ---- judging: pure
def judged(move: Move, declaration: Declaration) -> tuple[Finding, ...]:
    if seen.refused(move.story.first):
        return _declined(move)
    found = [
        one
        for check in (parses, own_place, one_marker_pair, second_run_same)
        for one in check(move.story, declaration)
    ]  # fmt: skip
    essential = next((one.skipped for one in found[:2] if one.skipped), "")
    if essential:
        return skipped(TAKEN, essential)
    rows = [_named(move, one) for one in found if not one.skipped]
    return (*rows, *_same_as_alone(move), *_users_words(move, declaration))


def _named(move: Move, one: Finding) -> Finding:
    changed = move.older != move.users
    return msgspec.structs.replace(
        one, claim=f"from {move.name}: {one.claim}", control=f"the file is in the older shape; {one.control}",
        control_held=one.control_held and changed,
    )  # fmt: skip


def _declined(move: Move) -> tuple[Finding, ...]:
    """It may leave alone what does not load. It has said that it takes over what does."""
    run = move.story.first
    after = seen.config(run.files, move.story.world).content
    loads = read(move.older).loads
    why = (run.reason or run.stderr.strip() or run.stdout.strip())[:200]
    faults = []
    if loads:
        faults.append(Fault(reason="declines-older-shape", saw=f"it declines: {why}", direction="denied"))
    if after != move.older:
        diff = difference(move.older, after)
        faults.append(Fault(reason="declined-and-wrote", saw=f"it declined, and wrote: {why}", diff=diff))
    saw = f"{move.name} left no TOML ({read(move.older).fault}); it declined, and left every byte: {why}"
    control = Control("the file is in the older shape", move.older != move.users)
    return findings(TAKEN, faults, control=control, saw=saw)


def _same_as_alone(move: Move) -> tuple[Finding, ...]:
    claim = f"from {move.name}: what it sets has the values that it has where there was no file"
    due = {
        path: value for path, value in leaves(read(move.story.alone or b"").data).items()
        if path not in users(move.users, move.older_owns)
    }  # fmt: skip
    faults = [fault for one in seen.results(move.story) for fault in differing(due, one.content, one.name)]
    held = bool(due) and any(differing(due, b"", "")) and not any(differing(due, move.story.alone or b"", ""))
    control = Control("a file without these values is noticed", held)
    return findings(claim, faults, control=control, saw=f"{len(due)} keys have them") if due else ()


def differing(due: dict[Path, Any], content: bytes, name: str) -> Iterator[Fault]:
    reading = read(content)
    now = leaves(reading.data)
    for path, value in due.items():
        if reading.loads and (path not in now or comparable(now[path]) != comparable(value)):
            saw = f"{name}: {written(path)} is {now.get(path, 'not there')!r}; where there was no file it is {value!r}"
            yield Fault(reason="value-changed", saw=saw, direction="wrong-claim")


def _users_words(move: Move, declaration: Declaration) -> tuple[Finding, ...]:
    claim = f"from {move.name}: the user's words that it had left stay"
    theirs = _theirs(move, own(move.story, declaration))
    if not theirs:
        return ()
    there, lost = placed(theirs, move.older)
    after = seen.results(move.story)
    faults = [fault for one in after for fault in missing(there, one.content, one.name, move)]
    controls = (
        Control("a file without them is noticed", bool(there) and any(missing(there, b"", "", move))),
        Control("the file in the older shape itself passes", not any(missing(there, move.older, "", move))),
    )
    gone = f"; {move.name} itself had lost {listed([written(path) for path in lost])}" if lost else ""
    moved = [written(path) for path, place in there.items() if place != path]
    captured = f"; {move.name} had captured {listed(moved)}" if moved else ""
    return findings(claim, faults, control=all_hold(controls), saw=f"{len(there)} are there{captured}{gone}")


def _theirs(move: Move, ownership: Own) -> dict[Path, Any]:
    return {
        path: value for path, value in users(move.users, ownership).items() if not move.older_owns.owns(path)
    }  # fmt: skip


def placed(theirs: dict[Path, Any], older: bytes) -> tuple[dict[Path, Path], tuple[Path, ...]]:
    """Each key of the user's and where the older one has put it, and those that it has lost. Of a file that does not
    load any more every key is taken to stand at its own place: its text may still be there."""
    reading = read(older)
    if not reading.loads:
        return {path: path for path in theirs}, ()
    found: dict[Path, Path] = {}
    for path, value in theirs.items():
        place = _place_of(path, value, reading.data)
        if place is not None:
            found[path] = place
    return found, tuple(path for path in theirs if path not in found)


def _place_of(path: Path, value: Any, data: dict[str, Any]) -> Path | None:
    everything = dict(everywhere(data))
    if path in everything and comparable(everything[path]) == comparable(value):
        return path
    alike = (at for at, one in everything.items() if at[-len(path) :] == path and comparable(one) == comparable(value))
    return next(alike, None)


def missing(there: dict[Path, Path], content: bytes, name: str, move: Move) -> Iterator[Fault]:
    """At its own place, or, where the older one had captured it, still there."""
    reading = read(content)
    values = leaves(read(move.users).data)
    if not reading.loads:
        return  # said by the check that parses
    now = dict(everywhere(reading.data))
    for path, place in there.items():
        good = [at for at in {path, place} if at in now and comparable(now[at]) == comparable(values[path])]
        if not good:
            was = "" if place == path else f", which {move.name} had captured as {written(place)},"
            saw = f"{name}: {written(path)} = {values[path]!r}{was} is gone"
            yield Fault(reason="key-lost", saw=saw, diff=difference(move.older, content))
