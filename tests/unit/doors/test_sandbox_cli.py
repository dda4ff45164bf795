"""The words that each release wants to hear for each policy."""

import tomllib

import pytest

from pytest_codexsandbox.doors.controls import BareBwrapDoor, UnconfinedDoor
from pytest_codexsandbox.doors.sandbox_cli import SandboxDoor
from pytest_codexsandbox.doors.support.call_settings import toml_text
from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.model.act import Call
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.policy import FULL_ACCESS, NETWORK, NO_TMP, POLICIES, READ_ONLY, ROOTS, WORKSPACE_WRITE
from pytest_codexsandbox.protocols import Door
from tests.fakes.scripted import FakeSubject, world

OLD = FakeSubject(sandbox="debug-landlock", workspace_write="full-auto", full_access=False)
MIDDLE = FakeSubject(sandbox="sandbox-linux", workspace_write="full-auto", full_access=False)
NEW = FakeSubject()


def asked(subject: FakeSubject, policy: str, call: Call | None = None) -> Command:
    return SandboxDoor().command(subject, POLICIES[policy], world(), ("true", "--word"), call or Call())


@pytest.mark.parametrize(
    ("subject", "words"), [(OLD, ["debug", "landlock"]), (MIDDLE, ["sandbox", "linux"]), (NEW, ["sandbox"])]
)
def test_read_only_is_the_plain_command_in_the_shape_of_the_release(subject: FakeSubject, words: list[str]) -> None:
    assert list(asked(subject, READ_ONLY).argv) == ["/opt/codex", *words, "--", "true", "--word"]


@pytest.mark.parametrize(("subject", "words"), [(OLD, ("debug", "landlock")), (MIDDLE, ("sandbox", "linux"))])
def test_old_releases_are_asked_for_workspace_write_by_full_auto(subject: FakeSubject, words: tuple[str, ...]) -> None:
    assert asked(subject, WORKSPACE_WRITE).argv == ("/opt/codex", *words, "--full-auto", "--", "true", "--word")


def test_new_releases_are_asked_for_workspace_write_by_an_override() -> None:
    assert asked(NEW, WORKSPACE_WRITE).argv[1:4] == ("-c", 'sandbox_mode="workspace-write"', "sandbox")


def test_every_root_and_switch_becomes_an_override_before_the_subcommand() -> None:
    assert asked(OLD, NO_TMP).argv[1:6] == (
        "-c",
        "sandbox_workspace_write.exclude_slash_tmp=true",
        "-c",
        "sandbox_workspace_write.exclude_tmpdir_env_var=true",
        "debug",
    )
    for call, key in (
        (Call(excludes=("slash-tmp",)), "exclude_slash_tmp"),
        (Call(excludes=("tmpdir",)), "exclude_tmpdir_env_var"),
    ):
        words = asked(NEW, WORKSPACE_WRITE, call).argv
        assert [word for word in words if "exclude" in word] == [f"sandbox_workspace_write.{key}=true"]
    assert "sandbox_workspace_write.network_access=true" in asked(NEW, NETWORK).argv
    roots = asked(NEW, ROOTS, Call(roots=("../beside", "@OUTSIDE@"))).argv[4]
    parsed = tomllib.loads(roots)["sandbox_workspace_write"]["writable_roots"]
    assert parsed == ["/run folder/w1/root0", "../beside", "/run folder/w1/outside"]


@pytest.mark.parametrize("text", ['a"b', "a\\b", "a\nb\t\x7f", "ünï", "'", "a b", "\\u0041"])
def test_any_path_survives_the_quoting(text: str) -> None:
    assert tomllib.loads(f"x = {toml_text(text)}") == {"x": text}


def test_full_access_is_asked_for_only_where_the_release_knows_it() -> None:
    assert asked(NEW, FULL_ACCESS).argv[1:3] == ("-c", 'sandbox_mode="danger-full-access"')
    with pytest.raises(Unavailable, match="danger-full-access"):
        asked(OLD, FULL_ACCESS)


def test_a_release_without_the_command_is_reported() -> None:
    with pytest.raises(Unavailable, match="no command"):
        asked(FakeSubject(sandbox="none"), READ_ONLY)


def test_read_only_ignores_roots_that_only_workspace_write_has() -> None:
    assert "-c" not in asked(NEW, READ_ONLY, Call(roots=("@ROOT0@",))).argv


@pytest.mark.parametrize("door", [SandboxDoor(), UnconfinedDoor()])
def test_the_environment_is_built_from_nothing_and_the_call_has_the_last_word(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not for you")
    call = Call(env={"LANG": "C", "EXTRA": "@WORKSPACE@ = 1"}, cwd="@OUTSIDE@", stdin=b"said", timeout=3.0)
    made = door.command(NEW, POLICIES[READ_ONLY], world(), ("true",), call)
    assert "OPENAI_API_KEY" not in made.env
    assert (made.env["HOME"], made.env["CODEX_HOME"]) == ("/run folder/w1/home", "/run folder/w1/codex-home")
    assert (made.env["LANG"], made.env["EXTRA"]) == ("C", "/run folder/w1/workspace = 1")
    assert (made.cwd, made.stdin, made.timeout) == ("/run folder/w1/outside", b"said", 3.0)


def test_both_sides_get_the_same_environment_and_folder() -> None:
    inside = asked(NEW, WORKSPACE_WRITE)
    outside = UnconfinedDoor().command(NEW, POLICIES[WORKSPACE_WRITE], world(), ("true", "--word"), Call())
    assert outside.argv == ("true", "--word")
    assert (outside.env, outside.cwd, outside.timeout) == (inside.env, inside.cwd, inside.timeout)


def test_no_release_sees_the_users_own_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("CODEX_HOME", "/home/somebody/.codex")
    for subject in (OLD, MIDDLE, NEW):
        assert "/home/somebody" not in repr(asked(subject, WORKSPACE_WRITE))


def test_full_access_has_no_bare_bubblewrap() -> None:
    with pytest.raises(Unavailable, match="no bubblewrap"):
        BareBwrapDoor().command(NEW, POLICIES[FULL_ACCESS], world(), ("true",), Call())
