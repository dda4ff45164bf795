"""What the pages tell a user to write works as it stands there."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from pytest_codexsandbox.matrix.axis_files import Catalogue
from pytest_codexsandbox.matrix.load import load
from pytest_codexsandbox.selftest.fake_codex_script import write
from pytest_codexsandbox.selftest.fake_codexes import ALLOW_ALL
from tests.lint.tracked import ROOT
from tests.plugin.builders import distribution
from tests.plugin.conftest import Matrix

DOCS = ROOT / "docs"
HOW_TO = DOCS / "how-to"


def blocks(page: str, language: str, *, folder: Path = HOW_TO) -> list[str]:
    text = (folder / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.live
def test_the_tests_of_the_page_are_green(matrix: Matrix) -> None:
    first, second = blocks("write-your-own-test.md", "python")
    run = matrix.run(files={"test_mine.py": f"{second}\n\n{first}"}, matrix=False)
    states = run.journal.states()
    assert run.code == 0, run.out
    mine = [record.verdict.value for key, record in states.items() if key.promise.startswith("user.")]
    assert mine == ["conforms"] * 3


def test_the_matrix_file_of_the_page_loads(tmp_path: Path) -> None:
    (text,) = blocks("measure-releases-and-builds.md", "toml")
    path = tmp_path / "my.toml"
    path.write_text(text)
    assert load(str(path)).releases == ("0.155.0", "0.169.0")


def test_the_report_format_of_the_page_works(matrix: Matrix, tmp_path: Path) -> None:
    (text,) = blocks("add-a-report-format.md", "python")
    (points,) = blocks("add-a-report-format.md", "toml")
    ((name, target),) = tomllib.loads(points)["project"]["entry-points"]["codexsandbox.reporters"].items()
    module, _, named = target.partition(":")
    site = distribution(tmp_path / "site", name="my-package", module=module, text=text, reporters={name: named})
    words = ("--codex-only=process.exit-code-kept", f"--codex-bin={write(tmp_path, ALLOW_ALL)}")
    run = matrix.run(*words, f"--codex-report={name}", env={"PYTHONPATH": str(site)})
    made = json.loads((run.reports[0].parent / "tally.jsonl").read_text())
    assert made["counts"] == run.journal.counts() and len(made["red"]) == made["counts"]["violates"] > 0


def test_the_distribution_of_the_page_is_one_of_its_matrix_file(tmp_path: Path) -> None:
    distribution_text, matrix_text = blocks("container-images.md", "toml")
    (tmp_path / "distros").mkdir()
    (tmp_path / "distros" / "ubuntu-25.04.toml").write_text(distribution_text)
    (tmp_path / "mine.toml").write_text(matrix_text)
    asked = load(str(tmp_path / "mine.toml"))
    assert asked.containers is not None
    (name,) = asked.containers.distros
    made = Catalogue(beside=tmp_path).image(name)
    assert (made.distro, made.distro_version, made.suite) == ("ubuntu", "25.04", "plucky")


@pytest.mark.live
def test_the_door_of_the_page_starts_codex(matrix: Matrix, tmp_path: Path) -> None:
    text = blocks("doors.md", "python", folder=DOCS / "reference")[0]
    mine = blocks("doors.md", "toml", folder=DOCS / "reference")[-1]
    points = {"wrapper": "WrapperDoor"}
    site = distribution(tmp_path / "site", name="my-package", module="door", text=text, doors=points)
    words = ("--codex-matrix=./mine.toml", "--codex-only=filesystem.outside-create-refused,workspace-write")
    run = matrix.run(*words, files={"mine.toml": mine}, env={"PYTHONPATH": str(site)}, matrix=False)
    assert run.code == 0, run.out
    assert {(key.door, one.verdict.value) for key, one in run.journal.states().items()} == {
        ("sandbox", "conforms"),
        ("wrapper", "conforms"),
    }
    through = [call.observation.argv[0] for call in run.journal.calls if call.observation.door == "wrapper"]
    assert set(through) == {"/bin/sh"}
