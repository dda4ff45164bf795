"""Globs over a user's own tests wait until those tests are known."""

import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.select import Names, Selection, Selector, calls_left_out, check_user, shipped_part
from pytest_codexsandbox.model.act import Call
from pytest_codexsandbox.model.promise import Promise

ASKED = Selection(only=("sqlite.*,user.test-mine-py-test-*",), skip=("user.*-slow",))
MINE = ("user.test-mine-py-test-one", "user.test-mine-py-test-slow")


def test_the_shipped_part_is_what_speaks_of_shipped_promises() -> None:
    assert shipped_part(ASKED) == Selection(only=("sqlite.*",))


def test_globs_that_match_a_test_of_the_user_are_fine() -> None:
    check_user(ASKED, MINE)


@pytest.mark.parametrize("asked", [Selection(only=("user.nowhere",)), Selection(skip=("user.nowhere",))])
def test_a_glob_that_matches_no_test_is_an_error_that_names_those_that_exist(asked: Selection) -> None:
    with pytest.raises(InputError, match=r"user\.nowhere") as caught:
        check_user(asked, MINE)
    assert "test-mine-py-test-one" in caught.value.why


def _promise(name: str, call: Call | None) -> Promise:
    return Promise(
        id=name, title=name, kind="claim", severity="low", needs="sandbox", policies=(), source="s", call=call
    )


PROMISES = (_promise("process.own", Call()), _promise("sqlite.own", Call()), _promise("process.shared", None))


@pytest.mark.parametrize(
    ("taken", "left_out"),
    [
        (("*",), ()),
        (("process.*",), ("sqlite.own",)),
        ((), ("process.own", "sqlite.own")),
    ],
)
def test_own_calls_leave_out_promises_with_a_call_and_no_others(
    taken: tuple[str, ...], left_out: tuple[str, ...]
) -> None:
    assert calls_left_out(taken, PROMISES) == left_out


def test_a_glob_of_own_calls_that_fits_no_such_promise_is_an_error() -> None:
    with pytest.raises(InputError) as caught:
        calls_left_out(("process.shared",), PROMISES)
    assert "process.own" in caught.value.why


def test_a_key_without_its_call_says_so() -> None:
    names = Names(cells=("c",), promises=("process.own",), policies=("p",), doors=("d",))
    selector = Selector(Selection(without_calls=("process.own",)), names)
    assert "own_calls" in selector.why_not(cell="c", door="d", policy="p", promise="process.own")
