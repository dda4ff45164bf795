"""A backend that another package brings: it is planned, prepared, measured, examined and swept like ours."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.model.verdict import Verdict
from tests.fakes.toy_package import install, search_path
from tests.plugin.conftest import Done, Matrix

pytestmark = pytest.mark.live
MATRIX = 'environments = ["local", "toy"]\nreleases = ["installed"]\npolicies = ["workspace-write"]\n'
WORDS = ("--codex-matrix=./toys.toml", "--codex-only=process.exit-code-kept")


@pytest.fixture
def site(tmp_path: Path) -> dict[str, str]:
    return {"PYTHONPATH": search_path(install(tmp_path / "site"))}


@pytest.fixture
def toys(matrix: Matrix, tmp_path: Path) -> Matrix:
    """A cache without the disk of the toy; the releases in it are shared with other tests."""
    for path in (matrix.cache / "toy").glob("*"):
        path.unlink()
    return matrix


def command(toys: Matrix, site: dict[str, str], *words: str) -> Done:
    folder = toys.prepare({"toys.toml": MATRIX})
    done = toys.codexsandbox(*words, folder=folder, env=site)
    return toys.done(done.returncode, done.stdout + done.stderr, folder)


def printed_json(done: Done) -> dict[str, Any]:
    """Returns the JSON on stdout. Notes on stderr follow it: the command may wait for another run."""
    found: dict[str, Any] = json.JSONDecoder().raw_decode(done.out)[0]
    return found


def run(toys: Matrix, site: dict[str, str], *words: str) -> Done:
    plugins = ("xdist.plugin",) if "-n2" in words else ()
    return toys.run(*WORDS, *words, files={"toys.toml": MATRIX}, env=site, plugins=plugins, matrix=False)


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_its_environment_is_prepared_and_measured(toys: Matrix, site: dict[str, str], workers: tuple[str, ...]) -> None:
    done = run(toys, site, *workers)
    assert done.code == 0, done.out
    assert done.out.count("toy: made a disk for toy") == 1
    states = done.journal.states().items()
    kept = {key.cell for key, record in states if record.verdict is Verdict.CONFORMS}
    assert len(kept) == 2, done.out
    assert any(cell.startswith("toy~codex-") for cell in kept)


def test_without_the_package_its_name_is_a_wrong_word(toys: Matrix) -> None:
    done = run(toys, {})
    assert done.code == 4, done.out
    assert re.search(r"environments: [a-z ]+ 'toy'", done.out)


def test_a_plan_shows_its_cells_and_what_they_are_made_of(toys: Matrix, site: dict[str, str]) -> None:
    done = command(toys, site, "plan", "./toys.toml", "--json")
    assert done.code == 0, done.out
    shown = printed_json(done)
    assert [cell["axes"]["environment"] for cell in shown["cells"]][1] == "toy"
    assert shown["stock"] == [{"kind": "disk", "name": "toy-disk", "ready": False, "megabytes": 1}]
    assert [one["where"] for one in shown["asked"]] == ["toy://"]


def test_an_environment_that_it_cannot_start_is_left_out_with_its_reason(toys: Matrix, site: dict[str, str]) -> None:
    (toys.cache / "toy").mkdir(parents=True, exist_ok=True)
    (toys.cache / "toy" / "refuse").touch()
    shown = printed_json(command(toys, site, "plan", "./toys.toml", "--json"))
    assert len(shown["cells"]) == 1
    (gone,) = [one for one in shown["not_planned"] if one["kind"] == "unavailable"]
    assert (gone["what"], gone["required"]) == ("environment toy", True)
    assert "the toy is broken" in gone["why"]
    done = run(toys, site)
    assert done.code == 11, done.out
    assert "environment toy" in done.out


def test_the_doctor_starts_a_sandbox_in_it(toys: Matrix, site: dict[str, str]) -> None:
    done = command(toys, site, "doctor", "--offline", "--json")
    found = {one["what"]: one for one in printed_json(done)["findings"]}
    assert (found["toys"]["answer"], found["toys"]["why"]) == ("yes", "1 of them")
    assert found["sandbox in toy"]["answer"] == "yes", found


def test_leftovers_of_a_killed_run_in_it_are_swept(toys: Matrix, site: dict[str, str]) -> None:
    left = toys.cache / "toy" / "left-1"
    left.parent.mkdir(parents=True, exist_ok=True)
    left.touch()
    done = command(toys, site, "sweep", "--dry-run")
    assert (done.code, f"left     toy disk {left}" in done.out) == (13, True), done.out
    done = command(toys, site, "sweep")
    assert (done.code, f"removed  toy disk {left}" in done.out) == (0, True), done.out
    assert not left.exists()
