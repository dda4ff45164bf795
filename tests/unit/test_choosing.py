"""What planning reads from this machine, once, and how it travels to workers."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox import choosing
from pytest_codexsandbox.choosing import Known
from pytest_codexsandbox.durations import Learned
from pytest_codexsandbox.matrix.budget import Budget
from pytest_codexsandbox.matrix.combine import Left
from pytest_codexsandbox.matrix.containers import Picked
from pytest_codexsandbox.model.asked import Asked
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.coverage import Coverage
from pytest_codexsandbox.ports import Foreseen
from tests.unit.matrix.boxes import SMALL, matrix, subjects
from tests.unit.matrix.making import environment, plan


class Foreseeing:
    @staticmethod
    def foresee(specs: Sequence[EnvironmentSpec], cache: Path, hosts: Sequence[str] = ()) -> Foreseen:
        asked = tuple(Asked(kind="archive", name=spec.distro, answer="no") for spec in specs)
        return Foreseen(why_not=lambda spec: f"no {spec.distro} at {', '.join(hosts)}", asked=asked)


def without_its_package(group: str, name: str) -> object:
    raise ImportError("no docker")


@pytest.mark.parametrize(
    ("plugged", "said", "asked"),
    [
        (lambda group, name: Foreseeing, "no debian-12 at tcp://a, ssh://b", ["debian-12"]),
        (lambda group, name: object(), "", []),
        (without_its_package, choosing.MISSING, []),
    ],
)
def test_each_backend_says_what_it_cannot_have(
    monkeypatch: pytest.MonkeyPatch, plugged: Callable[[str, str], object], said: str, asked: list[str]
) -> None:
    monkeypatch.setattr(choosing, "plugged", plugged)
    foreseen = choosing.foresight((environment(),), ("tcp://a", "ssh://b"))
    assert foreseen.why_not(environment()) == said
    assert [one.name for one in foreseen.asked] == asked
    assert choosing.stock(plan()) == ()


def test_what_was_looked_up_travels_to_workers_and_makes_the_same_cells(tmp_path: Path) -> None:
    asked = matrix(tmp_path, f"{SMALL}\npairs = 2")
    known = choosing.look(asked, tmp_path, why_not=lambda spec: "no" if spec.distro == "busybox" else "")
    assert known.left == (Left(values={"distro": "busybox"}, why="no"),)
    here = choosing.expanded(asked, subjects(), known, pairs=None, hosts=("unix:///a", "unix:///b"))
    told = msgspec.json.encode(msgspec.structs.replace(known, picked=here.picked))
    there = choosing.expanded(
        asked, subjects(), msgspec.json.decode(told, type=Known), pairs=None, hosts=("unix:///a", "unix:///b")
    )
    assert there == here


def test_a_worker_does_not_pick_again(tmp_path: Path) -> None:
    asked = matrix(tmp_path, f"{SMALL}\npairs = 2")
    one = ("debian-trixie", "none", "docker-default", "root", "0.163.0")
    told = Picked(rows=(one,), coverage=Coverage(strength=2, axes={}, coverable=1))
    found = choosing.expanded(asked, subjects(), Known(picked=told), pairs=None, hosts=())
    assert [cell.id for cell in found.cells] == ["debian-trixie~bwrap-none~docker-default~root~codex-0.163.0"]
    assert found.coverage == told.coverage


def test_seconds_are_calls_times_what_a_call_takes() -> None:
    made = plan()
    (cell,) = made.cells
    known = Known(learned=Learned(runs=1, cells={cell.id: 2.5}))
    assert choosing.seconds_of(made, known) == {cell.id: 5.0}  # one battery for each of two policies
    assert choosing.trimmed(made, Budget(seconds=6, text="6s"), known) is made
    assert choosing.trimmed(made, None, known) is made
