"""The kill matrix as text: promises × subjects, 80 columns unless all of it is asked for."""

import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from pytest_codexsandbox.model.verdict import SIGNS, Verdict
from pytest_codexsandbox.selftest.fake import Fake
from pytest_codexsandbox.selftest.kill_rules import OWN, Fault, KillResult, not_asked, unasked

WIDTH: Final = 80
BY: Final = " by "  # between a subject and the door, in a fault at another door than the first
_NAME: Final = 44  # columns for a promise
_LEGEND: Final = (
    "legend  F caught it  P conforms  U unconfined, as asked  E broken  B blocked  - not applicable  . not run"
)


def compact(killing: KillResult) -> str:
    """Each promise, and the mutants that it is there to catch; of those that it catches besides, the number."""
    lines = [f"{'promise':<{_NAME}}catches"]
    excused = not_asked(killing)
    for promise in killing.promises:
        if promise.topic not in OWN:
            lines += _row(promise.id, _catch(killing, promise.id) or _none(promise.id, excused))
    return "\n".join(lines)


def _catch(killing: KillResult, promise: str) -> str:
    caught = [fake for fake in killing.fakes if killing.caught(fake, promise)]
    named = [fake.name for fake in caught if promise in fake.caught_by]
    more = len(caught) - len(named)
    return ", ".join(named) + (f"{' and ' if named else ''}{more} more" if more else "")


def _none(promise: str, excused: dict[str, str]) -> str:
    return f"- {excused[promise]}" if promise in excused else "NOTHING"


def whole(killing: KillResult) -> str:
    """Every pair, in blocks of as many subjects as fit."""
    blocks = [_block(killing, fakes) for fakes in _fitting(killing.fakes)]
    return "\n\n".join([*blocks, textwrap.fill(_LEGEND, WIDTH)])


def _fitting(fakes: tuple[Fake, ...]) -> Iterator[tuple[Fake, ...]]:
    """Divided so that no name at the head of a column is too wide."""
    block: list[Fake] = []
    for fake in fakes:
        if block and _NAME + 1 + 2 * len(block) + len(fake.name) > WIDTH:
            yield tuple(block)
            block = []
        block.append(fake)
    if block:
        yield tuple(block)


def closing(killing: KillResult, found: tuple[Fault, ...], seconds: float) -> str:
    lines = [*(_folded(f"NOT ASKED  {name}: {why}") for name, why in unasked(killing).items())]
    lines += [_folded_fault(fault) for fault in found]
    here = [fault for fault in found if BY not in fault.who]
    return "\n".join([*lines, f"{counted(killing, here)}, {len(found)} faults, {seconds:.1f} s"])


def counted(killing: KillResult, found: Iterable[Fault]) -> str:
    """Returns the counts of one door. `found`: its faults alone."""
    bad = [fake for fake in killing.fakes if fake.kind != "good" and killing.asked(fake)]
    unasked = len([fake for fake in killing.fakes if not killing.asked(fake)])
    names = {fake.name for fake in killing.fakes}
    survivors = {fault.who.partition(BY)[0] for fault in found if fault.kind == "survivor"} & names
    asked = sum(len(records) for records in killing.records.values())
    caught = f"{len(bad) - len(survivors)} of {len(bad)} bad subjects caught"
    return f"{len(killing.fakes)} subjects, {asked} checks: {caught}{f', {unasked} not run here' if unasked else ''}"


def _row(name: str, text: str) -> list[str]:
    """A name that is too long has a line to itself; names of subjects are never broken."""
    indent = " " * _NAME
    folded = textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
    return [f"{name:<{_NAME}}{folded[0].strip()}", *folded[1:]] if len(name) < _NAME else [name, *folded]


def _folded_fault(fault: Fault) -> str:
    words = {"survivor": "SURVIVES", "idle-promise": "CATCHES NOTHING", "good-is-failed": "FAILED THOUGH GOOD"}
    return _folded(f"{words[fault.kind]}  {fault.who}: {fault.why}")


def _folded(text: str) -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent="    ", break_on_hyphens=False)


def _block(killing: KillResult, fakes: tuple[Fake, ...]) -> str:
    stairs = [" " * _NAME + " " + "| " * place + fake.name for place, fake in enumerate(fakes)]
    rows = [
        f"{promise.id[:_NAME]:<{_NAME}} " + " ".join(_sign(killing.verdict(fake, promise.id)) for fake in fakes)
        for promise in killing.promises
        if promise.topic not in OWN
    ]
    return "\n".join([*stairs, *rows])


def _sign(verdict: Verdict | None) -> str:
    return SIGNS[verdict] if verdict else "."
