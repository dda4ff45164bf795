"""A filter of cells is applied before anything is asked about an environment that it leaves out."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.harness import planning_facts
from pytest_codexsandbox.harness.planner import Planner
from pytest_codexsandbox.harness.run_request import RunRequest
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.protocols import Availability

MATRIX = """
releases = ["0.163.0", "0.136.0"]
[containers]
distros = ["debian-bookworm", "ubuntu-24.04", "fedora-43"]
profiles = ["docker-default"]
users = ["root", "u1000"]
{more}
"""
EVERY = {"debian-bookworm", "ubuntu-24.04", "fedora-43"}


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> list[EnvironmentSpec]:
    asked: list[EnvironmentSpec] = []

    def check(specs: tuple[EnvironmentSpec, ...], hosts: object) -> Availability:
        asked.extend(one for one in specs if one.container is not None)
        return Availability(why_not=lambda spec: "no registry answers" if spec.distro == "fedora-43" else "")

    monkeypatch.setattr(planning_facts, "check_availability", check)
    return asked


def planner(folder: Path, *, more: str = "", **options: Any) -> Planner:
    file = folder / "mine.toml"
    file.write_text(MATRIX.format(more=more))
    return Planner(RunRequest(preset=str(file), report_dir=folder, **options))


@pytest.mark.parametrize(
    ("options", "distros"),
    [
        ({"only": ("*ubuntu*",)}, {"ubuntu-24.04"}),
        ({"only": ("*ubuntu*,debian*~root~*", "start.*")}, {"ubuntu-24.04", "debian-bookworm"}),
        ({"only": ("*~codex-0.163.0", "*ubuntu*")}, EVERY),  # a union
        ({"only": ("*~codex-0.163.0",), "skip": ("fedora*",)}, EVERY - {"fedora-43"}),
        ({"skip": ("fedora*0.163.0",)}, EVERY),  # one of its cells is left
        ({"only": ("*",)}, EVERY),
        ({"only": ("process.*", "workspace-write")}, EVERY),
        ({"only": ("*no-such-cell*",)}, EVERY),  # an error, which names every cell
        ({}, EVERY),
    ],
    ids=lambda value: ",".join(sorted(value)) if isinstance(value, set) else str(value),
)
def test_nothing_is_asked_about_a_distribution_that_the_filter_leaves_out(
    tmp_path: Path, questions: list[EnvironmentSpec], options: Mapping[str, Any], distros: set[str]
) -> None:
    found = planner(tmp_path, **options).facts
    assert {one.distro for one in questions} == distros
    assert ({"distro": "fedora-43"} in [one.values for one in found.left]) == ("fedora-43" in distros)


def test_the_plan_says_that_the_filter_left_it_out_and_not_that_it_is_unavailable(
    tmp_path: Path, questions: list[EnvironmentSpec]
) -> None:
    plan = planner(tmp_path, only=("*ubuntu*",)).plan
    assert {cell.environment.distro for cell in plan.cells} == {"ubuntu-24.04"}
    about = [one for one in plan.not_planned if "fedora" in one.what]
    assert about and {one.why for one in about} == {"not among --codex-only"}


def test_cells_picked_by_pairs_are_all_asked_about(tmp_path: Path, questions: list[EnvironmentSpec]) -> None:
    """An unavailable one decides which cells stand in for it, so the filter must find the same cells."""
    assert planner(tmp_path, more="pairs = 2", only=("*ubuntu*",)).facts.left
    assert {one.distro for one in questions} == EVERY
