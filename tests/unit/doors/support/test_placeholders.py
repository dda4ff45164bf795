"""Placeholders become paths at every depth, and the plan travels as one word."""

import pytest

from pytest_codexsandbox.doors.support.placeholders import (
    fill,
    fill_act,
    in_order,
    looked_at,
    plan_word,
    read_plan,
)
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.model.act import Act, Call, Given
from pytest_codexsandbox.model.base_acts import BASE_ACTS, FORBIDDEN
from tests.fakes.scripted import world

ID = "sqlite.board-works/insert"


def test_every_text_of_an_act_is_filled_with_the_acts_own_name() -> None:
    act = Act(
        verb="rename",
        path="@OUTSIDE@/@NAME@",
        looks=("@TMP@/@NAME@",),
        params={"to": "@ROOT0@/b", "deep": [{"x": ("@HTTP@", 1, None)}]},
        given=(Given(kind="symlink", path="@WORKSPACE@/@NAME@", content="@OUTSIDE@/t", mode=0o600),),
    )
    filled = fill_act(world(), ID, act)
    assert filled.path == "/run folder/w1/outside/tmp-w1-sqlite-board-works-insert"
    assert filled.params == {"to": "/run folder/w1/root0/b", "deep": [{"x": ("8080", 1, None)}]}
    assert filled.looks == ("/tmp/tmp-w1-sqlite-board-works-insert",)
    assert filled.given[0].path.endswith("workspace/tmp-w1-sqlite-board-works-insert")
    assert (filled.given[0].content, filled.given[0].mode) == ("/run folder/w1/outside/t", 0o600)


def test_an_unknown_placeholder_is_an_error_that_names_the_act() -> None:
    with pytest.raises(InputError, match=r"@OUTSDE@[\s\S]*sqlite\.board"):
        fill(world(), {"to": "@OUTSDE@/x"}, ID)


def test_base_acts_ride_first_and_what_ends_the_probe_comes_last() -> None:
    acts = {"p/end": Act(verb="exit"), "p/write": Act(verb="write", path="@TMP@/x")}
    assert list(in_order(acts, Call())) == [*BASE_ACTS, "p/write", "p/end"]


def test_a_command_of_its_own_is_looked_at_where_no_sandbox_lets_it_write() -> None:
    acts = {"p/look": Act(verb="status", looks=("@TMP@/x",))}
    assert in_order(acts, Call(argv=("true",))) == {FORBIDDEN: BASE_ACTS[FORBIDDEN], **acts}


def test_a_call_can_end_only_once() -> None:
    with pytest.raises(InputError, match="several acts"):
        in_order({"a": Act(verb="exit"), "b": Act(verb="signal")}, Call())


def test_both_ends_of_a_rename_are_looked_at_and_the_target_of_a_symlink_is_not() -> None:
    paths = {"path": "@WORKSPACE@/a", "params": {"to": "@OUTSIDE@/b"}, "looks": ("@TMP@/c", "@WORKSPACE@/a")}
    assert looked_at(Act(verb="rename", **paths)) == ("@WORKSPACE@/a", "@OUTSIDE@/b", "@TMP@/c")  # type: ignore[arg-type]
    assert looked_at(Act(verb="symlink", **paths)) == ("@WORKSPACE@/a", "@TMP@/c")  # type: ignore[arg-type]
    assert looked_at(Act(verb="env", path="")) == ()


def test_a_plan_can_be_read_back() -> None:
    acts = {"a/b": Act(verb="write", path="/ä", params={"data": "\x00"})}
    assert read_plan(plan_word(acts)) == [{"id": "a/b", "verb": "write", "path": "/ä", "params": {"data": "\x00"}}]


def test_sixty_acts_are_far_from_the_limit_of_one_word() -> None:
    acts = {f"topic.promise-{n}/act": Act(verb="write", path=f"/some/folder/{n}") for n in range(60)}
    assert len(plan_word(acts)) < 8000


def test_a_plan_that_no_command_can_hold_is_refused_before_anything_starts() -> None:
    incompressible = "".join(chr(0x4E00 + n * 7919 % 20000) for n in range(200_000))
    with pytest.raises(InputError, match="one argument"):
        plan_word({"a": Act(verb="write", params={"data": incompressible})})
