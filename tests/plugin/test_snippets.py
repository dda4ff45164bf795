"""What the pages tell a user to write works as it stands there."""

import re
from pathlib import Path

import pytest

from pytest_codexsandbox.matrix.load import load
from tests.lint.tracked import ROOT
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
