"""A refusal that a profile manufactures is labelled wherever its cell is shown, and never counts for a kernel."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.model.journal_lines import CellRow
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.reports import headlines, html, json_report, markdown
from pytest_codexsandbox.reports.cell_groups import CellGroups
from pytest_codexsandbox.reports.grid import grid, names_of
from tests.unit.reports import builders, container_builders
from tests.unit.reports.test_terminal import screen

NATURAL = builders.cell("0.163.0", "debian-12~docker-default~root")
MADE = msgspec.structs.replace(builders.cell("0.163.0", "debian-12~odd~root"), synthetic=True)  # nothing in its name


def journal(*cells: CellRow, red: bool = False) -> ReadJournal:
    def state(key: Key) -> Record:
        broken = red and key.promise == "filesystem.outside-refused"
        return builders.violation(key) if broken else builders.record(key)

    keys = builders.keys_of(cells, policies=("read-only",))
    return builders.journal(map(state, keys), cells=cells, keys=keys, exit=int(red))


REPORTS: dict[str, Callable[[ReadJournal], str]] = {
    "terminal": lambda found: screen(found, width=80),
    "html": lambda found: html.render(found, None),
    "markdown": lambda found: markdown.render(found, None),
    "json": lambda found: json_report.render(found, None),
}


@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.parametrize("red", [False, True])
def test_every_report_says_it(report: str, red: bool) -> None:
    assert "synthetic" in REPORTS[report](journal(NATURAL, MADE, red=red))
    assert "synthetic" in REPORTS[report](journal(MADE, red=red))


@pytest.mark.parametrize("report", ["terminal", "html", "markdown"])
def test_every_report_says_it_where_the_cell_is_named(report: str) -> None:
    text = REPORTS[report](journal(NATURAL, MADE, red=True)).replace("&#126;", "~")
    assert "debian-12~odd~root (synthetic)" in text
    assert "docker-default~root (synthetic)" not in text


def test_a_name_that_was_made_short_still_says_it() -> None:
    assert names_of([MADE]) == {MADE.id: "0.163.0 (synthetic)"}
    called = msgspec.structs.replace(builders.cell("0.163.0", "debian-12~synthetic-mount~root"), synthetic=True)
    assert names_of([NATURAL, called])[called.id] == "debian-12~synthetic-mount~root"


def test_a_description_of_cells_that_are_all_made_says_it() -> None:
    cells = [container_builders.contained(number) for number in range(84)]
    made = [msgspec.structs.replace(cell, synthetic=True) for cell in cells]
    assert CellGroups(cells).described([cell.id for cell in cells]) == "all 84 cells"
    assert CellGroups(made).described([cell.id for cell in made]) == "all 84 cells (synthetic)"


def test_it_does_not_stand_for_what_a_kernel_did_nor_the_other_way_round() -> None:
    groups = grid(journal(NATURAL, MADE)).groups
    assert [[cell.id for cell in group.cells] for group in groups] == [[NATURAL.id], [MADE.id]]


def test_the_counts_tell_them_apart() -> None:
    found = journal(NATURAL, MADE)
    states = found.states()
    assert f"· {len(builders.PROMISES)} in synthetic cells" in headlines.counts(found, states)
    assert not any("synthetic" in part for part in headlines.counts(journal(NATURAL), journal(NATURAL).states()))


def test_a_program_that_reads_the_report_can_leave_them_out(tmp_path: Path) -> None:
    told = json.loads(json_report.render(journal(NATURAL, MADE), tmp_path))
    marked = [one for one in told["results"] if one["synthetic"]]
    assert {one["cell"] for one in marked} == {MADE.id}
    assert told["counts"]["conforms"] - told["counts_synthetic"]["conforms"] == len(builders.PROMISES)
    assert sum(told["counts_synthetic"].values()) == len(marked)
    assert [cell["synthetic"] for cell in told["cells"]] == [False, True]
