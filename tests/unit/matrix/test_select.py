"""Globs over a user's own tests wait until those tests are known."""

import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.select import Selection, check_user, shipped_part

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
