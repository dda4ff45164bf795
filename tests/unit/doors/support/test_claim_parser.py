"""The answers of every release's app-server, in the same words."""

from typing import Any

import pytest

from pytest_codexsandbox.doors.claims import effective
from pytest_codexsandbox.doors.support.claim_parser import claim_of, shown, with_placeholders
from pytest_codexsandbox.model.generator import Claim
from tests.fakes.scripted import world

WORLD = world()
HOME = WORLD.values["CODEX_HOME"]


def claimed(sandbox: dict[str, Any], **started: Any) -> Claim:
    return claim_of({}, {"sandbox": sandbox, **started}, (), WORLD, fresh=True)


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/run folder/w1/workspace", "@WORKSPACE@"),
        ("/run folder/w1/workspace/a", "@WORKSPACE@/a"),
        ("/run folder/w1/workspace-beside", "@WORLD@/workspace-beside"),
        ("/run folder/w1/codex-home/memories", "@CODEX_HOME@/memories"),
        ("/tmp", "@TMP@"),
        ("/run folder/t/x", "@TMPDIR@/x"),
        ("/srv", "/srv"),
        ("/tmpfs", "/tmpfs"),
    ],
)
def test_a_path_is_shown_by_the_longest_folder_that_holds_it(path: str, word: str) -> None:
    assert shown(WORLD, path) == word


def test_words_of_codex_name_no_folder_of_a_run() -> None:
    text = with_placeholders(WORLD, f"failed to load configuration: {HOME}/config.toml:1:3: bad /tmp/x")
    assert text == "failed to load configuration: @CODEX_HOME@/config.toml:1:3: bad /tmp/x"


@pytest.mark.parametrize(
    ("kind", "mode", "network"),
    [("readOnly", "read-only", None), ("dangerFullAccess", "danger-full-access", True), ("new-one", "", None)],
)
def test_modes_are_our_words_and_an_unknown_one_is_none_of_them(kind: str, mode: str, network: bool | None) -> None:
    claim = claimed({"type": kind})
    assert (claim.sandbox, claim.network, claim.roots) == (mode, network, ())


def test_default_roots_of_workspace_write_are_no_roots_and_those_of_a_release_are_separate() -> None:
    roots = [f"{HOME}/memories", WORLD.values["WORKSPACE"], "/tmp", WORLD.values["TMPDIR"], WORLD.values["ROOT0"]]
    claim = claimed({"type": "workspaceWrite", "writableRoots": roots, "networkAccess": False})
    assert (claim.roots, claim.own, claim.network) == (("@ROOT0@",), ("@CODEX_HOME@/memories",), False)


def test_a_temporary_folder_that_is_excluded_and_named_again_is_a_root() -> None:
    sandbox = {"type": "workspaceWrite", "writableRoots": ["/tmp"], "excludeSlashTmp": True}
    claim = claimed(sandbox)
    assert (claim.roots, claim.exclude_slash_tmp, claim.exclude_tmpdir) == (("@TMP@",), True, False)


@pytest.mark.parametrize(
    ("profile", "name"), [({"id": ":workspace", "extends": None}, ":workspace"), (None, ""), ("mine", "mine")]
)
def test_a_profile_is_named_as_each_release_names_it(profile: Any, name: str) -> None:
    assert claimed({"type": "readOnly"}, activePermissionProfile=profile).profile == name


def test_an_approval_policy_is_a_word_or_the_names_of_a_table() -> None:
    assert claimed({}, approvalPolicy="on-request").approval == "on-request"
    assert claimed({}, approvalPolicy={"granular": {}}).approval == "granular"
    assert claimed({}).approval == ""


def test_warnings_are_kept_but_for_the_machines_own() -> None:
    notices: list[dict[str, Any]] = [
        {"method": "configWarning", "params": {"summary": "Codex could not find bubblewrap on PATH. Install"}},
        {"method": "configWarning", "params": {"summary": "ignored", "details": f"{HOME}/config.toml"}},
        {"method": "thread/started", "params": {"summary": "no warning"}},
        {"method": "configWarning", "params": None},
    ]
    claim = claim_of({}, {"sandbox": {}}, notices, WORLD, fresh=True)
    assert claim.warnings == ("ignored @CODEX_HOME@/config.toml",)


def test_settings_without_effect_on_a_command_make_no_other_policy() -> None:
    one = claimed({"type": "readOnly"})
    other = claim_of(
        {"model": "m"}, {"sandbox": {"type": "readOnly"}, "approvalPolicy": "never"}, (), WORLD, fresh=False
    )
    assert effective(one) == effective(other)
    tables = ({"permissions": {"p": {"filesystem": {"/a": access}}}} for access in ("read", "write"))
    assert len({effective(claim_of(table, {"sandbox": {}}, (), WORLD, fresh=True)) for table in tables}) == 2
