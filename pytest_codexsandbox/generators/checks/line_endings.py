"""P6: line ends, the byte order mark and the end of the last line stay as the user has them."""

import codecs
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Final

from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.checks.findings import (
    CheckFault,
    Control,
    all_hold,
    as_findings,
    difference,
    of_first_run,
    skipped,
)
from pytest_codexsandbox.generators.checks.ownership import Ownership, own
from pytest_codexsandbox.generators.checks.toml_lexer import document, text_of
from pytest_codexsandbox.model.generator import CaseRun, Declaration, Finding

CLAIM = "line endings, the byte order mark and the final newline stay as in the user's file"
Line = tuple[bytes, bytes]  # its text, its line end
_LINE: Final = re.compile(rb"(?P<text>[^\n]*?)(?P<end>\r?\n|\Z)", re.DOTALL)
_NAMES: Final = {b"\r\n": "CRLF", b"\n": "LF", b"": "no newline"}
_LOST: Final = {b"\r\n": "crlf-lost", b"\n": "lf-lost", b"": "final-newline-added"}


def line_ends_kept(case_run: CaseRun, declaration: Declaration) -> tuple[Finding, ...]:
    text = case_view.text_before(case_run)
    block = own_lines(text, own(case_run, declaration))
    users = len(lines(text)) > len(block) or text.startswith(codecs.BOM_UTF8)
    why = case_view.not_asked(case_run) or ("" if users else "the user's file has no text")
    if why:
        return skipped(CLAIM, why)
    faults = of_first_run(changed(text, after.content, block, after.name) for after in case_view.results(case_run))
    return as_findings(CLAIM, faults, control=_control(text, block), saw=f"as before: {_told(text)}")


def own_lines(content: bytes, ownership: Ownership) -> frozenset[int]:
    """Returns the numbers of the lines between the generator's markers. Their line ends are the generator's choice."""
    found = document(content)
    spans, at, numbers = ownership.inside(found), len(found.text) - len(found.text.removeprefix("\ufeff")), set()
    for number, (text, end) in enumerate(lines(content)):
        if any(start <= at < stop for start, stop in spans):
            numbers.add(number)
        at += len(text_of(text)) + len(end)
    return frozenset(numbers)


def lines(content: bytes) -> list[Line]:
    found = [(one["text"], one["end"]) for one in _LINE.finditer(content.removeprefix(codecs.BOM_UTF8))]
    return [line for line in found if line != (b"", b"")]


def _told(text: bytes) -> str:
    ends = [end for _, end in lines(text)]
    counts = ", ".join(f"{ends.count(end)} {name}" for end, name in _NAMES.items() if end in ends)
    return ("a byte order mark, " if text.startswith(codecs.BOM_UTF8) else "") + (counts or "no lines")


def changed(
    before: bytes, after: bytes, block: frozenset[int] = frozenset(), name: str = "afterwards"
) -> Iterator[CheckFault]:
    """Yields the first changed line end, and a changed byte order mark. `block`: lines of `before` that are not the
    user's."""
    diff = difference(before, after)
    yield from _mark(before, after, name, diff)
    whole = lines(after)
    for number, one, other in pairs(lines(before), whole):
        if number in block:
            continue
        if one[1] == other[1] or (not one[1] and other is not whole[-1]):
            continue  # a last line without an end needs one if the generator's text follows
        reason = "final-newline-lost" if not other[1] else _LOST[one[1]]
        saw = f"{name}: {_text(one[0])} ended with {_NAMES[one[1]]}, and now with {_NAMES[other[1]]}"
        yield CheckFault(reason=reason, saw=saw, diff=diff)
        return
    ends = {end for number, (_, end) in enumerate(lines(before)) if end and number not in block}
    now = {end for _, end in whole if end}
    if len(ends) == len(now) == 1 and ends != now:  # also if none of the user's lines is unchanged
        (was,), (made,) = ends, now
        saw = f"{name}: every line ended with {_NAMES[was]}, and each with {_NAMES[made]} now"
        yield CheckFault(reason=_LOST[was], saw=saw, diff=diff)


def _mark(before: bytes, after: bytes, name: str, diff: str) -> Iterator[CheckFault]:
    first, now = before.startswith(codecs.BOM_UTF8), after.startswith(codecs.BOM_UTF8)
    inner = after.count(codecs.BOM_UTF8) - now > before.count(codecs.BOM_UTF8) - first
    if inner:
        saw = f"{name}: the byte order mark is in the middle of the file"
        yield CheckFault(reason="bom-moved", saw=saw, diff=diff)
    elif first and not now:
        yield CheckFault(reason="bom-lost", saw=f"{name}: the byte order mark is gone", diff=diff)
    elif now and not first:
        yield CheckFault(reason="bom-added", saw=f"{name}: the file begins with a byte order mark", diff=diff)


def pairs(before: list[Line], after: list[Line]) -> list[tuple[int, Line, Line]]:
    """Returns each line with its number and its counterpart afterwards. Removed lines are left out."""
    one, other = [text for text, _ in before], [text for text, _ in after]
    head = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    rest = min(len(one), len(other)) - head
    tail = next((n for n in range(rest) if one[-1 - n] != other[-1 - n]), rest)
    middle = SequenceMatcher(None, one[head : len(one) - tail], other[head : len(other) - tail], autojunk=False)
    blocks = [(head + block.a, head + block.b, block.size) for block in middle.get_matching_blocks()]
    spans = [(0, 0, head), *blocks, (len(one) - tail, len(other) - tail, tail)]
    return [(a + step, before[a + step], after[b + step]) for a, b, size in spans for step in range(size)]


def _text(line: bytes) -> str:
    return repr(line.decode("utf-8", "replace").strip()[:60]) if line.strip() else "an empty line"


def _control(text: bytes, block: frozenset[int]) -> Control:
    """Changes each line end into the other one, and adds or removes the byte order mark and the last line end."""
    kept = not any(changed(text, text, block))
    ends = [end for _, end in lines(text)]
    turned = _joined([(line, {b"\r\n": b"\n", b"\n": b"\r\n"}.get(end, end)) for line, end in lines(text)])
    marked = text[3:] if text.startswith(codecs.BOM_UTF8) else codecs.BOM_UTF8 + text
    controls = [Control("an added or removed byte order mark is noticed", kept and any(changed(text, marked, block)))]
    if any(end for number, end in enumerate(ends) if number not in block):
        mark = codecs.BOM_UTF8 if text.startswith(codecs.BOM_UTF8) else b""
        controls.append(Control("CRLF for LF and LF for CRLF are noticed", any(changed(text, mark + turned, block))))
    if len(ends) - 1 not in block and any(line for line, _ in lines(text)):
        last = text.rstrip(b"\r\n") if ends[-1] else text + b"\n"
        controls.append(Control("a changed final newline is noticed", any(changed(text, last, block))))
    return all_hold(controls)


def _joined(found: list[Line]) -> bytes:
    return b"".join(line + end for line, end in found)
