"""Parts of a policy that a generator leaves as the user's files have them."""

import msgspec
import pytest

from pytest_codexsandbox.harness.generators.kept_settings import with_user_settings
from pytest_codexsandbox.model.generator import Claim, ExpectedPolicy, Mode, Part

ASKED = ExpectedPolicy(sandbox="workspace-write", network=False, roots=(), keeps=("roots", "network"))
READS = Claim(loads=True, sandbox="read-only", network=False, approval="on-request", profile=":read-only")
WRITES = Claim(loads=True, sandbox="workspace-write", network=True, roots=("@OUTSIDE@/cache",), approval="never")


def kept(asked: ExpectedPolicy, before: Claim, there: Claim | None = None) -> tuple[ExpectedPolicy, str]:
    def in_mode(mode: Mode) -> Claim:
        assert there is not None, "nobody has to ask"
        assert mode == asked.sandbox
        return there

    return with_user_settings(asked, before, in_mode)


def test_a_file_that_grants_and_names_no_mode_is_asked_in_the_mode_that_shall_be() -> None:
    asked = ExpectedPolicy(sandbox="workspace-write", network=True, roots=("@OUTSIDE@/cache",))
    assert kept(ASKED, READS, WRITES) == (asked, "")
    assert kept(ASKED, WRITES) == (asked, ""), "in that mode it is already"


@pytest.mark.parametrize(("part", "value"), [("roots", ("@OUTSIDE@/cache",)), ("network", True), ("approval", "never")])
def test_settings_that_are_not_kept_are_those_requested(part: Part, value: object) -> None:
    asked = ExpectedPolicy(
        sandbox="workspace-write", network=False, roots=("@ROOT0@",), approval="untrusted", keeps=(part,)
    )
    found, why = kept(asked, WRITES)
    assert (found, why) == (msgspec.structs.replace(asked, keeps=False, **{part: value}), "")


def test_a_mode_that_is_kept_is_the_users_and_in_another_one_roots_and_network_wait() -> None:
    asked = ExpectedPolicy(sandbox="workspace-write", network=True, roots=("@ROOT0@",), keeps=("sandbox",))
    assert kept(asked, READS) == (ExpectedPolicy(sandbox="read-only", network=False, roots=()), "")
    assert kept(asked, WRITES) == (msgspec.structs.replace(asked, keeps=False), "")


def test_all_that_is_kept_is_what_was_in_force() -> None:
    assert kept(ExpectedPolicy(sandbox="workspace-write", keeps=True), READS) == (
        ExpectedPolicy(sandbox="read-only", network=False, roots=(), approval="on-request"),
        "",
    )


@pytest.mark.parametrize(
    ("before", "there", "why"),
    [
        (Claim(loads=False, error="torn"), None, "does not load"),
        (msgspec.structs.replace(READS, config={"default_permissions": "mine"}), None, "the user's permissions 'mine'"),
        (READS, READS, "Codex reports read-only"),
        (READS, Claim(loads=False, error="no such profile"), "Codex reports no such profile"),
    ],
)
def test_a_setting_that_codex_cannot_report_is_left_open_and_named(
    before: Claim, there: Claim | None, why: str
) -> None:
    found, told = kept(ASKED, before, there)
    assert found == ExpectedPolicy(sandbox="workspace-write", network=None, roots=None)
    assert why in told
    assert "roots and network" in told
