"""What the pages tell a user to write works as it stands there."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from pytest_codexsandbox.matrix.load import load
from pytest_codexsandbox.selftest.fake_codex_script import write
from pytest_codexsandbox.selftest.fake_codexes import ALLOW_ALL
from tests.lint.tracked import ROOT
from tests.plugin.builders import distribution
from tests.plugin.conftest import Matrix

HOW_TO = ROOT / "docs" / "how-to"


def blocks(page: str, language: str) -> list[str]:
    text = (HOW_TO / page).read_text(encoding="utf-8")
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
    made = json.loads((run.reports[0].parent / "tally.json").read_text())
    assert made["counts"] == run.journal.counts() and len(made["red"]) == made["counts"]["violates"] > 0
