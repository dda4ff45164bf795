"""A root in another root: it is granted with it, and Codex stumbles over it where it is not there."""

from pytest_codexsandbox.config_writer.request import outermost
from pytest_codexsandbox.generators.effective_policy import Oracle, says
from pytest_codexsandbox.model.generator import Claim, ExpectedPolicy

ORACLE = Oracle(held=True, words="it can be asked")


def test_a_root_in_another_root_is_left_out() -> None:
    assert outermost(["/a/b", "/a", "/a/b/c", "/ab", "/a"]) == ("/a", "/ab")
    assert outermost(["/a/../b/c", "/b"]) == ("/b",)
    assert outermost(["/a/"]) == ("/a/",), "it is not in itself"


def test_a_folder_in_a_granted_folder_is_granted() -> None:
    asked = ExpectedPolicy(sandbox="workspace-write", network=False, roots=("@ROOT0@", "@ROOT0@/inner"))
    claim = Claim(loads=True, sandbox="workspace-write", network=False, roots=("@ROOT0@",))
    assert all(row.held for row in says(claim, asked, ORACLE))


def test_a_parent_of_what_was_asked_is_too_much_and_a_neighbour_is_not_granted() -> None:
    asked = ExpectedPolicy(sandbox="workspace-write", network=False, roots=("@ROOT0@/inner",))
    wide = Claim(loads=True, sandbox="workspace-write", network=False, roots=("@ROOT0@",))
    beside = Claim(loads=True, sandbox="workspace-write", network=False, roots=("@ROOT0@/inner2",))
    assert [row.reason for row in says(wide, asked, ORACLE) if not row.held] == ["root-too-many"]
    assert {row.reason for row in says(beside, asked, ORACLE) if not row.held} == {"root-missing", "root-too-many"}
