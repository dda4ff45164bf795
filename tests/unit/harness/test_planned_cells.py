"""Cells that this machine can measure, alike in every process of a run."""

from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.errors import HarnessError, InputError
from pytest_codexsandbox.harness import feasibility
from pytest_codexsandbox.harness.feasibility import CONTAINERS
from pytest_codexsandbox.harness.planned_cells import expand_cells, for_listing
from pytest_codexsandbox.harness.planning_facts import PlanningFacts, gather_facts
from pytest_codexsandbox.matrix.combinations import LeftOut
from pytest_codexsandbox.matrix.container_cells import PickedCells
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.model.coverage import Coverage
from pytest_codexsandbox.releases.download_estimate import Forecast
from tests.unit.matrix.container_builders import SMALL, matrix, subjects


def test_looked_up_facts_travel_to_workers_and_make_the_same_cells(tmp_path: Path) -> None:
    asked = matrix(tmp_path, f"{SMALL}\npairs = 2")
    known = gather_facts(asked, tmp_path, why_not=lambda spec: "no" if spec.distro == "busybox" else "")
    assert known.left == (LeftOut(values={"distro": "busybox"}, why="no"),)
    here = expand_cells(asked, subjects(), known, pairs=None, hosts=("unix:///a", "unix:///b"))
    told = msgspec.json.encode(msgspec.structs.replace(known, picked=here.picked))
    there = expand_cells(
        asked, subjects(), msgspec.json.decode(told, type=PlanningFacts), pairs=None, hosts=("unix:///a", "unix:///b")
    )
    assert there == here


def test_a_backend_that_starts_nothing_takes_its_cells_away_and_leaves_the_others(tmp_path: Path) -> None:
    fault = HarnessError("no engine", where="unix:///x", why="refused", next_step="start it")
    asked = matrix(tmp_path, SMALL)
    known = PlanningFacts(lacks=(feasibility.lack(CONTAINERS, fault),))
    with pytest.raises(InputError) as raised:
        expand_cells(asked, subjects(), known, pairs=None, hosts=())
    told = raised.value
    assert told.what.endswith(": no engine") and told.where == "unix:///x"
    assert (told.why, told.next_step) == ("refused", "start it")
    both = msgspec.structs.replace(asked, environments=("local",))
    travelled = msgspec.json.decode(msgspec.json.encode(known), type=PlanningFacts)
    found = expand_cells(both, subjects(), travelled, pairs=None, hosts=())
    assert {cell.environment.backend for cell in found.cells} == {"local"}
    (gone,) = [one for one in found.not_planned if one.required]
    assert (gone.what, gone.kind) == (CONTAINERS, "unavailable")
    assert [part for part in ("no engine", "unix:///x", "refused", "start it") if part not in gone.why] == []
    assert expand_cells(asked, subjects(), for_listing(known, asked, subjects()), pairs=None, hosts=()).cells


def test_a_release_that_does_not_exist_is_left_out_and_the_others_are_measured(tmp_path: Path) -> None:
    asked = msgspec.structs.replace(matrix(tmp_path, SMALL), containers=None, environments=("local",))
    gone = feasibility.of_releases({"9.9.9": Forecast(why_not="there is none"), "0.163.0": Forecast(cached=True)})
    specs = [SubjectSpec(label=label, release=label) for label in ("9.9.9", "0.163.0")]
    found = expand_cells(asked, specs, PlanningFacts(lacks=gone), pairs=None, hosts=())
    assert [cell.subject.label for cell in found.cells] == ["0.163.0"]
    assert [one.what for one in found.not_planned if one.required] == ["codex 9.9.9"]
    with pytest.raises(InputError, match=r"Codex 9\.9\.9"):
        expand_cells(asked, specs[:1], PlanningFacts(lacks=gone), pairs=None, hosts=())


def test_engines_that_do_not_answer_get_no_cell(tmp_path: Path) -> None:
    fault = HarnessError("deaf", where="tcp://b")
    known = PlanningFacts(silent=("tcp://b",), lacks=(feasibility.lack("engine tcp://b", fault, required=False),))
    found = expand_cells(matrix(tmp_path, SMALL), subjects(), known, pairs=None, hosts=("tcp://a", "tcp://b"))
    assert {cell.environment.engine_host for cell in found.cells} == {"tcp://a"}
    assert [(one.what, one.required) for one in found.not_planned[:1]] == [("engine tcp://b", False)]


def test_a_worker_does_not_pick_again(tmp_path: Path) -> None:
    asked = matrix(tmp_path, f"{SMALL}\npairs = 2")
    one = ("debian-trixie", "none", "docker-default", "root", "0.163.0")
    told = PickedCells(rows=(one,), coverage=Coverage(strength=2, axes={}, coverable=1))
    found = expand_cells(asked, subjects(), PlanningFacts(picked=told), pairs=None, hosts=())
    assert [cell.id for cell in found.cells] == ["debian-trixie~bwrap-none~docker-default~root~codex-0.163.0"]
    assert found.coverage == told.coverage
