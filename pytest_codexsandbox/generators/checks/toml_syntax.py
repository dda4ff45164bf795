"""P2, the half that needs no Codex: the generator wrote TOML 1.1."""

from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator

from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.checks.codex_toml import ParsedConfig, Path, at_fault, read, written
from pytest_codexsandbox.generators.checks.findings import (
    CheckFault,
    Control,
    all_hold,
    as_findings,
    difference,
    listed,
    of_first_run,
    skipped,
)
from pytest_codexsandbox.generators.checks.ownership import Ownership, own, written_alone
from pytest_codexsandbox.generators.checks.toml_lexer import Statement, bytes_of, document, text_of
from pytest_codexsandbox.model.generator import CaseRun, Declaration, Finding, Marker

CLAIM = "the written file is TOML 1.1"
DECLINED = "a file that is not TOML is left unchanged, or repaired"


def parses(case_run: CaseRun, declaration: Declaration) -> tuple[Finding, ...]:
    before = case_view.text_before(case_run)
    claim = CLAIM if read(before).loads else DECLINED
    why = _cannot(case_run, loads=read(before).loads)
    if why:
        return skipped(claim, why)
    markers = own(case_run, declaration).markers
    after = case_view.results(case_run)
    faults = of_first_run(_broken(case_run, one, markers) for one in after)
    controls = [_control(after[-1].content, markers, before)]
    if not read(before).loads:
        ownership = own(case_run, declaration)
        faults = faults or of_first_run(wiped(before, one.content, ownership, one.name) for one in after)
        noticed = any(wiped(before, b"# empty\n", ownership)) or not _users(_as_utf_8(before), ownership)
        controls.append(Control("an emptied file is noticed", noticed))
    return as_findings(
        claim,
        faults,
        control=all_hold(controls),
        saw="left as it was"
        if case_view.untouched(case_run)
        else f"{len(read(after[-1].content).data)} keys at the root",
    )


def _cannot(case_run: CaseRun, *, loads: bool) -> str:
    if not loads and not written_alone(case_run) and case_view.untouched(case_run):
        return "it writes no file, and left the broken one unchanged"
    if case_view.before(case_run).kind == "missing" and all(
        one.state.kind == "missing" for one in case_view.results(case_run)
    ):
        return "there is no file, and none was written"
    why = case_view.not_asked(case_run)
    return "" if why and not loads and case_view.refused(case_run.first) else why


def _broken(case_run: CaseRun, after: case_view.StateAfterRun, markers: tuple[Marker, ...]) -> Iterator[CheckFault]:
    before = case_view.text_before(case_run)
    if not read(before).loads and after.content == before:
        if not case_view.refused(case_run.runs[after.run - 1]):
            saw = f"{after.name}: exit 0, and the file is still broken: {read(before).fault}"
            yield CheckFault(reason="broken-and-accepted", saw=saw)
        return
    yield from spoilt(before, after.content, markers, after.name)


def spoilt(before: bytes, after: bytes, markers: tuple[Marker, ...], name: str = "afterwards") -> Iterator[CheckFault]:
    reading = read(after)
    if not reading.loads:
        reason = "spliced-into-array" if _in_array(after, markers) else reading.reason
        what = f"{reading.fault} ({reading.place or 'whole file'})"
        yield CheckFault(reason=reason, saw=f"{name}: {what}{_key_at(after, reading)}", diff=difference(before, after))


def wiped(before: bytes, after: bytes, ownership: Ownership, name: str = "afterwards") -> Iterator[CheckFault]:
    """Yields a fault if keys of the user's are gone from a broken file. A repair may drop what broke the file. Every
    other key must still be there: in its table, or elsewhere if another block had captured it."""
    there = {one.path[-1:] for one in document(after).statements}
    gone = [written(path) for path in _users(_as_utf_8(before), ownership) if path[-1:] not in there]
    if gone and after != before:
        saw = f"{name}: the file was broken, and the user's text is gone: {listed(gone)}"
        yield CheckFault(reason="broken-and-wiped", saw=saw, diff=difference(before, after))


def _users(broken: bytes, ownership: Ownership) -> list[Path]:
    """Returns the user's keys, except for the one at which the parser stopped."""
    found = document(broken)
    spared, blocks = _statement_at(broken, read(broken)), ownership.inside(found)
    return [
        one.path
        for one in found.statements
        if one.kind == "key"
        and one != spared
        and not ownership.owns(one.path)
        and not any(start <= one.start < end for start, end in blocks)
    ]


def _as_utf_8(content: bytes) -> bytes:
    """Converts UTF-16, which Codex cannot read and a generator may have converted."""
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return content.decode("utf-16", "replace").encode()
    return content


def _in_array(content: bytes, markers: tuple[Marker, ...]) -> bool:
    """Checks for a marker line inside brackets: the block was put into an array."""
    found = document(content)
    texts = {text.strip() for marker in markers for text in (marker.begin, marker.end)}
    return any(one.place == "inside" and one.text.strip() in texts for one in found.comments)


def _key_at(content: bytes, reading: ParsedConfig) -> str:
    statement = _statement_at(content, reading)
    return f" at {written(statement.path)}" if statement and statement.path else ""


def _statement_at(content: bytes, reading: ParsedConfig) -> Statement | None:
    """Returns the statement at which the parser stopped."""
    return at_fault(text_of(content).removeprefix("\ufeff"), reading.place)


def _control(after: bytes, markers: tuple[Marker, ...], before: bytes) -> Control:
    """Checks this file with a line that is no statement, and with one of its keys written twice."""
    good = next(one for one in (after, before, b"a = 1\n") if read(one).loads)
    return all_hold(
        (
            Control("a line without a key is noticed", any(spoilt(b"", good + b"\n= no key\n", markers))),
            Control("a key that is written twice is noticed", any(spoilt(b"", _twice(good), markers))),
            Control("a valid file passes", not any(spoilt(b"", good, markers))),
        )
    )


def _twice(content: bytes) -> bytes:
    """Repeats the first key in the same table."""
    found = document(content)
    key = next((one for one in found.statements if one.kind == "key"), None)
    if key is None:
        return b"a = 1\na = 1\n"
    line = found.text[key.start : key.end].rstrip("\r\n")
    return bytes_of(f"{found.text[: key.start]}{line}\n{line}\n{found.text[key.end :]}")
