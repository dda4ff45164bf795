"""A door that another package brings: it is planned, run, judged and reported like ours."""

import json
import re
from pathlib import Path

import pytest

from pytest_codexsandbox.matrix.plan import OWN_CALL
from pytest_codexsandbox.model.verdict import Verdict
from tests.fakes.toy_package import install_doors, search_path
from tests.plugin.conftest import Done, Matrix

pytestmark = pytest.mark.live
DOORS = ("toy", "sandbox", "patient-toy")
MATRIX = """
environments = ["local"]
releases = ["installed"]
doors = ["toy", "sandbox", "patient-toy"]
policies = ["workspace-write"]
"""
OUTSIDE, OWN = "filesystem.outside-create-refused", "process.stdin-arrives"
WORDS = ("--codex-matrix=./toys.toml", f"--codex-only={OUTSIDE}", f"--codex-only={OWN}")


@pytest.fixture
def site(tmp_path: Path) -> dict[str, str]:
    return {"PYTHONPATH": search_path(install_doors(tmp_path / "site"))}


def command(matrix: Matrix, site: dict[str, str], *words: str, folder: Path | None = None) -> Done:
    place = folder or matrix.prepare({"toys.toml": MATRIX})
    done = matrix.codexsandbox(*words, folder=place, env=site)
    return matrix.done(done.returncode, done.stdout + done.stderr, place)


def run(matrix: Matrix, site: dict[str, str], *words: str) -> Done:
    plugins = ("xdist.plugin",) if "-n2" in words else ()
    return matrix.run(*WORDS, *words, files={"toys.toml": MATRIX}, env=site, plugins=plugins, matrix=False)


def test_a_plan_asks_it_what_it_declares(matrix: Matrix, site: dict[str, str]) -> None:
    done = command(matrix, site, "plan", "./toys.toml", "--json")
    assert done.code == 0, done.out
    shown = json.JSONDecoder().raw_decode(done.out)[0]  # notes on stderr follow
    asked = {door: {key["promise"] for key in shown["keys"] if key["door"] == door} for door in DOORS}
    assert asked["patient-toy"] == asked["sandbox"] > asked["toy"]
    left_out = {one["what"]: one["why"] for one in shown["not_planned"]}
    assert left_out[f"{OWN} by toy"] == OWN_CALL
    assert not any("by patient-toy" in what for what in left_out)


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_it_is_measured_judged_and_reported(matrix: Matrix, site: dict[str, str], workers: tuple[str, ...]) -> None:
    done = run(matrix, site, "--codex-report=html,markdown,json", *workers)
    assert done.code == 0, done.out
    states = done.journal.states()
    kept = {(key.door, key.promise) for key, record in states.items() if record.verdict is Verdict.CONFORMS}
    assert {(door, OUTSIDE) for door in DOORS} | {("sandbox", OWN), ("patient-toy", OWN)} <= kept
    assert all(record.verdict is Verdict.CONFORMS for record in states.values())
    started = {line.observation.door: line.observation.argv[0] for line in done.journal.calls if not line.control}
    assert started["toy"] == started["patient-toy"] == "/usr/bin/env" != started["sandbox"]
    folder = done.reports[0].parent
    for name in ("index.html", "report.md", "report.json"):
        assert "patient-toy" in (folder / name).read_text(), name
    again = command(matrix, {}, "report", str(done.reports[0]), folder=folder)
    assert "patient-toy" in again.out, "a reader needs no door"


def test_without_the_package_its_name_is_a_wrong_word(matrix: Matrix) -> None:
    done = run(matrix, {})
    assert done.code == 4, done.out
    assert re.search(r"doors: [a-z ]+ 'toy'", done.out)


def test_a_boot_check_can_go_through_it(matrix: Matrix, site: dict[str, str]) -> None:
    done = command(matrix, site, "boot-check", "--door", "toy")
    assert (done.code, "· toy ·" in done.out) == (0, True), done.out
    refused = command(matrix, site, "boot-check", "--door", "toy-control")
    assert refused.code == 4, refused.out
