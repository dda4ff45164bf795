"""P2, the half that needs no Codex: what was written is TOML 1.1."""

from collections.abc import Iterator

from pytest_codexsandbox.generators.checks import seen
from pytest_codexsandbox.generators.checks.found import (
    Control,
    Fault,
    all_hold,
    difference,
    findings,
    of_first_run,
    skipped,
)
from pytest_codexsandbox.generators.checks.lines import bytes_of, document
from pytest_codexsandbox.generators.checks.owning import own, written_alone
from pytest_codexsandbox.generators.checks.reading import Reading, read, written
from pytest_codexsandbox.model.generator import Declaration, Finding, Marker, Story

CLAIM = "what was written is TOML 1.1"
DECLINED = "a file that is no TOML is left alone, or repaired"


def parses(story: Story, declaration: Declaration) -> tuple[Finding, ...]:
    before = seen.text_before(story)
    claim = CLAIM if read(before).loads else DECLINED
    why = _cannot(story, loads=read(before).loads)
    if why:
        return skipped(claim, why)
    markers = own(story, declaration).markers
    after = seen.results(story)
    return findings(
        claim,
        of_first_run(_broken(story, one, markers) for one in after),
        control=_control(after[-1].content, markers, before),
        saw="left as it was" if seen.untouched(story) else f"{len(read(after[-1].content).data)} keys at the root",
    )


def _cannot(story: Story, *, loads: bool) -> str:
    if not loads and not written_alone(story) and seen.untouched(story):
        return "it writes no file, and has left the broken one alone"
    if seen.before(story).kind == "missing" and all(one.state.kind == "missing" for one in seen.results(story)):
        return "there is no file, and none was written"
    why = seen.not_asked(story)
    return "" if why and not loads and seen.refused(story.first) else why


def _broken(story: Story, after: seen.After, markers: tuple[Marker, ...]) -> Iterator[Fault]:
    before = seen.text_before(story)
    if not read(before).loads and after.content == before:
        if not seen.refused(story.runs[after.run - 1]):
            saw = f"{after.name}: exit 0, and the file is still broken: {read(before).fault}"
            yield Fault(reason="broken-and-accepted", saw=saw)
        return
    yield from spoilt(before, after.content, markers, after.name)


def spoilt(before: bytes, after: bytes, markers: tuple[Marker, ...], name: str = "afterwards") -> Iterator[Fault]:
    reading = read(after)
    if not reading.loads:
        reason = "spliced-into-array" if _in_array(after, markers) else reading.reason
        what = f"{reading.fault} ({reading.place or 'whole file'})"
        yield Fault(reason=reason, saw=f"{name}: {what}{_key_at(after, reading)}", diff=difference(before, after))


def _in_array(content: bytes, markers: tuple[Marker, ...]) -> bool:
    """A comment inside of brackets that is the line of a marker: the block was put into somebody's array."""
    found = document(content)
    texts = {text.strip() for marker in markers for text in (marker.begin, marker.end)}
    return any(one.place == "inside" and one.text.strip() in texts for one in found.comments)


def _key_at(content: bytes, reading: Reading) -> str:
    found = document(content)
    words = reading.place.replace(",", "").split()
    if len(words) < 2 or not words[1].isdigit():
        return ""
    offset = sum(len(line) for line in found.text.splitlines(keepends=True)[: int(words[1]) - 1])
    statement = found.at(offset)
    return f" at {written(statement.path)}" if statement and statement.path else ""


def _control(after: bytes, markers: tuple[Marker, ...], before: bytes) -> Control:
    """This file with a line that is none, and with one of its keys written twice."""
    good = next(one for one in (after, before, b"a = 1\n") if read(one).loads)
    return all_hold((
        Control("a line without a key is noticed", any(spoilt(b"", good + b"\n= no key\n", markers))),
        Control("a key that is written twice is noticed", any(spoilt(b"", _twice(good), markers))),
        Control("a file that is in order passes", not any(spoilt(b"", good, markers))),
    ))  # fmt: skip


def _twice(content: bytes) -> bytes:
    """The first key stands there again, in the same table."""
    found = document(content)
    key = next((one for one in found.statements if one.kind == "key"), None)
    if key is None:
        return b"a = 1\na = 1\n"
    line = found.text[key.start : key.end].rstrip("\r\n")
    return bytes_of(f"{found.text[: key.start]}{line}\n{line}\n{found.text[key.end :]}")
