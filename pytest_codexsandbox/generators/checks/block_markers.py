"""P9: the generator's block is in the file once, between one pair of its markers."""

from collections.abc import Iterator

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
from pytest_codexsandbox.generators.checks.ownership import marker_lines, own, written_alone
from pytest_codexsandbox.generators.checks.toml_lexer import Comment, Document, bytes_of, document, without
from pytest_codexsandbox.model.generator import CaseRun, Declaration, Finding, Marker

CLAIM = "one balanced pair of marks encloses what the generator manages"
NO_MARKS = "no-marks"
IN_PLACE = "its marks are only inferred (the declaration has no `markers`), and it writes none of them into this file"


def one_marker_pair(case_run: CaseRun, declaration: Declaration) -> tuple[Finding, ...]:
    markers = own(case_run, declaration).markers
    alone = written_alone(case_run)
    due = tuple(marker for marker in markers if alone is None or _pair(document(alone), marker) == (1, 1))
    why = case_view.not_asked(case_run) or _cannot(markers, due)
    if why:
        return skipped(CLAIM, why)
    before = case_view.text_before(case_run)
    faults = of_first_run(
        (fault for one in markers for fault in unbalanced(before, after.content, one, due=one in due, name=after.name))
        for after in case_view.results(case_run)
    )
    if not declaration.markers and not _were_there(before, markers):
        faults = [fault for fault in faults if fault.reason != NO_MARKS]
        if not faults and not _were_there(case_view.results(case_run)[-1].content, markers):
            return skipped(CLAIM, IN_PLACE)
    control = _control(alone or _block(due[0]), due[0])
    return as_findings(CLAIM, faults, control=control, saw=f"one pair of {len(due)}: {due[0].begin!r}")


def _cannot(markers: tuple[Marker, ...], due: tuple[Marker, ...]) -> str:
    if not markers:
        return "it writes no marks: the declaration has no `markers`, and none enclose what it writes"
    return "" if due else "it writes none of its marks if there is no file"


def _were_there(content: bytes, markers: tuple[Marker, ...]) -> bool:
    found = document(content)
    return any(_pair(found, one) != (0, 0) for one in markers)


def _block(marker: Marker) -> bytes:
    return bytes_of(f"{marker.begin}\na = 1\n{marker.end}\n")


def ends_of(found: Document, marker: Marker) -> tuple[Comment, ...]:
    """Returns the end markers. A generator may write one marker above its block and none below: then the begin
    markers."""
    return marker_lines(found, marker.end or marker.begin)


def _pair(found: Document, marker: Marker) -> tuple[int, int]:
    return len(marker_lines(found, marker.begin)), len(ends_of(found, marker))


def unbalanced(
    before: bytes, after: bytes, marker: Marker, *, due: bool, name: str = "afterwards"
) -> Iterator[CheckFault]:
    found = document(after)
    begins, ends = marker_lines(found, marker.begin), ends_of(found, marker)
    diff = difference(before, after)
    what = f"{name}: {marker.begin!r} occurs {len(begins)} times, its end {len(ends)} times"
    if not begins and not ends and due:
        reason = _where_else(document(before), found, marker)
        yield CheckFault(reason=reason, saw=f"{what} ({reason})", diff=diff)
    elif len(begins) != len(ends):
        yield CheckFault(reason="orphan-mark", saw=what, diff=diff)
    elif len(begins) > 1:
        yield CheckFault(reason="two-blocks", saw=what, diff=diff)
    elif begins and begins[0].start > ends[0].start:
        yield CheckFault(reason="marks-reversed", saw=f"{name}: the end comes before the beginning", diff=diff)


def _where_else(before: Document, after: Document, marker: Marker) -> str:
    """Returns the reason if no marker has a line of its own: it may be inside a string or an array of the user's."""

    def swallowed(found: Document) -> int:
        text = marker.begin.strip()
        return sum(found.text.count(text, one.start, one.end) for one in found.strings)

    if swallowed(after) > swallowed(before):
        return "inside-a-string"
    inside = any(one.place == "inside" and one.text.strip() == marker.begin.strip() for one in after.comments)
    return "spliced-into-array" if inside else NO_MARKS


def _control(block: bytes, marker: Marker) -> Control:
    """Checks the generator's own block without its end, without its beginning, twice, and inside a string."""
    found = document(block)
    marks = {"beginning": marker_lines(found, marker.begin)[0], "end": ends_of(found, marker)[0]}
    wrong = {
        **{f"without its {name}": _cut(block, mark) for name, mark in marks.items()},
        "twice": block + b"\n" + block,
        "inside a string": b"codexsandbox = '''\n" + block + b"\n'''\n",
    }

    def fails(text: bytes) -> bool:
        return any(unbalanced(b"", text, marker, due=True))

    noticed = [Control(f"the block {how} is noticed", fails(text)) for how, text in wrong.items()]
    return all_hold([*noticed, Control("the block alone passes", not fails(block))])


def _cut(block: bytes, mark: Comment) -> bytes:
    return without(block, mark.start, mark.end)
