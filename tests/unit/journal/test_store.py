"""The journal: what was written is read back, and what no run can have written is refused with its line."""

import errno
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.journal import store
from pytest_codexsandbox.model.journal_lines import EnvironmentLine
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.verdict import Verdict
from tests.unit.reports import builders, container_builders

pytestmark = pytest.mark.usefixtures("results_without_basis")

Edit = Callable[[list[bytes]], list[bytes]]


def written(folder: Path, made: ReadJournal) -> Path:
    first, *rest = builders.lines_of(made)
    writer = store.JournalWriter.open(folder, first)  # type: ignore[arg-type]
    for line in rest:
        writer.write(line)
    writer.close()
    assert not writer.fault
    return writer.path


def spoiled(folder: Path, edit: Edit) -> Path:
    """A journal of schema 1, which has neither parts nor sums: each line stands for itself."""
    path = folder / store.FILE
    path.write_bytes(b"".join(edit([msgspec.json.encode(line) + b"\n" for line in builders.lines_of(builders.red())])))
    return path


def index_of(lines: list[bytes], kind: str) -> int:
    return next(place for place, line in enumerate(lines) if json.loads(line)["line"] == kind)


def changed(line: bytes, /, **members: Any) -> bytes:
    return json.dumps(json.loads(line) | members).encode() + b"\n"


@pytest.mark.parametrize("kind", sorted(container_builders.KINDS))
def test_a_written_journal_is_read_back(tmp_path: Path, kind: str) -> None:
    made = container_builders.KINDS[kind]()
    read = store.read(written(tmp_path, made))
    assert read.run == msgspec.structs.replace(made.run, schema=2, product=builders.OLD)
    assert read.plan == made.plan
    assert read.records == made.records
    assert read.end == made.end
    assert read.states() == made.states()


def test_a_folder_means_the_journal_in_it(tmp_path: Path) -> None:
    written(tmp_path, builders.green())
    assert store.read(tmp_path).counts() == builders.green().counts()


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = written(tmp_path / "new" / "folder", builders.green())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_every_line_is_on_the_disk_as_soon_as_it_is_written(tmp_path: Path) -> None:
    run, plan, *_ = builders.lines_of(builders.green())
    writer = store.JournalWriter.open(tmp_path, run)  # type: ignore[arg-type]
    writer.write(plan)
    read = store.read(writer.path)  # nobody has closed it: so it looks after SIGKILL
    assert {record.verdict for record in read.states().values()} == {Verdict.BROKEN}
    assert read.end is None
    writer.close()
    writer.close()


def test_a_second_journal_in_one_folder_is_refused(tmp_path: Path) -> None:
    written(tmp_path, builders.green())
    with pytest.raises(InputError, match="cannot be written"):
        written(tmp_path, builders.green())


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="cannot be written") as caught:
        written(tmp_path / "file", builders.green())
    assert "--codex-report-dir" in str(caught.value)


def test_a_link_in_place_of_the_journal_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / store.FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError):
        written(tmp_path, builders.green())
    assert not (tmp_path / "elsewhere").exists()


class FullDisk:
    """os.write that gets `room` bytes down, then fails; freed again by setting `room`."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.write = os.write

    def __call__(self, descriptor: int, data: bytes) -> int:
        if self.room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fits = data[: self.room]
        self.room -= len(fits)
        return self.write(descriptor, fits)


def test_a_full_disk_ends_neither_the_run_nor_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = builders.lines_of(builders.green())
    writer = store.JournalWriter.open(tmp_path, lines[0])  # type: ignore[arg-type]
    for line in lines[1:20]:
        writer.write(line)
    disk = FullDisk(room=100)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", disk)
        writer.write(lines[20])
        writer.write(lines[21])
        assert "No space left" in writer.fault
        assert writer.lost == 2
        disk.room = 1_000_000
        writer.write(lines[22])
    writer.close()
    read = store.read(writer.path)
    assert not read.torn
    assert (
        len(read.records) == 22 - lines.index(next(line for line in lines if type(line).__name__ == "ResultLine")) - 1
    )
    assert read.counts()["broken"] == len(read.plan.keys) - len(read.records)


def test_a_disk_that_cannot_even_sync_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = store.JournalWriter.open(tmp_path, builders.green().run)

    def failing(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", failing)
    writer.sync()
    assert "synced" in writer.fault
    writer.close()


def test_a_likely_credential_is_not_written(tmp_path: Path) -> None:
    token = "gh" + "p_0123456789abcdefABCDEF0123456789abcd"
    made = builders.journal(
        [builders.violation(key, reason=f"it said\n{token}") for key in builders.keys_of([builders.cell()])[:2]]
    )
    path = written(tmp_path, made)
    assert token not in path.read_text()
    assert "[redacted]" in store.read(path).records[0].reason


def test_facts_of_any_kind_and_names_that_are_not_utf8_can_be_written(tmp_path: Path) -> None:
    writer = store.JournalWriter.open(tmp_path, builders.green().run)
    writer.write(builders.green().plan)
    facts = {"name": os.fsdecode(b"caf\xe9"), "path": Path("/x"), "set": {1}, "deep": [{os.fsdecode(b"\xff"): ("a",)}]}
    writer.write(EnvironmentLine(id="e", spec="x", facts=facts))
    writer.close()
    assert store.read(writer.path).environments[0].facts["name"] == "caf\\udce9"


def test_a_check_ruled_out_by_data_is_not_broken_by_an_interruption(tmp_path: Path) -> None:
    whole = builders.green()
    first, *others = whole.plan.keys
    plan = msgspec.structs.replace(whole.plan, not_applicable={str(first): "needs a resolver of ours"})
    states = store.read(written(tmp_path, msgspec.structs.replace(whole, plan=plan, records=(), end=None))).states()
    assert (states[first].verdict, states[first].reason) == (Verdict.NOT_APPLICABLE, "needs a resolver of ours")
    assert {states[key].verdict for key in others} == {Verdict.BROKEN}


def test_a_torn_last_line_is_kept_as_such(tmp_path: Path) -> None:
    path = spoiled(tmp_path, lambda lines: [*lines[:-1], lines[-1][:40]])
    read = store.read(path)
    assert read.torn.startswith("line ")
    assert read.end is None
    assert len(read.states()) == len(read.plan.keys)


def test_a_journal_that_stops_in_its_head_is_still_called_a_journal(tmp_path: Path) -> None:
    path = spoiled(tmp_path, lambda lines: [lines[0][:60]])
    with pytest.raises(InputError, match="has no plan") as caught:
        store.read(path)
    assert caught.value.where.startswith(str(path)) and "first line" in caught.value.why


def test_a_last_line_without_its_line_end_is_whole(tmp_path: Path) -> None:
    path = spoiled(tmp_path, lambda lines: [*lines[:-1], lines[-1].rstrip()])
    assert store.read(path).end is not None


def repeat_result(lines: list[bytes]) -> list[bytes]:
    place = index_of(lines, "result")
    return [*lines[:place], lines[place], *lines[place:]]


def strange_promise(lines: list[bytes]) -> list[bytes]:
    place = index_of(lines, "result")
    line = json.loads(lines[place])
    line["promise"] = line["record"]["key"]["promise"] = "filesystem.never-planned"
    return [*lines[:place], changed(lines[place], **line), *lines[place + 1 :]]


def contradiction(lines: list[bytes]) -> list[bytes]:
    place = index_of(lines, "result")
    return [*lines[:place], changed(lines[place], verdict="violates"), *lines[place + 1 :]]


def key_twice(lines: list[bytes]) -> list[bytes]:
    keys = json.loads(lines[1])["keys"]
    return [lines[0], changed(lines[1], keys=[keys[0], *keys]), *lines[2:]]


def strange_cell(lines: list[bytes]) -> list[bytes]:
    return [lines[0], changed(lines[1], cells=[]), *lines[2:]]


def strange_reason(lines: list[bytes]) -> list[bytes]:
    return [lines[0], changed(lines[1], not_applicable={"nobody.planned-this": "why"}), *lines[2:]]


def insert(line: bytes) -> Edit:
    return lambda lines: [*lines[:3], line, *lines[3:]]


REFUSED: dict[str, tuple[Edit, str, int]] = {
    "empty": (lambda lines: [], "is empty", 0),
    "binary": (lambda lines: [b"\x7fELF\0\0", *lines], "not a journal", 0),
    "prose": (lambda lines: [b"hello\n"], "not a journal", 1),
    "not UTF-8": (lambda lines: [b'{"line": "caf\xe9"}\n'], "not a journal", 1),
    "a list": (lambda lines: [b"[1]\n"], "not a journal of codexsandbox", 1),
    "another program": (lambda lines: [b'{"$report_type": "SessionStart"}\n'], "not a journal of codexsandbox", 1),
    "truncated head": (lambda lines: lines[1:], "head of the journal is missing", 1),
    "a later schema": (lambda lines: [changed(lines[0], schema=3), *lines[1:]], "another version", 1),
    "a schema that is no number": (lambda lines: [changed(lines[0], schema="1"), *lines[1:]], "another version", 1),
    "no plan": (lambda lines: lines[:1], "has no plan", 0),
    "a second plan": (lambda lines: [*lines[:2], lines[1], *lines[2:]], "second plan", 3),
    "a second head": (lambda lines: [*lines[:2], lines[0], *lines[2:]], "second head", 3),
    "one key twice": (repeat_result, "one key and one attempt", 12),
    "a key twice in the plan": (key_twice, "names a key twice", 2),
    "a key of a cell that is not there": (strange_cell, "a cell that it does not have", 2),
    "a reason for a key that is not there": (strange_reason, "rules out a key that it does not have", 2),
    "a key that was not planned": (strange_promise, "never planned", 11),
    "a result before the plan": (lambda lines: [lines[0], lines[-2], *lines[1:]], "never planned", 2),
    "a result that contradicts its record": (contradiction, "contradicts", 11),
    "a line of another kind": (insert(b'{"line": "weather"}\n'), "cannot be understood", 4),
    "a broken line in the middle": (insert(b'{"line": \n'), "cannot be understood", 4),
    "a blank line": (insert(b"\n"), "cannot be understood", 4),
    "a verdict that does not exist": (
        lambda lines: [line.replace(b'"conforms"', b'"fine"') for line in lines], "cannot be understood", 11,
    ),
    "something after the end": (lambda lines: [*lines, lines[2]], "goes on after its end", 84),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_an_impossible_journal_is_refused(tmp_path: Path, kind: str) -> None:
    edit, message, number = REFUSED[kind]
    path = spoiled(tmp_path, edit)
    with pytest.raises(InputError, match=message) as caught:
        store.read(path)
    error = caught.value
    assert error.where == (f"{path}, line {number}" if number else str(path))
    assert error.why
    assert error.next_step


@pytest.mark.parametrize("name", ["missing.ndjson", "folder"])
def test_a_journal_that_cannot_be_opened_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="cannot be read") as caught:
        store.read(tmp_path / name)
    assert "No such file" in caught.value.why
