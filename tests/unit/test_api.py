"""Declarations of promises: one that cannot be measured as it stands is an error at once."""

import pytest

from pytest_codexsandbox.api import declared, promise
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.model.act import Call
from pytest_codexsandbox.model.promise import REFUSABLE


def keeps_a_word() -> None:
    """Keeps it."""


@pytest.mark.parametrize("call", [None, Call(), Call(starts=2), Call(later=("@WORKSPACE@/a",))])
def test_a_codex_that_may_refuse_is_first_called_without_the_reason(call: Call | None) -> None:
    def declare(call: Call | None) -> None:
        promise("a.b", kind="boundary", severity="low", needs=REFUSABLE, source="s", policies=(), call=call)(
            keeps_a_word
        )

    with pytest.raises(InputError):
        declare(call)
    declare(Call(starts=2, later=("@WORKSPACE@/a",)))
    assert declared(keeps_a_word) is not None
