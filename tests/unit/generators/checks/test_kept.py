"""P11 and P12 of parts that a generator keeps as the user's file has them."""

import msgspec
import pytest

from pytest_codexsandbox.generators.checks.argv import argv_as_codex_reads
from pytest_codexsandbox.generators.checks.grant_limits import grants_no_more
from pytest_codexsandbox.model.generator import CaseRun, DecisionRow, ExpectedPolicy
from tests.unit.generators.builders import ANY, case_run, held, reasons
from tests.unit.generators.checks.test_policy import MODE, OFF, ROOT0, WW, asked, ended_story, roots, table

KEEPS = DecisionRow(expect=ExpectedPolicy(keeps=("roots", "network")))
MINE = b'[sandbox_workspace_write]\nwritable_roots = ["/mine"]\nnetwork_access = true\n'


def keeping(before: bytes, after: str | bytes, *, row: DecisionRow = KEEPS) -> CaseRun:
    """Its own words go above the user's; of `after` as bytes the whole file is made."""
    text = after if isinstance(after, bytes) else after.encode() + before
    return case_run(before, text, intent=asked("@ROOT0@"), row=row, alone=WW.encode())


def test_a_grant_by_the_user_may_stay_if_it_is_kept() -> None:
    assert held(grants_no_more(keeping(MINE, WW), ANY))
    assert held(grants_no_more(keeping(b"", WW), ANY))
    assert held(argv_as_codex_reads(kept_argv(MODE), ANY))


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (table("/mine", ROOT0, more="network_access = true\n"), "not-asked"),
        (table(more="network_access = true\n"), "root-missing"),
        (table("/", more="network_access = true\n"), "whole-machine"),
    ],
)
def test_a_kept_policy_is_neither_more_nor_less(after: str, reason: str) -> None:
    assert reasons(grants_no_more(keeping(MINE, after.encode()), ANY)) == {reason}


def test_a_network_that_is_kept_is_not_one_that_was_switched_on() -> None:
    on = f"{WW}[sandbox_workspace_write]\nnetwork_access = true\n"
    assert reasons(grants_no_more(keeping(b"", on), ANY)) == {"network-added"}
    off = b"[sandbox_workspace_write]\nnetwork_access = false\n"
    assert reasons(grants_no_more(keeping(off, on.encode()), ANY)) == {"network-added"}
    every = DecisionRow(expect=ExpectedPolicy(keeps=True))
    assert reasons(grants_no_more(keeping(b"", table(ROOT0), row=every), ANY)) == {"another-mode", "not-asked"}, (
        "though wished"
    )


def kept_argv(argv: tuple[str, ...]) -> CaseRun:
    return msgspec.structs.replace(ended_story(argv, asked("@ROOT0@"), MINE), row=KEEPS)


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        ((*MODE, *roots("/mine", ROOT0)), "root-added"),
        ((*MODE, *roots(ROOT0)), "root-missing"),
        ((*MODE, *OFF), "another-network"),
        ((*MODE, "--add-dir", ROOT0), "root-added"),
    ],
)
def test_arguments_that_do_not_keep_what_is_kept_are_found(argv: tuple[str, ...], reason: str) -> None:
    assert reason in reasons(argv_as_codex_reads(kept_argv(argv), ANY))
