"""A tool that sets the mode alone, and says so: what the user's file grants is asked of the real Codex."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_codexsandbox.cli import main
from pytest_codexsandbox.doors.claims import Claimant

SAYS, DOES = "effective.says-what-was-asked", "effective.does-what-was-asked"
MODE = 'sandbox_mode = "workspace-write"'
TOOL = f"""
import os, sys
path = os.environ["CODEX_HOME"] + "/config.toml"
text = open(path).read()
if not text.startswith({MODE!r}):
    TRICK
    open(path, "w").write({MODE!r} + "\\n" + text)
"""
ADDS = """text = text.replace('roots = [', 'roots = ["' + os.environ["CODEX_HOME"].replace(".codex", "x") + '", ')"""
FORGETS = 'text = "".join(line for line in text.splitlines(True) if not line.startswith("writable_roots"))'
NETWORK = 'text += "network_access = true\\n"'
KEEPS = '{ keeps = ["roots", "network"] }'
Try = Callable[..., str]


@pytest.fixture
def tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Try:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")

    def told(trick: str, *, expect: str = KEEPS, case: str = "20-table-roots") -> str:
        (tmp_path / "tool.py").write_text(TOOL.replace("TRICK", trick))
        row = f"[[semantics]]\nexpect = {expect}\n"
        name = f"mine{len(list(tmp_path.glob('*.toml')))}.toml"  # a declaration is read once
        (tmp_path / name).write_text(f'run = "{sys.executable} tool.py"\nowns = ["sandbox_mode"]\n{row}')
        main(["generator", "try", "-v", "--case", case, "--", f"./{name}"])
        return capsys.readouterr().out

    return told


def test_a_grant_by_the_user_is_no_leak_of_a_generator_that_keeps_it(tried: Try) -> None:
    kept = tried("pass")
    for promise in (SAYS, DOES):
        assert f"P {promise}: " in kept, kept
    assert f"F {SAYS} leak (root-too-many)" in tried("pass", expect="{ network = false, roots = [] }")


@pytest.mark.parametrize(
    ("trick", "red"),
    [(ADDS, "leak (root-too-many)"), (FORGETS, "denied (root-missing)"), (NETWORK, "leak (another-network)")],
)
def test_a_generator_that_claims_to_keep_and_does_not_is_red(tried: Try, trick: str, red: str) -> None:
    shown = tried(trick)
    assert f"F {SAYS} {red}" in shown, shown


def test_settings_decided_by_the_users_permissions_are_never_green(tried: Try) -> None:
    """The file leads to another mode than was asked for, and has no words for that one."""
    shown = tried("text = text.replace('default_permissions', '# default_permissions')", case="26-default-permissions")
    assert re.search(rf"\b2 [a-z ]+: {SAYS}, {DOES}: .* ':read-only' .*\broots\b", shown), shown


def test_a_file_is_asked_about_in_another_mode_and_stays_as_it_is(claimant: Claimant) -> None:
    root = claimant.world.values["ROOT0"]
    grants = f'[sandbox_workspace_write]\nwritable_roots = ["{root}"]\nnetwork_access = true\n'
    for text in (grants, f'sandbox_mode = "read-only"\n{grants}', f"sandbox_mode = 'danger-full-access'\n{grants}"):
        for fresh in (False, True):
            claim = claimant.claim(text.encode(), mode="workspace-write", fresh=fresh)
            assert (claim.sandbox, claim.roots, claim.network) == ("workspace-write", ("@ROOT0@",), True), claim
            assert (claim.fresh, claim.approval) == (fresh, claimant.claim(text.encode()).approval)
            assert not claim.config.get("projects"), "nobody trusts a folder for it"
        assert claimant.claim(text.encode()).sandbox != "workspace-write"
