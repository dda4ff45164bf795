"""The kill matrix as text: promises × subjects, 80 columns unless all of it is asked for."""

import textwrap
from typing import Final

from pytest_codexsandbox.model.verdict import SIGNS, Verdict
from pytest_codexsandbox.subjects.fake import Fake
from pytest_codexsandbox.subjects.killing import OWN, Fault, Killing, not_asked

WIDTH: Final = 80
_NAME: Final = 44  # of a promise, in the whole matrix
_LEGEND: Final = "F caught it  P conforms  U unconfined, as asked  E broken  B blocked  - not applicable  . not asked"


def compact(killing: Killing) -> str:
    """Each promise, and whom it catches."""
    lines = ["promise                                     catches"]
    excused = not_asked(killing)
    for promise in killing.promises:
        if promise.topic in OWN:
            continue
        caught = killing.catches(promise.id)
        told = ", ".join(caught) or (f"- {excused[promise.id]}" if promise.id in excused else "NOTHING")
        lines += _folded(promise.id, told)
    return "\n".join(lines)


def whole(killing: Killing) -> str:
    """Every pair, in blocks of as many subjects as fit."""
    size = (WIDTH - _NAME - 1) // 2
    blocks = [killing.fakes[start : start + size] for start in range(0, len(killing.fakes), size)]
    return "\n\n".join([*(_block(killing, fakes) for fakes in blocks), f"legend  {_LEGEND}"])


def closing(killing: Killing, found: tuple[Fault, ...], seconds: float) -> str:
    bad = [fake for fake in killing.fakes if fake.kind != "good"]
    survivors = {fault.who for fault in found if fault.kind == "survivor"}
    asked = sum(len(records) for records in killing.records.values())
    lines = [_folded_fault(fault) for fault in found]
    lines.append(
        f"{len(killing.fakes)} subjects, {asked} checks: {len(bad) - len(survivors)} of {len(bad)} bad subjects "
        f"caught, {len(found)} faults, {seconds:.1f} s"
    )
    return "\n".join(lines)


def _folded(name: str, told: str) -> list[str]:
    indent = " " * 44
    head = f"{name:<43} " if len(name) < 44 else f"{name}\n{indent}"
    return [head + textwrap.fill(told, WIDTH, initial_indent=indent, subsequent_indent=indent).lstrip()]


def _folded_fault(fault: Fault) -> str:
    words = {"survivor": "SURVIVES", "idle-promise": "CATCHES NOTHING", "good-is-failed": "FAILED THOUGH GOOD"}
    return textwrap.fill(f"{words[fault.kind]}  {fault.who}: {fault.why}", 100, subsequent_indent="    ")


def _block(killing: Killing, fakes: tuple[Fake, ...]) -> str:
    stairs = [" " * _NAME + " " + "| " * place + fake.name for place, fake in enumerate(fakes)]
    rows = [
        f"{promise.id[:_NAME]:<{_NAME}} " + " ".join(_sign(killing.verdict(fake, promise.id)) for fake in fakes)
        for promise in killing.promises
        if promise.topic not in OWN
    ]
    return "\n".join([*stairs, *rows])


def _sign(verdict: Verdict | None) -> str:
    return SIGNS[verdict] if verdict else "."
