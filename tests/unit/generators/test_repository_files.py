"""No file that git obeys reaches the workspace of a Codex call: Codex runs git there, outside its sandbox."""

import pytest

from pytest_codexsandbox.generators.case_run import ALONE
from pytest_codexsandbox.generators.repository_files import steers_git
from pytest_codexsandbox.harness.generators.path_mapping import readable
from pytest_codexsandbox.model.generator import CaseRun, FileState, Intent

STEERS = ["@WORKSPACE@/.git/config", "@WORKSPACE@/.git", "@WORKSPACE@/a/.GIT/hooks/x", "@WORKSPACE@/HEAD"]
LEAVES = ["@WORKSPACE@/AGENTS.md", "@WORKSPACE@/.gitignore", "@WORKSPACE@/a/HEAD", "@CODEX_HOME@/config.toml"]


@pytest.mark.parametrize("path", STEERS)
def test_a_file_that_makes_a_repository_is_left_out(path: str) -> None:
    assert steers_git(path)


@pytest.mark.parametrize("path", LEAVES)
def test_any_other_file_is_kept(path: str) -> None:
    assert not steers_git(path)


def test_they_do_not_come_with_the_files_of_a_run() -> None:
    files = {path: FileState(kind="file", content=b"x") for path in (*STEERS, *LEAVES)}
    story = CaseRun(generator="g", case=ALONE, intent=Intent(), before={}, runs=())
    assert {path for path, _ in readable(story, files)} == set(LEAVES)
