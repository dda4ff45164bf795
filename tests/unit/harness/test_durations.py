"""How long a cell takes, from the ends of earlier journals."""

from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.harness.durations import (
    GUESSED,
    GUESSED_STORY,
    GUESSED_STRAIN,
    DurationModel,
    Phase,
    Work,
    in_words,
    learn,
    work_of,
)
from pytest_codexsandbox.harness.durations import spent as time_of_cells
from pytest_codexsandbox.model.cell import Cell, SubjectSpec
from pytest_codexsandbox.model.generator_suite import AS_ASKED
from pytest_codexsandbox.model.journal_lines import EndLine, Spent
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.report_payload import Payload
from tests.unit.matrix.builders import cell, plan, promise
from tests.unit.reports.line_builders import call


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
    assert found == DurationModel()
    assert found.expected(cell(), Work(calls=4)) == 4 * GUESSED


def test_a_call_takes_what_it_took_in_the_middle(tmp_path: Path) -> None:
    for number, seconds in enumerate((10.0, 20.0, 90.0)):
        journal(tmp_path, f"2026-11-1{number}", spent(seconds=seconds))
    found = learn(tmp_path)
    assert (found.runs, found.cells) == (3, {"e1~codex-0.163.0": 4.0})


def test_the_measurement_of_the_most_similar_cell_counts(tmp_path: Path) -> None:
    ours = cell("0.163.0")
    here = ours.environment.id
    cells = (
        Spent(cell=ours.id, environment=here, subject="0.163.0", seconds=1.0, calls=1),
        spent("0.40.0", seconds=3.0, calls=1, environment=here),
        spent("0.163.0", seconds=9.0, calls=1),
    )
    journal(tmp_path, "a", *cells)
    found = learn(tmp_path)
    assert found.expected(ours, Work(calls=2)) == 2.0
    assert found.expected(cell("0.114.0"), Work(calls=2)) == 4.0  # its environment: the middle of 1 and 3
    assert found.expected(cell("0.163.0", id="other"), Work(calls=1)) == 5.0  # its Codex
    assert found.expected(cell("0.114.0", id="other"), Work(calls=1)) == 3.0  # whatever ran


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"line":"end"}',
        '{"line":"result"}',
        '{"line":"end","finished":"","exit":0,"reasons":[],"counts":{}}',
        '["end"]',
        "\x00",
    ],
)
def test_a_journal_without_durations_changes_nothing(tmp_path: Path, text: str) -> None:
    journal(tmp_path, "broken", text=text or "\n")
    journal(tmp_path, "good", spent())
    assert learn(tmp_path).runs == 1


def test_a_journal_that_is_still_written_or_was_killed_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "now").mkdir()
    (tmp_path / "now" / "journal.ndjson").write_bytes(b"")
    assert learn(tmp_path) == DurationModel()


def test_old_runs_are_forgotten(tmp_path: Path) -> None:
    for number in range(25):
        journal(tmp_path, f"2026-{number:02}", spent(seconds=100.0 if number < 5 else 10.0))
    assert (learn(tmp_path).runs, learn(tmp_path).any) == (20, 2.0)


def test_a_run_counts_the_time_of_items_and_the_calls_of_codex() -> None:
    one, other = cell(), cell("0.40.0")
    made = plan(cells=(one, other))
    key = next(key for key in made.keys if key.cell == one.id)
    called = call(one.id, "read-only")
    payload = Payload(lines=(called, msgspec.structs.replace(called, control=True), called))
    phases = (
        Phase("a", 1.0, payload.calls(), None),
        Phase("a", 0.5, (), key),
        Phase("a", 9.0, (), None),  # after its result
        Phase("never ended", 9.0, (), None),
    )
    found = time_of_cells(made, phases)
    assert [(row.cell, row.seconds, row.calls, row.stories) for row in found] == [(one.id, 1.5, 2, 0)]


# ---- generators
CASES, STRAINED = "generator.parses", "generator.two-at-once-lose-nothing"
STANDING = "trust.confinement-and-known-generators"
OF_THEM = {CASES: "configs", "effective.grants-no-more": "inputs", STRAINED: "once", STANDING: "once"}


def writing(name: str, label: str = "0.163.0") -> Cell:
    return msgspec.structs.replace(cell(), subject=SubjectSpec(label=label, release=label, generator=name))


def of_generators(*cells: Cell) -> Plan:
    """Three cases, one of which is an input as well, and one that does not apply; a question under strain."""
    promises = [
        promise(id, kind="generator", policies=(AS_ASKED,), over=over, suite="generator")
        for id, over in OF_THEM.items()
    ]
    pairs = [(CASES, "a"), (CASES, "b"), (CASES, "c"), (OTHER, "c"), (CASES, "not"), (STRAINED, ""), (STANDING, "")]
    keys = [
        Key(cell=one.id, door="generator", policy=AS_ASKED, promise=id, case=case)
        for one in cells
        for id, case in pairs
    ]
    out = {str(key): "another release" for key in keys if key.case == "not"}
    return Plan(preset="p", cells=cells, promises=tuple(promises), keys=tuple(keys), not_applicable=out)


OTHER = "effective.grants-no-more"


def test_each_case_of_a_generator_costs_one_run_for_any_number_of_promises() -> None:
    one = writing("g")
    assert work_of(of_generators(one)) == {one.id: Work(calls=0, stories=3, strains=1)}
    assert DurationModel().expected(one, Work(stories=3, strains=1)) == 3 * GUESSED_STORY + GUESSED_STRAIN


def test_a_run_teaches_what_a_case_of_this_generator_takes(tmp_path: Path) -> None:
    one, other = writing("g"), writing("h")
    made, phases = of_generators(one, other), list[Phase]()
    took = {CASES: 2.0, OTHER: 0.0, STRAINED: 7.0, STANDING: 50.0}
    called = ((one.id, AS_ASKED),)  # of what it left: not planned as a call
    for key in made.keys:
        if key.cell == one.id or key.case == "a":
            phases.append(Phase(str(key), took[key.promise], called, key))
    mine, theirs = time_of_cells(made, phases)
    assert (mine.calls, mine.seconds, mine.stories, mine.story_seconds) == (0, 0.0, 3, 8.0)
    assert (mine.strains, mine.strain_seconds, mine.generator) == (1, 7.0, "g")
    assert (theirs.stories, theirs.strains) == (1, 0), "what was planned and never ran teaches nothing"
    journal(tmp_path, "a", msgspec.structs.replace(mine, story_seconds=9.0), theirs)
    found = learn(tmp_path)
    assert found.any == 0.0, "of calls of Codex nothing was learned"
    wanted = Work(stories=10, strains=2)
    assert found.expected(one, wanted) == 10 * 3.0 + 2 * 7.0
    assert found.expected(writing("g", "0.40.0"), wanted) == 10 * 3.0 + 2 * 7.0, "the same one beside another Codex"
    assert found.expected(writing("h"), wanted) == 10 * 2.0 + 2 * 7.0
    assert found.expected(writing("new"), wanted) == 10 * 2.5 + 2 * 7.0, "the middle of all"


def test_cells_with_generators_do_not_make_calls_of_others_look_long(tmp_path: Path) -> None:
    slow = spent(seconds=3.0, calls=6)
    journal(tmp_path, "a", msgspec.structs.replace(slow, generator="g", stories=200, story_seconds=600.0))
    assert learn(tmp_path).expected(cell(), Work(calls=2)) == 1.0


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 s"), (59.6, "60 s"), (95, "2 min"), (600, "10 min"), (7260, "2 h 01 min")]
)
def test_times_are_said_as_roughly_as_they_are_known(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
