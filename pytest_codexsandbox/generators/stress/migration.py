"""P14: takes over a file that an older release wrote.

Losses are attributed. What the older release had already deleted cannot be restored. What it had only moved (a key that
its table captured) is still in the file. It must remain, at its own place or where it was.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.checks.block_markers import one_marker_pair
from pytest_codexsandbox.generators.checks.codex_toml import Path, comparable, everywhere, leaves, read, written
from pytest_codexsandbox.generators.checks.findings import (
    CheckFault,
    Control,
    all_hold,
    as_findings,
    difference,
    listed,
    skipped,
)
from pytest_codexsandbox.generators.checks.idempotence import second_run_same
from pytest_codexsandbox.generators.checks.key_placement import CLAIM as PLACES
from pytest_codexsandbox.generators.checks.key_placement import own_place
from pytest_codexsandbox.generators.checks.ownership import Ownership, own
from pytest_codexsandbox.generators.checks.toml_syntax import CLAIM as LOADS
from pytest_codexsandbox.generators.checks.toml_syntax import parses
from pytest_codexsandbox.generators.checks.user_values import users
from pytest_codexsandbox.generators.stress.remaining_content import comments, comments_remain, first_of, values_remain
from pytest_codexsandbox.generators.stress.setup import StressContext, StressSetup, cannot, shown, stress_setup
from pytest_codexsandbox.model.generator import CaseRun, Declaration, Finding

TAKEN: Final = "a file in an older shape ends with the same values as an empty one, and the user's keys stay"
_ESSENTIAL: Final = (LOADS, PLACES)


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """`case_run`: the runs of the new release on the file in the older shape."""

    name: str  # name of the older release
    users: bytes  # the user's file before the older release ran
    older: bytes  # the file after the older release ran
    case_run: CaseRun
    older_owns: Ownership  # what the older release sets


def migrates(context: StressContext) -> tuple[Finding, ...]:
    why = cannot(context)
    if why:
        return skipped(TAKEN, why)
    with stress_setup(context) as stage:
        move, why = _moved(stage)
        world = stage.world()
    return shown(skipped(TAKEN, why) if move is None else judged(move, context.declaration), world)


def _moved(stage: StressSetup) -> tuple[Move | None, str]:
    older = stage.context.neighbour()
    alone, its_alone = stage.alone().config, stage.alone(older).config
    theirs = stage.config(stage.lay(generator=older))
    shaped = stage.play(generator=older)
    if not shaped.well or shaped.config is None or shaped.config == theirs:
        return None, f"{older.name} wrote nothing here: {shaped.said}"
    files = shaped.outcome.files
    runs = [stage.play(run=number).outcome for number in (1, 2, 3)]
    case_run = stage.case_run(files, runs, alone=alone)
    before = stage.case_run(files, runs, alone=its_alone)
    owns = own(before, older.declaration)
    return Move(name=older.name, users=theirs or b"", older=shaped.config, case_run=case_run, older_owns=owns), ""


# ---- judging: pure
def judged(move: Move, declaration: Declaration) -> tuple[Finding, ...]:
    if case_view.refused(move.case_run.first):
        return _declined(move)
    found = (
        *parses(move.case_run, declaration),
        *own_place(move.case_run, _may_give_back(move, declaration)),
        *one_marker_pair(move.case_run, declaration),
        *second_run_same(move.case_run, declaration),
    )
    unasked = next((one.skipped for one in found if one.skipped and one.claim in _ESSENTIAL), "")
    if unasked:
        return skipped(TAKEN, unasked)
    rows = [_named(move, one) for one in found if not one.skipped]
    return (*rows, *_same_as_alone(move), *_users_words(move, declaration), *_comments_stay(move))


def _may_give_back(move: Move, declaration: Declaration) -> Declaration:
    """Adds the user's keys to the owned ones: a captured key may be written to its former place."""
    if declaration.owns is None:
        return declaration
    theirs = tuple(written(path) for path in users(move.users, move.older_owns))
    return msgspec.structs.replace(declaration, owns=(*declaration.owns, *theirs))


def _named(move: Move, one: Finding) -> Finding:
    more = _older(move)
    return msgspec.structs.replace(
        one,
        claim=f"from {move.name}: {one.claim}",
        control=f"{more.text}; {one.control}",
        control_held=one.control_held and more.held,
    )


def _declined(move: Move) -> tuple[Finding, ...]:
    """Judges a refusal. The new release may decline a file that does not load. It declares that it takes over the
    others."""
    run = move.case_run.first
    after = case_view.config(run.files, move.case_run.world).content
    loads = read(move.older).loads
    why = " ".join((run.reason or run.stderr.strip() or run.stdout.strip()).split())[:300]
    faults = []
    if loads:
        faults.append(CheckFault(reason="declines-older-shape", saw=f"it declines: {why}", direction="denied"))
    if after != move.older:
        diff = difference(move.older, after)
        faults.append(CheckFault(reason="declined-and-wrote", saw=f"it declined, but wrote: {why}", diff=diff))
    saw = f"{move.name} left no TOML ({read(move.older).fault}); it declined, and changed nothing: {why}"
    return as_findings(TAKEN, faults, control=_older(move), saw=saw)


def _same_as_alone(move: Move) -> tuple[Finding, ...]:
    """Checks that the keys have the same values as without a file, except for keys that the user had set before."""
    alone = move.case_run.alone or b""
    theirs = users(move.users, move.older_owns)
    due = {path: value for path, value in leaves(read(alone).data).items() if path not in theirs}
    claim = f"from {move.name}: its keys have the same values as without a file"
    return values_remain(claim, due, move.case_run, example=alone, was="without a file", more=_older(move))


def _comments_stay(move: Move) -> tuple[Finding, ...]:
    """Checks that the comments which the older release had left are still there."""
    left = comments(move.older)
    theirs = tuple(text for text in comments(move.users) if text in left)
    claim = f"from {move.name}: the user's comments that it had kept stay"
    return comments_remain(claim, theirs, move.case_run, example=move.older, more=_older(move))


def _older(move: Move) -> Control:
    return Control("the file is in the older shape", move.older != move.users)


def _users_words(move: Move, declaration: Declaration) -> tuple[Finding, ...]:
    claim = f"from {move.name}: the user's keys that it had kept stay"
    theirs = _theirs(move, own(move.case_run, declaration))
    there, lost = placed(theirs, move.older)
    after = case_view.results(move.case_run)
    if not there or not all(read(one.content).loads for one in after):
        return ()
    faults = first_of(after, lambda one: missing(there, one.content, one.name, move))
    controls = (
        _older(move),
        Control("a file without them is noticed", bool(there) and any(missing(there, b"", "", move))),
        Control("the file that had them passes", not any(missing(there, _with_them(move), "", move))),
    )
    gone = f"; {move.name} itself had lost {listed([written(path) for path in lost])}" if lost else ""
    moved = [written(path) for path, place in there.items() if place != path]
    captured = f"; {move.name} had captured {listed(moved)}" if moved else ""
    return as_findings(claim, faults, control=all_hold(controls), saw=f"{len(there)} are present{captured}{gone}")


def _with_them(move: Move) -> bytes:
    return move.older if read(move.older).loads else move.users


def _theirs(move: Move, ownership: Ownership) -> dict[Path, Any]:
    return {path: value for path, value in users(move.users, ownership).items() if not move.older_owns.owns(path)}


def placed(theirs: dict[Path, Any], older: bytes) -> tuple[dict[Path, Path], tuple[Path, ...]]:
    """Returns where the older release has put each of the user's keys, and the keys it lost. In a file that does not
    load a key counts as at its own place if its name occurs."""
    reading = read(older)
    found: dict[Path, Path] = {}
    for path, value in theirs.items():
        place = _place_of(path, value, reading.data) if reading.loads else path
        if place is not None and (reading.loads or path[-1].encode() in older):
            found[path] = place
    return found, tuple(path for path in theirs if path not in found)


def _place_of(path: Path, value: Any, data: dict[str, Any]) -> Path | None:
    everything = dict(everywhere(data))
    if path in everything and comparable(everything[path]) == comparable(value):
        return path
    alike = (at for at, one in everything.items() if at[-len(path) :] == path and comparable(one) == comparable(value))
    return next(alike, None)


def missing(there: dict[Path, Path], content: bytes, name: str, move: Move) -> Iterator[CheckFault]:
    """Yields a fault for each key that is neither at its own place nor where the older release had moved it."""
    values = leaves(read(move.users).data)
    now = dict(everywhere(read(content).data))
    for path, place in there.items():
        good = [at for at in {path, place} if at in now and comparable(now[at]) == comparable(values[path])]
        if not good:
            was = "" if place == path else f", which {move.name} had captured as {written(place)},"
            saw = f"{name}: {written(path)} = {values[path]!r}{was} is gone"
            yield CheckFault(reason="key-lost", saw=saw, diff=difference(move.older, content))
