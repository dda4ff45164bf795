"""Findings: turn the faults of a check into rows of evidence, each with the control that shows the check can fail."""

import difflib
from collections.abc import Iterable, Sequence
from typing import Final, Literal

import msgspec

from pytest_codexsandbox.generators.checks.toml_lexer import text_of
from pytest_codexsandbox.model.generator import Finding

Direction = Literal["", "leak", "denied", "wrong-claim", "litter"]
_DIFF_LINES: Final = 60
_LINE: Final = 200
_FAULTS: Final = 5  # most rows of one check


class CheckFault(msgspec.Struct, frozen=True, kw_only=True):
    reason: str
    saw: str
    diff: str = ""
    direction: Direction = ""


class Control(msgspec.Struct, frozen=True):
    """A change to this very file (or run) that the check must notice; `held`: it did."""

    text: str
    held: bool


def as_findings(
    claim: str, faults: Iterable[CheckFault], *, control: Control, saw: str, direction: Direction = ""
) -> tuple[Finding, ...]:
    """Returns one row for each kind of fault, or a single row if there is no fault."""
    rows = tuple(
        Finding(
            claim=claim,
            saw=f"{fault.saw}{_more(more)}",
            held=False,
            control=control.text,
            control_held=control.held,
            direction=fault.direction or direction,
            reason=fault.reason,
            diff=fault.diff,
        )
        for fault, more in _by_reason(faults)
    )
    held = Finding(claim=claim, saw=saw, held=True, control=control.text, control_held=control.held)
    return rows[:_FAULTS] or (held,)


def of_first_run(runs: Iterable[Iterable[CheckFault]]) -> list[CheckFault]:
    """Returns the faults of the first run that has any. Later runs mostly repeat them."""
    return next((found for found in map(list, runs) if found), [])


def skipped(claim: str, why: str) -> tuple[Finding, ...]:
    """Returns the row of a check that could not be made. It proves nothing and does not hold."""
    return (Finding(claim=claim, saw="", held=False, control="", control_held=False, skipped=why),)


def _by_reason(faults: Iterable[CheckFault]) -> list[tuple[CheckFault, int]]:
    """Returns the first fault of each kind, and how many more there are. One cause often makes many faults."""
    kinds: dict[str, list[CheckFault]] = {}
    for fault in faults:
        kinds.setdefault(fault.reason, []).append(fault)
    return [(found[0], len(found) - 1) for found in kinds.values()]


def _more(count: int) -> str:
    return f" (and {count} more of the kind)" if count else ""


def all_hold(controls: Iterable[Control]) -> Control:
    """Joins several controls: each must hold, and there must be at least one."""
    given = tuple(controls)
    return Control("; ".join(one.text for one in given), bool(given) and all(one.held for one in given))


def difference(before: bytes, after: bytes) -> str:
    """Returns how the generator changed the user's file: a unified diff, bounded, with visible line ends."""
    lines = list(difflib.unified_diff(_shown(before), _shown(after), "before", "after", lineterm="", n=2))
    more = [f"… {len(lines) - _DIFF_LINES} more lines"] if len(lines) > _DIFF_LINES else []
    return "\n".join([*(line[:_LINE] for line in lines[:_DIFF_LINES]), *more])


def _shown(content: bytes) -> list[str]:
    """Makes `\\r` and the byte order mark visible, because only they may differ."""
    text = text_of(content).encode("utf-8", "replace").decode("utf-8")
    return [line.replace("\r", "␍").replace("\ufeff", "<BOM>") for line in text.split("\n")[:_MOST]]


_MOST: Final = 4000  # lines that are compared


def listed(words: Sequence[str], *, limit: int = 6) -> str:
    more = f" and {len(words) - limit} more" if len(words) > limit else ""
    return ", ".join(words[:limit]) + more
