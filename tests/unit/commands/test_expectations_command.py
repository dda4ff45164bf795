"""`codexsandbox expectations update`: the file that a person keeps, changed as little as can be."""

import datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.cli import main
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.journal.store import JournalWriter
from pytest_codexsandbox.matrix.expectation_files import load
from pytest_codexsandbox.matrix.plan import digest
from pytest_codexsandbox.model.journal_lines import CellRow, EndLine, PlanLine, ResultLine, RunLine
from pytest_codexsandbox.model.ledger import count
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from tests.unit.matrix.builders import plan, record

pytestmark = pytest.mark.usefixtures("results_without_basis")

PLAN = plan()
OUTSIDE = "filesystem.outside-refused"
OLD = """# what we know, and talked about on Monday
[[deviation]]
id = "old"
promise = "filesystem.outside-refused"
direction = "leak"
where = {}
reason = "as ever"   # really
issue = "https://example.org/7"
owner = "somebody"
until = 2030-01-01

# this one is for another machine
[[deviation]]
id = "elsewhere"
promise = "filesystem.outside-refused"
direction = "leak"
where = { distro = "fedora-43" }
reason = "no reason here"
issue = "https://example.org/8"
owner = "somebody else"
until = 2030-01-01
"""


def journal(folder: Path, *records: Record, ended: bool = True) -> Path:
    """Of a run in which everything else conforms."""
    rows = tuple(
        CellRow(id=one.id, environment=one.environment.id, subject=one.subject.label, axes=one.axes)
        for one in PLAN.cells
    )
    written = JournalWriter.open(folder, RunLine(id="r", started="2026-11-18T09:41:00Z"))
    written.write(PlanLine(digest=digest(PLAN), cells=rows, promises=(), keys=PLAN.keys))
    states = {key: record(key) for key in PLAN.keys} | {one.key: one for one in records}
    for one in states.values():
        written.write(ResultLine.of(one))
    if ended:
        counts = count(states.values())
        written.write(EndLine(finished="2026-11-18T09:42:00Z", exit=1, reasons=("1 2 violated",), counts=counts))
    written.close()
    return folder


def update(*words: object) -> int:
    return main(["expectations", "update", *map(str, words), "--today", "2026-11-18"])


def violated(policy: str = "", **changed: Any) -> list[Record]:
    chosen = [key for key in PLAN.keys if key.promise == OUTSIDE and policy in ("", key.policy)]
    return [record(key, Verdict.VIOLATES, reason="it wrote", **changed) for key in chosen]


def test_entries_are_printed_with_owner_and_issue_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert update(journal(tmp_path / "run", *violated("read-only"))) == 0
    file = tmp_path / "known.toml"
    file.write_text(capsys.readouterr().out)
    with pytest.raises(InputError, match="owner is empty"):
        load((file,))
    file.write_text(file.read_text().replace('owner = ""', 'owner = "me"').replace('issue = ""', 'issue = "here"'))
    (found,) = load((file,), promises=(OUTSIDE,))
    assert found.where["policy"] == "read-only"
    assert (found.direction, found.reason) == ("leak", "it wrote")
    assert found.until == datetime.date(2026, 11, 18) + datetime.timedelta(days=180)


def test_a_new_file_is_made(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    update(journal(tmp_path / "run", *violated()), "-o", file)
    assert file.read_text().count("[[deviation]]") == 1


def test_nothing_violated_leaves_a_file_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_text(OLD)
    update(journal(tmp_path / "run"), "-o", file)
    assert file.read_text() == OLD


def test_new_expectations_come_below_and_comments_stay(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_text(OLD)
    update(journal(tmp_path / "run", *violated()), "-o", file)
    assert file.read_text().startswith(OLD)
    assert 'id = "filesystem-outside-refused"' in file.read_text()


def test_one_that_is_healed_is_taken_out(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_text(OLD)
    healed = [
        record(key, Verdict.STALE, deviation="old", reason="it holds") for key in PLAN.keys if key.promise == OUTSIDE
    ]
    update(journal(tmp_path / "run", *healed), "-o", file)
    assert '"old"' not in file.read_text()
    assert '"elsewhere"' in file.read_text()
    assert "on Monday" in file.read_text()


def test_one_that_said_too_much_is_narrowed_and_keeps_what_people_wrote(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_text(OLD)
    seen = [
        record(key, Verdict.EXPECTED, direction="leak", deviation="old")
        if key.policy == "read-only"
        else record(key, Verdict.STALE, deviation="old")
        for key in PLAN.keys
        if key.promise == OUTSIDE
    ]
    update(journal(tmp_path / "run", *seen), "-o", file)
    elsewhere, narrowed = load((file,), promises=(OUTSIDE,))
    assert elsewhere.id == "elsewhere"
    assert narrowed.where["policy"] == "read-only"
    assert (narrowed.owner, narrowed.issue, narrowed.reason) == ("somebody", "https://example.org/7", "as ever")


def test_one_that_is_only_expired_is_left_to_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_text(OLD)
    expired = [
        record(key, Verdict.STALE, direction="leak", deviation="old") for key in PLAN.keys if key.promise == OUTSIDE
    ]
    update(journal(tmp_path / "run", *expired), "-o", file)
    assert file.read_text() == OLD


def test_an_incomplete_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert update(journal(tmp_path / "run", *violated(), ended=False)) == 4
    assert "incomplete" in capsys.readouterr().err


def test_a_file_that_is_no_toml_is_refused_and_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "known.toml"
    file.write_text("[[deviation]\n")
    assert update(journal(tmp_path / "run", *violated()), "-o", file) == 4
    assert f"{file}:1:" in capsys.readouterr().err
    assert file.read_text() == "[[deviation]\n"


def test_a_folder_that_cannot_be_written_is_one_clear_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert update(journal(tmp_path / "run", *violated()), "-o", tmp_path / "none" / "known.toml") == 4
    assert "cannot write" in capsys.readouterr().err
