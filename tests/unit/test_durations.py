"""How long a cell takes, from the ends of earlier journals."""

from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.durations import GUESSED, Learned, Times, in_words, learn
from pytest_codexsandbox.model.journal import EndLine, Spent
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.step import Key
from pytest_codexsandbox.model.verdict import Verdict
from tests.unit.matrix.making import cell
from tests.unit.reports.journals import call


def spent(label: str = "0.163.0", seconds: float = 10.0, calls: int = 5, environment: str = "e1") -> Spent:
    return Spent(
        cell=f"{environment}~codex-{label}", environment=environment, subject=label, seconds=seconds, calls=calls
    )


def journal(folder: Path, name: str, *cells: Spent, text: str = "") -> None:
    (folder / name).mkdir(parents=True)
    end = EndLine(finished="", exit=0, reasons=(), counts={}, cells=cells)
    last = text.encode() if text else msgspec.json.encode(end)
    (folder / name / "journal.ndjson").write_bytes(b'{"line":"run"}\n' + last + b"\n")


def test_nothing_learned_is_a_guess(tmp_path: Path) -> None:
    found = learn(tmp_path / "none")
    assert found == Learned()
    assert found.expected(cell(), 4) == 4 * GUESSED


def test_a_call_takes_what_it_took_in_the_middle(tmp_path: Path) -> None:
    for number, seconds in enumerate((10.0, 20.0, 90.0)):
        journal(tmp_path, f"2026-11-1{number}", spent(seconds=seconds))
    found = learn(tmp_path)
    assert (found.runs, found.cells) == (3, {"e1~codex-0.163.0": 4.0})


def test_what_is_most_like_the_cell_is_believed(tmp_path: Path) -> None:
    ours = cell("0.163.0")
    here = ours.environment.id
    cells = (
        Spent(cell=ours.id, environment=here, subject="0.163.0", seconds=1.0, calls=1),
        spent("0.40.0", seconds=3.0, calls=1, environment=here), spent("0.163.0", seconds=9.0, calls=1),
    )  # fmt: skip
    journal(tmp_path, "a", *cells)
    found = learn(tmp_path)
    assert found.expected(ours, 2) == 2.0
    assert found.expected(cell("0.114.0"), 2) == 4.0  # its environment: the middle of 1 and 3
    assert found.expected(cell("0.163.0", id="other"), 1) == 5.0  # its Codex
    assert found.expected(cell("0.114.0", id="other"), 1) == 3.0  # whatever ran


@pytest.mark.parametrize(
    "text", ["", "{", '{"line":"end"}', '{"line":"result"}', '{"line":"end","finished":"","exit":0,"reasons":[],'
             '"counts":{}}', '["end"]', "\x00"],
)  # fmt: skip
def test_what_teaches_nothing_does_no_harm(tmp_path: Path, text: str) -> None:
    journal(tmp_path, "broken", text=text or "\n")
    journal(tmp_path, "good", spent())
    assert learn(tmp_path).runs == 1


def test_a_journal_that_is_still_written_or_was_killed_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "now").mkdir()
    (tmp_path / "now" / "journal.ndjson").write_bytes(b"")
    assert learn(tmp_path) == Learned()


def test_old_runs_are_forgotten(tmp_path: Path) -> None:
    for number in range(25):
        journal(tmp_path, f"2026-{number:02}", spent(seconds=100.0 if number < 5 else 10.0))
    assert (learn(tmp_path).runs, learn(tmp_path).any) == (20, 2.0)


def test_a_run_counts_the_time_of_items_and_the_calls_of_codex() -> None:
    one = cell()
    key = Key(cell=one.id, door="sandbox", policy="read-only", promise="start.is-on")
    times = Times()
    made = call(one.id, "read-only")
    calls = (made, msgspec.structs.replace(made, control=True), made)
    times.take("a", 1.0, calls, None)
    times.take("a", 0.5, (), Record(key=key, verdict=Verdict.CONFORMS))
    times.take("a", 9.0, (), None)  # after its result
    times.take("never ended", 9.0, (), None)
    found = times.spent((one, cell("0.40.0")))
    assert [(row.cell, row.seconds, row.calls) for row in found] == [(one.id, 1.5, 2)]


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 s"), (59.6, "60 s"), (95, "2 min"), (600, "10 min"), (7260, "2 h 01 min")]
)
def test_times_are_said_as_roughly_as_they_are_known(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
