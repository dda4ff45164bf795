"""A file in an older shape: what was lost, and by whom."""

from typing import Any

import msgspec
import pytest

from pytest_codexsandbox.generators.checks.findings import CheckFault
from pytest_codexsandbox.generators.checks.ownership import Ownership
from pytest_codexsandbox.generators.stress import migration
from pytest_codexsandbox.generators.stress.migration import Move, judged, placed
from pytest_codexsandbox.model.generator import Finding
from tests.unit.generators.builders import BLOCK, case_run, ended
from tests.unit.generators.stress.builders import DECLARED, reasons

USER = b'# mine\nmodel = "x"\n\n[tui]\nnotifications = false\n'
OLDER = b"[sandbox_workspace_write]\nnetwork_access = true\n" + USER  # captures `model`
GOOD = BLOCK + b'# mine\nmodel = "x"\n\n[tui]\nnotifications = false\n'
LOSES = BLOCK + b"# mine\n[tui]\nnotifications = false\n"
OLDER_OWNS = Ownership(patterns=(("sandbox_workspace_write", "network_access"),), how="declared")


def move(after: bytes, *, older: bytes = OLDER, **words: Any) -> Move:
    return Move(name="older", users=USER, older=older, case_run=case_run(older, after, **words), older_owns=OLDER_OWNS)


def said(found: tuple[Finding, ...]) -> str:
    return "\n".join(one.saw for one in found)


def test_a_captured_key_may_be_given_back() -> None:
    found = judged(move(GOOD), DECLARED)
    assert reasons(found) == set()
    assert "captured model" in said(found)


def test_a_captured_key_that_is_thrown_away_is_missed() -> None:
    found = judged(move(LOSES), DECLARED)
    assert reasons(found) == {"key-lost"}
    assert " sandbox_workspace_write.model" in said(found)


def test_a_loss_by_the_older_generator_is_not_blamed_on_the_new_one() -> None:
    older = b"# mine\n[sandbox_workspace_write]\nnetwork_access = true\n[tui]\nnotifications = false\n"
    found = judged(move(LOSES, older=older), DECLARED)
    assert reasons(found) == set()
    assert "lost model" in said(found)


def test_a_comment_that_was_left_must_stay() -> None:
    assert reasons(judged(move(GOOD.replace(b"# mine\n", b"")), DECLARED)) == {"comment-lost"}


def test_a_value_of_the_older_shape_does_not_stay() -> None:
    spoilt = GOOD.replace(b"network_access = false", b"network_access = true")
    assert reasons(judged(move(spoilt), DECLARED)) == {"value-changed"}


def test_a_second_block_is_reported() -> None:
    assert "duplicate-key" in reasons(judged(move(BLOCK + GOOD), DECLARED))


def test_a_shape_that_it_takes_over_is_not_declined() -> None:
    told = ended(OLDER, code=3, stderr="not mine")
    refused = Move(name="older", users=USER, older=OLDER, case_run=told, older_owns=OLDER_OWNS)
    assert reasons(judged(refused, DECLARED)) == {"declines-older-shape"}


def test_a_generator_that_declines_a_shape_touches_no_byte_of_it() -> None:
    for older in (OLDER, OLDER + b"= 1\n"):
        told = ended(older, after=USER, code=3, stderr="not mine")
        refused = Move(name="older", users=USER, older=older, case_run=told, older_owns=OLDER_OWNS)
        found = judged(refused, DECLARED)
        assert reasons(found) - {"declines-older-shape"} == {"declined-and-wrote"}
        assert {one.direction for one in found if one.reason == "declines-older-shape"} <= {"denied"}


@pytest.mark.parametrize(
    ("after", "wrong"),
    [
        (GOOD.replace(b'model = "x"', b'model = "y"'), {"key-lost"}),
        (GOOD.replace(b'model = "x"', b'other = "x"'), {"key-lost", "not-declared"}),
        (GOOD.replace(b"notifications = false", b"notifications = true"), {"key-lost"}),
        (BLOCK + USER.replace(b'model = "x"\n', b"") + b'[x]\nmodel = "x"\n', {"key-lost", "captured"}),
        (GOOD + b"[[torn\n", {"does-not-parse"}),
        (GOOD + b"# BEGIN x\n", {"orphan-mark"}),
        (USER, {"not-there", "no-marks", "value-changed"}),
    ],
)
def test_the_result_of_an_older_shape_is_judged_word_by_word(after: bytes, wrong: set[str]) -> None:
    assert reasons(judged(move(after), DECLARED)) == wrong


def test_a_fault_only_in_a_later_run_is_reported() -> None:
    two = msgspec.structs.replace(move(GOOD), case_run=case_run(OLDER, GOOD, LOSES, GOOD))
    assert {"key-lost", "changed-again"} <= {one.reason for one in judged(two, DECLARED)}


@pytest.mark.parametrize("seen", [(), (CheckFault(reason="anything", saw=""),)])
def test_a_check_that_sees_no_loss_or_only_losses_proves_nothing(
    seen: tuple[CheckFault, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration, "missing", lambda *given: iter(seen))
    rows = [one for one in judged(move(GOOD), DECLARED) if "the user's keys" in one.claim]
    assert [one.control_held for one in rows] == [False]


def test_without_knowing_what_the_new_one_writes_nothing_is_said_of_its_migration() -> None:
    (one,) = judged(move(GOOD, alone=None), DECLARED)
    assert one.skipped
    assert not one.held


def test_a_different_value_of_the_user_from_before_may_stay() -> None:
    mine = b'sandbox_mode = "read-only"\n'
    after = mine + BLOCK.replace(b'sandbox_mode = "workspace-write"\n', b"") + USER
    told = msgspec.structs.replace(move(after, older=mine + OLDER), users=mine + USER)
    assert [one.held for one in judged(told, DECLARED) if "its keys have" in one.claim] == [True]
    assert [one.held for one in judged(move(after), DECLARED) if "its keys have" in one.claim] == [False]


def test_every_key_is_looked_for_by_its_whole_name_and_its_value() -> None:
    older = b"[a]\n[a.tui]\nx = 1\n[b]\nx = 2\nsame = 1\n"
    there, lost = placed({("tui", "x"): 1, ("c", "x"): 2, ("other",): 1, ("b", "x"): 3}, older)
    assert there == {("tui", "x"): ("a", "tui", "x")}
    assert lost == (("c", "x"), ("other",), ("b", "x"))
    assert placed({("mine",): 1, ("gone",): 1}, b"mine = \n") == ({("mine",): ("mine",)}, (("gone",),))


def test_a_shape_that_does_not_load_may_be_left_alone() -> None:
    broken = OLDER + b"= 1\n"
    told = ended(broken, code=3, stderr="not mine")
    refused = Move(name="older", users=USER, older=broken, case_run=told, older_owns=OLDER_OWNS)
    assert reasons(judged(refused, DECLARED)) == set()


def test_a_shape_that_does_not_load_may_be_repaired() -> None:
    broken = OLDER + b"= 1\n"
    assert reasons(judged(move(GOOD, older=broken), DECLARED)) == set()
    assert reasons(judged(move(LOSES, older=broken), DECLARED)) == {"key-lost", "broken-and-wiped"}


def test_a_file_that_is_in_no_older_shape_proves_nothing() -> None:
    same = move(GOOD, older=USER)
    assert not any(one.control_held for one in judged(same, DECLARED))


def test_every_key_is_looked_for_where_the_older_one_put_it() -> None:
    there, lost = placed({("model",): "x", ("gone",): 1, ("tui", "notifications"): False}, OLDER)
    assert there == {
        ("model",): ("sandbox_workspace_write", "model"),
        ("tui", "notifications"): ("tui", "notifications"),
    }
    assert lost == (("gone",),)
