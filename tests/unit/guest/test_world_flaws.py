"""World flaws of a bad fake Codex: each where it is asked for, and nothing where it is not."""

import os
from pathlib import Path

import pytest

from pytest_codexsandbox.guest import world_flaws


@pytest.mark.parametrize("name", ["two words", "'q'", '"d"', "[x]", "100%", "ü", "a\nb", "#1", "back\\slash"])
def test_a_name_that_a_shell_or_a_format_takes_for_its_own_is_odd(name: str) -> None:
    assert world_flaws.is_odd(f"/run/w1/{name}")
    assert not world_flaws.is_odd("/home/user/.cache/runs/2026-11-20T05-51_a~b/w1/-plain")


def added(*flaws: str, folder: str = "", stdin: str = "other") -> set[str]:
    """Returns the flaws that this call has beside those of any call."""
    return set(world_flaws.in_force(flaws, folder=folder, stdin=stdin) - set(flaws))


def test_a_flaw_of_odd_folders_is_in_force_there_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd, link = tmp_path / "two words", tmp_path / "link"
    odd.mkdir()
    link.symlink_to(odd)
    flaws = ("when:odd:unconfined", "when:odd:socket:INET", "odd:lost")
    assert added(*flaws, folder=str(odd)) == added(*flaws, folder=str(link)) == {"unconfined", "socket:INET"}
    monkeypatch.chdir(odd)
    assert added(*flaws) == {"unconfined", "socket:INET"}
    assert added(*flaws, folder="/") == set()


def test_the_second_call_in_one_home_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    assert [added("when:second:unconfined") for _ in range(3)] == [set(), {"unconfined"}, {"unconfined"}]
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "another"))
    assert added("when:second:unconfined") == set()


def test_a_variable_switches_the_sandbox_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert added("when:variables:unconfined") == set()
    monkeypatch.setenv("CODEX_SANDBOX", "off")
    assert added("when:variables:unconfined") == {"unconfined"}
    assert added() == set()


@pytest.mark.parametrize("kind", ["null", "closed", "terminal"])
def test_a_flaw_of_one_stdin_is_in_force_with_that_one_alone(kind: str) -> None:
    flaw = f"when:stdin-{kind}:forgets:.git"
    found = {stdin: added(flaw, stdin=stdin) for stdin in ("null", "closed", "terminal", "other")}
    assert {stdin for stdin, more in found.items() if more} == {kind}
    assert found[kind] == {"forgets:.git"}


def test_a_link_ends_the_call_by_its_flaws_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    world_flaws.refuse_link(["git-link:dies"], str(tmp_path))
    link = tmp_path / ".git"
    link.symlink_to("real-git")
    world_flaws.refuse_link(["odd:lost"], str(tmp_path))
    for flaw, named in (("git-link:dies", False), ("git-link:named", True)):
        with pytest.raises(SystemExit):
            world_flaws.refuse_link([flaw], str(tmp_path))
        assert (str(link) in capfd.readouterr().err) is named


def test_parents_are_granted_where_that_is_the_flaw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    monkeypatch.setenv("PWD", str(link))
    roots = ["/w/a root", "/w/plain"]
    assert world_flaws.more_roots(["odd:root-widened"], roots) == ["/w"]
    assert world_flaws.more_roots(["linked:widened"], roots) == [os.path.realpath(tmp_path)]
    assert world_flaws.more_roots([], roots) == []


def test_variables_are_lost_or_added_where_that_is_the_flaw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "auth.json").write_text('{"OPENAI_API_KEY": "the-key"}')
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    monkeypatch.setenv("SOME_TOKEN", "x")
    assert world_flaws.variables([]) == dict(os.environ)
    assert "SOME_TOKEN" not in world_flaws.variables(["environment:secrets-lost"])
    assert set(world_flaws.variables(["environment:dropped"])) <= {"PATH", "HOME", "TMPDIR"}
    assert world_flaws.variables(["environment:token"])["CODEX_ACCESS_TOKEN"] == "the-key"


def test_words_that_are_not_utf_8_are_replaced() -> None:
    assert world_flaws.as_utf_8([os.fsdecode(b"\xff"), "grün"]) == ["�", "grün"]
