"""Many cells told in few words: what they have in common, which pairs of values they show, what could not be had."""

import json
import re

import msgspec
import pytest

from pytest_codexsandbox.model.journal_lines import CellRow
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.plan_key import NotPlanned
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.reports import coverage_text, html, json_report, markdown
from pytest_codexsandbox.reports.cell_groups import CellGroups
from pytest_codexsandbox.reports.grid import common, names_of
from pytest_codexsandbox.reports.terminal import render
from tests.unit.reports import builders
from tests.unit.reports.container_builders import contained, pairs

CELLS = tuple(contained(number) for number in range(84))


def having(**wanted: tuple[str, ...]) -> list[str]:
    return [cell.id for cell in CELLS if all(cell.axes[axis] in values for axis, values in wanted.items())]


def plain(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (having(bwrap=("0.4.1",)), "all 14 cells with bwrap 0.4.1"),
        (having(user=("root", "u1000")), "all 56 cells with user other than u1000-nopasswd"),
        (
            having(profile=("docker-default", "sys-admin"), codex=("0.118.0", "0.136.0", "0.169.0")),
            "all 7 cells with profile docker-default, sys-admin and codex 0.118.0, 0.136.0, 0.169.0",
        ),
        ([cell.id for cell in CELLS], "all 84 cells"),
    ],
)
def test_common_axes_of_cells_are_named_with_the_fewest_axes(ids: list[str], words: str) -> None:
    assert CellGroups(CELLS).described(ids) == words


def test_pairs_without_a_short_description_are_counted_with_those_of_the_same_values() -> None:
    some = [cell.id for number, cell in enumerate(CELLS) if number * number % 11 in (3, 4)]
    assert CellGroups(CELLS).described(some) == f"{len(some)} of 84 cells"
    assert CellGroups(CELLS).described(some, rest=True) == f"the other {len(some)} cells"


def test_a_run_with_one_axis_names_its_cells() -> None:
    assert not CellGroups(builders.releases().plan.cells).speaks
    assert CellGroups(CELLS).speaks


def test_a_value_common_to_all_is_no_part_of_a_name() -> None:
    some = [cell for cell in CELLS if cell.axes["bwrap"] == "0.8.0" and cell.axes["user"] == "root"]
    assert common(some) == {"bwrap": "0.8.0", "user": "root"}
    assert all("bwrap" not in name and "~root" not in name for name in names_of(some).values())
    local = builders.cell()
    assert common([*some, local]) == {}
    assert names_of([*some, local])[local.id].startswith(local.environment)


def test_a_value_that_is_no_part_of_a_name_is_shown_once() -> None:
    made = pairs()
    kept = tuple(cell for cell in made.plan.cells if cell.axes["user"] == "root")
    ids = {cell.id for cell in kept}
    narrow = msgspec.structs.replace(
        made,
        records=tuple(one for one in made.records if one.key.cell in ids),
        end=None,
        plan=msgspec.structs.replace(
            made.plan, cells=kept, keys=tuple(key for key in made.plan.keys if key.cell in ids)
        ),
    )
    assert re.search(r"each +user root\b", plain(render(narrow, width=80, color=False, ascii=False)))


def test_ids_are_compared_and_never_parsed() -> None:
    odd = CellRow(id="a~b~c~d~codex-1", environment="a~b~c~d", subject="1", axes={"distro": "x", "bwrap": "b"})
    assert common([odd, msgspec.structs.replace(odd, id="e")]) == {}


# ---- pairs
def broken_in(made: ReadJournal, cell: str) -> ReadJournal:
    return msgspec.structs.replace(made, records=tuple(one for one in made.records if one.key.cell != cell))


def test_a_pair_counts_when_it_was_measured_and_not_when_it_was_planned() -> None:
    whole = msgspec.structs.replace(pairs(), end=None)
    planned, measured = coverage_text.counted(whole, whole.states())
    lost = broken_in(whole, CELLS[0].id)
    planned_still, fewer = coverage_text.counted(lost, lost.states())
    assert planned_still == planned
    assert fewer < measured
    told = coverage_text.pairs(lost, lost.states())[0]
    assert f" {planned - fewer} only in cells " in told


def test_cells_where_the_harness_alone_spoke_show_no_pair() -> None:
    whole = pairs()
    only_trust = tuple(
        one for one in whole.records if one.key.cell != CELLS[0].id or one.key.promise.startswith("trust.")
    )
    made = msgspec.structs.replace(whole, records=only_trust, end=None)
    assert coverage_text.counted(made, made.states())[1] < coverage_text.counted(made, made.states())[0]


def test_a_cell_whose_sandbox_was_another_than_asked_for_shows_no_pair() -> None:
    whole = msgspec.structs.replace(pairs(), end=None)
    other = tuple(
        msgspec.structs.replace(one, verdict=Verdict.BLOCKED)
        if one.key.cell == CELLS[0].id
        and one.key.promise.startswith("start.")
        and one.verdict is not Verdict.UNCONFINED
        else one
        for one in whole.records
    )
    made = msgspec.structs.replace(whole, records=other)
    assert any(one.verdict is Verdict.UNCONFINED for one in made.states().values() if one.key.cell == CELLS[0].id)
    assert coverage_text.counted(made, made.states())[1] < coverage_text.counted(whole, whole.states())[1]


def all_known(made: ReadJournal) -> ReadJournal:
    """The same run by somebody who knows where no sandbox starts."""
    known = tuple(
        msgspec.structs.replace(one, verdict=Verdict.EXPECTED, deviation="no-sandbox-there")
        if one.verdict is Verdict.VIOLATES
        else one
        for one in made.records
    )
    return msgspec.structs.replace(made, records=known, end=None)


def test_a_cell_where_no_sandbox_starts_shows_no_pair_however_well_that_is_known() -> None:
    whole = all_known(pairs())
    refused = having(profile=("docker-default", "synthetic-mount"))
    without = msgspec.structs.replace(whole, records=tuple(one for one in whole.records if one.key.cell not in refused))
    assert coverage_text.counted(whole, whole.states()) == coverage_text.counted(without, without.states())


def test_every_report_says_where_no_sandbox_starts_although_it_is_known() -> None:
    made = all_known(pairs())
    refused = len(having(profile=("docker-default", "synthetic-mount")))
    told = f"no sandbox starts in {refused} of 84 cells, as is known: nothing was measured there"
    for text in (
        render(made, width=200, color=False, ascii=False),
        markdown.render(made, None),
        html.render(made, None),
    ):
        assert told in plain(text)
    named = json.loads(json_report.render(made, None))["cells_without_sandbox"]
    assert set(named) == set(having(profile=("docker-default", "synthetic-mount")))


def test_a_run_that_picked_nothing_says_nothing_of_pairs() -> None:
    made = builders.releases()
    assert coverage_text.pairs(made, made.states()) == []
    assert json.loads(json_report.render(made, None))["coverage"] is None


def test_every_report_names_the_pairs_and_the_unavailable_values() -> None:
    made = pairs()
    document = json.loads(json_report.render(made, None))["coverage"]
    assert document["coverable"] == 400
    assert (document["planned"], document["measured"]) == (319, 312)
    assert [one["count"] for one in document["uncoverable"]] == [1, 26]
    for text in (
        render(made, width=80, color=False, ascii=False),
        markdown.render(made, None),
        html.render(made, None),
    ):
        shown = plain(text.replace("&#43;", "+").replace("\\", ""))
        counted = re.search(r"312 of 400 measured, in 84 cells of 7,560 .*; 7 only in .*81 not in ", shown)
        assert counted and re.search(r"26 pairs .* fedora-43 \+ distro: no registry", shown)
        assert "here: fedora-43: no registry" in shown


def test_no_reason_is_dropped_without_a_word() -> None:
    made = pairs()
    many = tuple(
        msgspec.structs.replace(one, what=f"{one.what}{number}", why=f"{one.why} {number}")
        for number in range(9)
        for one in made.plan.not_planned
    )
    wide = msgspec.structs.replace(made, plan=msgspec.structs.replace(made.plan, not_planned=many))
    assert len(coverage_text.not_had(wide)) == 9
    assert coverage_text.left_out(wide, 5)[-1].endswith("4 more reasons")
    assert len(coverage_text.left_out(wide, 5, every=True)) == 9


def test_exclusions_by_an_option_come_before_unasked_pairs() -> None:
    made = pairs()
    nothing = (NotPlanned(what="read-only", why="not among the policies"), *made.plan.not_planned)
    wide = msgspec.structs.replace(made, plan=msgspec.structs.replace(made.plan, not_planned=nothing))
    assert coverage_text.left_out(wide, 1)[0].startswith("not planned, ")
    assert "--codex-budget 10m: " in coverage_text.left_out(wide, 1)[0]


# ---- environments
def test_many_environments_are_shown_together_and_failed_ones_are_named() -> None:
    made = pairs()
    missing = made.environments[0].spec
    fewer = msgspec.structs.replace(made, environments=made.environments[1:])
    lines = coverage_text.environments(fewer, 4)
    assert lines[0].startswith("60 environments ") and "6 distros (debian-bullseye, " in lines[0]
    assert " 12 of " in lines[0] and "synthetic" in lines[0]
    assert lines[1].startswith("1 of ") and lines[1].endswith(f": {missing}")
    assert len(coverage_text.environments(fewer, 100)) == 60


def test_this_machine_has_its_line_beside_them() -> None:
    made = pairs()
    local = builders.cell()
    both = msgspec.structs.replace(made, plan=msgspec.structs.replace(made.plan, cells=(*made.plan.cells, local)))
    assert coverage_text.environments(both, 4)[-1] == f"{local.environment}: not started"


def test_a_machine_that_changed_is_named_with_its_cells_in_every_report() -> None:
    made = builders.green()
    spec = made.environments[0].spec
    later = msgspec.structs.replace(
        made.environments[0], facts={**made.environments[0].facts, "changed": ["bwrap went"]}
    )
    changed = msgspec.structs.replace(made, environments=(*made.environments, later))
    told = f"{spec} changed during the run: bwrap went"
    texts = [
        render(changed, width=200, color=False, ascii=False, verbosity=0, folder=None),
        markdown.render(changed, None),
        html.render(changed, None),
        json_report.render(changed, None),
    ]
    assert [plain(text.replace("\\", "").replace("&#126;", "~")).count(told) for text in texts] == [1, 1, 1, 1]
    assert "changed while" not in render(made, width=200, color=False, ascii=False, verbosity=0, folder=None)
