"""A journal of schema 2 that was changed after it was written is refused, with the first wrong line."""

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_codexsandbox.errors import Contradiction, InputError
from pytest_codexsandbox.journal import store
from pytest_codexsandbox.journal.references import FLOOR, digest_of
from pytest_codexsandbox.journal.running_sum import resealed
from pytest_codexsandbox.model.journal_lines import EndLine
from tests.unit.journal.builders import lines as golden
from tests.unit.journal.builders import read as read_back
from tests.unit.reports import builders

Lines = list[bytes]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    first, *rest, end = builders.lines_of(builders.red())
    writer = store.JournalWriter.open(tmp_path_factory.mktemp("run"), first)  # type: ignore[arg-type]
    for line in rest:
        writer.write(line)
    writer.write_end(end)  # type: ignore[arg-type]
    writer.close()
    return writer.path


@pytest.fixture(scope="module")
def lines(path: Path) -> Lines:
    return path.read_bytes().splitlines(keepends=True)


def _refused(folder: Path, content: bytes) -> InputError:
    changed = folder / "changed.ndjson"
    changed.write_bytes(content)
    with pytest.raises(InputError) as caught:
        store.read(changed)
    return caught.value


def _line_of(error: InputError) -> int:
    return int(error.where.rpartition("line ")[2])


EDITS: dict[str, Callable[[Lines, int], tuple[Lines, int]]] = {
    "removed": lambda lines, at: ([*lines[:at], *lines[at + 1 :]], at + 1),
    "inserted": lambda lines, at: ([*lines[:at], lines[1], *lines[at:]], at + 1),
    "blank line": lambda lines, at: ([*lines[:at], b"\n", *lines[at:]], at + 1),
    "moved": lambda lines, at: ([*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]], at + 1),
    "formatted": lambda lines, at: ([*lines[:at], lines[at].replace(b'":', b'": ', 1), *lines[at + 1 :]], at + 1),
    "its sum removed": lambda lines, at: (
        [*lines[:at], lines[at][: lines[at].rindex(b',"sum"')] + b"}\n", *lines[at + 1 :]],
        at + 1,
    ),
}


@pytest.mark.parametrize("kind", EDITS)
def test_the_first_wrong_line_is_named(tmp_path: Path, lines: Lines, kind: str) -> None:
    for at in (2, 3, len(lines) // 2, len(lines) - 2):
        edited, wrong = EDITS[kind](lines, at)
        error = _refused(tmp_path, b"".join(edited))
        assert isinstance(error, Contradiction) and "sum" in error.why
        assert _line_of(error) == wrong


@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from((b"", b"x", b'"', b"\n", b"0", b"}")), st.booleans())
def test_one_byte_more_or_less_or_another_one_is_noticed(
    tmp_path: Path, lines: Lines, place: int, byte: bytes, inserted: bool
) -> None:
    content = b"".join(lines)
    place %= len(content) - 3  # a file that stops in its last line is one of a killed run
    edited = content[:place] + byte + content[place + (not inserted) :]
    if edited != content:
        changed = tmp_path / "changed.ndjson"
        changed.write_bytes(edited)
        try:
            read = store.read(changed)
        except InputError:
            return
        assert read.end is None and read.torn  # its last line is no JSON any more: the run counts as incomplete


def test_a_killed_run_is_read_up_to_its_last_whole_line(tmp_path: Path, lines: Lines) -> None:
    content = b"".join(lines)
    plan = next(place for place, line in enumerate(lines) if line.startswith(b'{"line":"plan"'))
    start = len(b"".join(lines[: plan + 1]))
    for end in range(start, len(content) - 2, 37):
        cut = tmp_path / "cut.ndjson"
        cut.write_bytes(content[:end])
        read = store.read(cut)
        whole = content[end - 1 : end] == b"\n" or content[end : end + 1] == b"\n"
        assert read.end is None and bool(read.torn) is not whole


def test_an_end_that_is_replaced_has_a_sum_that_fits(tmp_path: Path) -> None:
    first, *rest = builders.lines_of(builders.red())
    writer = store.JournalWriter.open(tmp_path, first)  # type: ignore[arg-type]
    for line in rest[:-1]:
        writer.write(line)
    for code in (0, 1, 11):
        writer.write_end(EndLine(finished="", exit=code, reasons=(), counts={}))
        end = store.read(writer.path).end
        assert end is not None and end.exit == code
    writer.close()


# ---- edits by an author who computes all sums again: what is left is what a part and a reference say
def _part_at(lines: Lines) -> int:
    return next(place for place, line in enumerate(lines) if line.startswith(b'{"line":"part"') and b"conforms" in line)


def test_sums_that_are_computed_again_are_believed(tmp_path: Path, lines: Lines, path: Path) -> None:
    again = tmp_path / "again.ndjson"
    again.write_bytes(resealed(lines))
    assert again.read_bytes() == path.read_bytes()


def test_a_part_that_does_not_fit_its_id_is_refused(tmp_path: Path, lines: Lines) -> None:
    at = _part_at(lines)
    edited = [*lines[:at], lines[at].replace(b"conforms", b"violates"), *lines[at + 1 :]]
    error = _refused(tmp_path, resealed(edited))
    assert isinstance(error, Contradiction) and f"part {msgspec.json.decode(lines[at])['id']} " in error.why
    assert _line_of(error) == at + 1


def test_a_part_that_is_missing_is_refused_where_it_is_needed(tmp_path: Path, lines: Lines) -> None:
    at = _part_at(lines)
    name = msgspec.json.decode(lines[at])["id"]
    rest = [*lines[:at], *lines[at + 1 :]]
    first = next(place for place, line in enumerate(rest) if f'"{name}"'.encode() in line)
    error = _refused(tmp_path, resealed(rest))
    assert isinstance(error, Contradiction) and name in error.why
    assert _line_of(error) == first + 1


def test_a_part_behind_the_line_that_needs_it_is_refused(tmp_path: Path, lines: Lines) -> None:
    at = _part_at(lines)
    error = _refused(tmp_path, resealed([*lines[:at], *lines[at + 1 : -1], lines[at], lines[-1]]))
    assert isinstance(error, Contradiction) and error.why.endswith(f"the part {msgspec.json.decode(lines[at])['id']}")


def test_an_argument_that_is_missing_is_refused(tmp_path: Path, lines: Lines) -> None:
    at = next(place for place, line in enumerate(lines) if line.startswith(b'{"line":"call"'))
    bare = lines[at][: lines[at].index(b',"args":')] + lines[at][lines[at].rindex(b',"sum"') :]
    error = _refused(tmp_path, resealed([*lines[:at], bare, *lines[at + 1 :]]))
    assert isinstance(error, Contradiction) and "args" in error.why
    assert _line_of(error) == at + 1


@pytest.mark.parametrize("value", [b"1", b'"text"', b"[1]"])
def test_parts_of_two_kinds_cannot_be_joined(tmp_path: Path, lines: Lines, value: bytes) -> None:
    at = next(place for place, line in enumerate(lines) if line.startswith(b'{"line":"call"'))
    name = digest_of(value)[:12].encode()
    part = b'{"line":"part","id":"%s","value":%s}' % (name, value)
    call = lines[at].replace(b'"observation":{"$":[', b'"observation":{"$":["%s",' % name)
    error = _refused(tmp_path, resealed([*lines[:at], part, call, *lines[at + 1 :]]))
    assert isinstance(error, Contradiction) and "joins parts" in error.why


def test_keys_that_do_not_fit_the_plans_digest_are_refused(tmp_path: Path, lines: Lines) -> None:
    at = next(place for place, line in enumerate(lines) if line.startswith(b'{"line":"plan"'))
    plan = msgspec.json.decode(lines[at])
    changes: tuple[dict[str, object], ...] = ({"keys_digest": "0" * 64}, {"keys_digest": ""}, {"keys": []})
    for change in changes:
        edited = msgspec.json.encode({**plan, **change})
        error = _refused(tmp_path, resealed([*lines[:at], edited, *lines[at + 1 :]]))
        assert isinstance(error, Contradiction) and "keys" in error.what
        assert _line_of(error) == at + 1


def test_a_line_that_the_end_did_not_count_is_refused(tmp_path: Path, lines: Lines) -> None:
    at = next(place for place, line in enumerate(lines) if line.startswith(b'{"line":"result"'))
    error = _refused(tmp_path, resealed([*lines[:at], *lines[at + 1 :]]))
    count = sum(line.startswith(b'{"line":"result"') for line in lines)
    assert isinstance(error, Contradiction) and f"{count} result, not {count - 1}" in error.why
    assert _line_of(error) == len(lines) - 1


def test_a_journal_that_calls_itself_schema_1_is_not_read_without_its_sums(tmp_path: Path, lines: Lines) -> None:
    edited = [lines[0].replace(b'"schema":2', b'"schema":1'), *lines[1:]]
    error = _refused(tmp_path, b"".join(edited))
    assert isinstance(error, Contradiction) and _line_of(error) == 1


# ---- lines that no run writes
def _before_the_plan(lines: Lines) -> Lines:
    return [*lines[: next(place for place, line in enumerate(lines) if line.startswith(b'{"line":"plan"'))]]


@pytest.mark.parametrize("value", [b"[" * 100_000 + b"]" * 100_000, b'{"#":[0,%s]}' % (b"9" * 5_000)], ids=len)
def test_a_value_that_cannot_be_taken_apart_is_refused_with_its_line(
    tmp_path: Path, lines: Lines, value: bytes
) -> None:
    first = _before_the_plan(lines)
    error = _refused(tmp_path, resealed([*first, b'{"line":"plan","x":%s}' % value]))
    assert _line_of(error) == len(first) + 1
    error = _refused(tmp_path, resealed([*first, b'{"line":"plan","plain":true,"x":%s}' % value, lines[-1]]))
    assert _line_of(error) == len(first) + 1


def _doubling(value: bytes, times: int) -> Iterator[bytes]:
    """Yields parts, each with twice the value of the one before it, and then the id of the last one."""
    for _ in range(times):
        name = digest_of(value)[:12].encode()
        yield b'{"line":"part","id":"%s","value":%s}' % (name, value)
        value = b'{"$":["%s","%s"]}' % (name, name)
    yield name


@pytest.mark.parametrize("value", ['["many letters"]', '["⟦1⟧"]', '[{"#":[0,0]}]'], ids=len)
@pytest.mark.parametrize("wraps", [b"%s", b"[%s,%s]"], ids=len)
def test_a_short_file_that_describes_a_huge_one_is_refused(
    tmp_path: Path, lines: Lines, value: str, wraps: bytes
) -> None:
    first = _before_the_plan(lines)
    *parts, last = _doubling(value.encode(), 40)
    reference = b'{"$":["%s"]}' % last
    reference = wraps % ((reference,) * wraps.count(b"%"))
    plan = b'{"line":"plan","x":%s,"args":[[1],"%s"]}' % (reference, b"y" * 200)
    content = resealed([*first, *parts, plan])
    assert len(content) < 20_000  # bytes
    tracemalloc.start()
    try:
        error = _refused(tmp_path, content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "larger" in error.what and peak < 4 * FLOOR
    assert len(first) < _line_of(error) <= len(first) + 41


def test_a_first_line_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    assert _line_of(_refused(tmp_path, b'{"line":"run","x":%s%s}' % (b"[" * 100_000, b"]" * 100_000))) == 1


@pytest.mark.parametrize("more", [b'{"line":"result","ve', b"x", b"\n", b"\xff"], ids=repr)
def test_half_a_line_behind_the_end_is_refused(tmp_path: Path, lines: Lines, more: bytes) -> None:
    assert lines[-1].startswith(b'{"line":"end"')
    assert _line_of(_refused(tmp_path, b"".join([*lines, more]))) == len(lines) + 1


def test_half_a_line_behind_the_end_is_refused_in_schema_1(tmp_path: Path) -> None:
    path = tmp_path / "j.ndjson"
    read_back(golden("generators"), path)
    content = path.read_bytes()
    error = _refused(tmp_path, content + b'{"line":"result","ve')
    assert _line_of(error) == content.count(b"\n") + 1
