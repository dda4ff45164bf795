"""A file in an older shape: what was lost, and by whom."""

from typing import Any

from pytest_codexsandbox.generators.checks.owning import Own
from pytest_codexsandbox.generators.strain.shapes import Move, judged, placed
from pytest_codexsandbox.model.generator import Declaration, Finding, Marker
from tests.unit.generators.makers import BLOCK, ended, story

USER = b'# mine\nmodel = "x"\n\n[tui]\nnotifications = false\n'
OLDER = b"[sandbox_workspace_write]\nnetwork_access = true\n" + USER  # captures `model`
GOOD = BLOCK + b'# mine\nmodel = "x"\n\n[tui]\nnotifications = false\n'
LOSES = BLOCK + b"# mine\n[tui]\nnotifications = false\n"
DECLARED = Declaration(
    owns=("sandbox_mode", "sandbox_workspace_write.network_access"), markers=(Marker(begin="# BEGIN x", end="# END x"),)
)
OLDER_OWNS = Own(patterns=(("sandbox_workspace_write", "network_access"),), how="declared")


def move(after: bytes, *, older: bytes = OLDER, **words: Any) -> Move:
    return Move(name="older", users=USER, older=older, story=story(older, after, **words), older_owns=OLDER_OWNS)


def reasons(found: tuple[Finding, ...]) -> set[str]:
    assert found
    assert all(one.control_held for one in found), [one.control for one in found if not one.control_held]
    return {one.reason for one in found if not one.held}


def said(found: tuple[Finding, ...]) -> str:
    return "\n".join(one.saw for one in found)


def test_a_captured_key_may_be_given_back() -> None:
    found = judged(move(GOOD), DECLARED)
    assert reasons(found) == set()
    assert "older had captured model" in said(found)


def test_a_captured_key_that_is_thrown_away_is_missed() -> None:
    found = judged(move(LOSES), DECLARED)
    assert reasons(found) == {"key-lost"}
    assert "which older had captured as sandbox_workspace_write.model" in said(found)


def test_what_the_older_one_had_lost_is_not_blamed_on_the_new_one() -> None:
    older = b"# mine\n[sandbox_workspace_write]\nnetwork_access = true\n[tui]\nnotifications = false\n"
    found = judged(move(LOSES, older=older), DECLARED)
    assert reasons(found) == set()
    assert "older itself had lost model" in said(found)


def test_a_comment_that_was_left_must_stay() -> None:
    assert reasons(judged(move(GOOD.replace(b"# mine\n", b"")), DECLARED)) == {"comment-lost"}


def test_a_value_of_the_older_shape_does_not_stay() -> None:
    spoilt = GOOD.replace(b"network_access = false", b"network_access = true")
    assert reasons(judged(move(spoilt), DECLARED)) == {"value-changed"}


def test_a_second_block_is_told() -> None:
    assert "duplicate-key" in reasons(judged(move(BLOCK + GOOD), DECLARED))


def test_a_shape_that_it_takes_over_is_not_declined() -> None:
    told = ended(OLDER, code=3, stderr="not mine")
    refused = Move(name="older", users=USER, older=OLDER, story=told, older_owns=OLDER_OWNS)
    assert reasons(judged(refused, DECLARED)) == {"declines-older-shape"}


def test_a_shape_that_does_not_load_may_be_left_alone() -> None:
    broken = OLDER + b"= 1\n"
    told = ended(broken, code=3, stderr="not mine")
    refused = Move(name="older", users=USER, older=broken, story=told, older_owns=OLDER_OWNS)
    assert reasons(judged(refused, DECLARED)) == set()


def test_a_shape_that_does_not_load_may_be_repaired() -> None:
    broken = OLDER + b"= 1\n"
    assert reasons(judged(move(GOOD, older=broken), DECLARED)) == set()
    assert reasons(judged(move(LOSES, older=broken), DECLARED)) == {"key-lost", "broken-and-wiped"}


def test_a_file_that_is_in_no_older_shape_proves_nothing() -> None:
    same = move(GOOD, older=USER)
    assert not all(one.control_held for one in judged(same, DECLARED))


def test_every_key_is_looked_for_where_the_older_one_put_it() -> None:
    there, lost = placed({("model",): "x", ("gone",): 1, ("tui", "notifications"): False}, OLDER)
    assert there == {
        ("model",): ("sandbox_workspace_write", "model"),
        ("tui", "notifications"): ("tui", "notifications"),
    }
    assert lost == (("gone",),)
