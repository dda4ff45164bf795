"""The words by which the doors app-server and exec reach Codex, with a policy of ours and with a generator's files."""

import tomllib
from typing import Any

import msgspec
import pytest

from pytest_codexsandbox.doors.app_server import AppServerDoor
from pytest_codexsandbox.doors.exec_turn import ExecDoor
from pytest_codexsandbox.doors.repro.script import DRIVERS, repro_script
from pytest_codexsandbox.doors.sandbox_cli import SandboxDoor
from pytest_codexsandbox.doors.support.codex_options import exec_words, settings_alone, settings_of
from pytest_codexsandbox.doors.support.driver_command import FAULT, QUIET, with_driver_error
from pytest_codexsandbox.doors.support.observe import observe
from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.guest import app_server_driver, driver, exec_turn_driver
from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.generator import GeneratedConfig, GeneratedFile
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.policy import FULL_ACCESS, NO_TMP, POLICIES, READ_ONLY, ROOTS, WORKSPACE_WRITE, Policy
from pytest_codexsandbox.model.world import World
from tests.fakes.scripted import FakeSubject, ScriptedEnvironment, world

DOORS = (AppServerDoor(), ExecDoor())
ABLE = FakeSubject(app_server=True)
INNER = ("true", "--word")
WRITE = {"x.y/w": Act(verb="write", path="@OUTSIDE@/@NAME@")}


def asked(door: Any, policy: str, **words: Any) -> Command:
    made: Command = door.command(ABLE, POLICIES[policy], world(), INNER, Call(**words))
    return made


def codex_of(command: Command) -> list[str]:
    """The words that the driver starts Codex with."""
    count = int(command.argv[5])
    assert command.argv[6 + count :] == INNER
    return list(command.argv[6 : 6 + count])


def settings(words: list[str]) -> dict[str, Any]:
    pairs = [words[place + 1] for place, word in enumerate(words) if word == "-c"]
    made: dict[str, Any] = {}
    for pair in pairs:
        for key, value in tomllib.loads(pair).items():
            made[key] = {**made[key], **value} if isinstance(value, dict) and key in made else value
    return made


def observed(door: Any, *, code: int = 0, stderr: bytes = b"", **words: Any) -> Observation:
    ended = CommandResult(ended="exit", exit=code, stderr=stderr, **words)
    (seen,) = door.observe(ScriptedEnvironment(lambda command: ended), ABLE, POLICIES[READ_ONLY], WRITE, None)
    assert isinstance(seen, Observation)
    return seen


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_a_driver_is_started_beside_the_probe_with_a_channel_in_the_world(door: Any) -> None:
    made = asked(door, READ_ONLY)
    assert made.argv[:3] == ("/usr/bin/python3", "-I", "-S")
    assert made.argv[3].startswith("/opt/") and made.argv[3].endswith(DRIVERS)
    assert made.argv[4] == made.channel == "/run folder/w1/channel"
    assert codex_of(made)[:2] == ["/opt/codex", door.name]
    assert made.cwd == "/run folder/w1/workspace"


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_is_all_in_overrides_behind_the_subcommand(door: Any, policy: str) -> None:
    told = settings(codex_of(asked(door, policy)))
    assert told["sandbox_mode"] == POLICIES[policy].mode
    detail = told.get("sandbox_workspace_write", {})
    assert detail.get("writable_roots", []) == (["/run folder/w1/root0"] if policy == ROOTS else [])
    assert detail.get("network_access", False) == POLICIES[policy].network
    assert (detail.get("exclude_slash_tmp", False), detail.get("exclude_tmpdir_env_var", False)) == (
        (True, True) if policy == NO_TMP else (False, False)
    )


@pytest.mark.parametrize("takes", [False, True])
def test_codex_takes_a_snapshot_of_the_shell_only_where_the_call_is_about_it(*, takes: bool) -> None:
    found = settings(codex_of(asked(ExecDoor(), WORKSPACE_WRITE, shell_snapshot=takes)))
    assert found["features"]["shell_snapshot"] is takes
    assert settings(codex_of(asked(AppServerDoor(), WORKSPACE_WRITE)))["features"]["shell_snapshot"] is False


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_the_own_words_of_a_call_are_heard_too(door: Any) -> None:
    made = asked(
        door, WORKSPACE_WRITE, roots=("@OUTSIDE@",), excludes=("slash-tmp",), env={"A": "@ROOT0@"}, timeout=7.0
    )
    detail = settings(codex_of(made))["sandbox_workspace_write"]
    assert detail == {"writable_roots": ["/run folder/w1/outside"], "exclude_slash_tmp": True}
    assert (made.env["A"], made.timeout) == ("/run folder/w1/root0", 7.0)


def test_exec_says_that_its_folder_is_trusted_so_that_codex_does_not_write_it_down() -> None:
    assert settings(codex_of(asked(ExecDoor(), READ_ONLY)))["projects"] == {
        "/run folder/w1/workspace": {"trust_level": "trusted"}
    }
    assert settings(codex_of(asked(ExecDoor(), READ_ONLY, untrusted=True)))["projects"] == {
        "/run folder/w1/workspace": {"trust_level": "untrusted"}
    }
    for untrusted in (False, True):
        assert "projects" not in settings(codex_of(asked(AppServerDoor(), READ_ONLY, untrusted=untrusted)))


@pytest.mark.parametrize("version", ["0.65.0", "0.99.0", "0.104.0"])
def test_releases_whose_app_server_runs_no_command_are_named(version: str) -> None:
    old = FakeSubject(app_server=True, version=version)
    assert "codex-linux-sandbox was required" in AppServerDoor().lacks(old.capabilities)
    with pytest.raises(Unavailable, match=version):
        AppServerDoor().command(old, POLICIES[READ_ONLY], world(), INNER, Call())
    assert ExecDoor().lacks(old.capabilities) == ""


@pytest.mark.parametrize("version", ["0.105.0", "0.121.0", "0.169.0", "0.0.0"])
def test_all_others_and_local_builds_are_asked(version: str) -> None:
    assert AppServerDoor().lacks(FakeSubject(app_server=True, version=version).capabilities) == ""


def test_a_codex_without_an_app_server_is_recognised_by_its_words() -> None:
    assert "has no app-server" in AppServerDoor().lacks(FakeSubject(app_server=False).capabilities)


# ---- a driver that cannot converse


def test_drivers_and_doors_mean_the_same_exit_code() -> None:
    assert driver.FAULT == FAULT
    assert app_server_driver.LONGEST > 10**6 and exec_turn_driver.NAME == "local"


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_an_error_of_a_driver_is_the_calls_error_and_says_nothing_about_codex(door: Any) -> None:
    seen = observed(door, code=FAULT, stderr=b"noise\ncodexsandbox: first\ncodexsandbox: never told\n")
    assert seen.error == "never told"
    assert observed(door, code=FAULT).error != ""


def test_the_same_code_of_a_command_is_its_own() -> None:
    seen = observed(ExecDoor(), code=FAULT, stderr=b"codexsandbox: x\n")
    assert with_driver_error(msgspec.structs.replace(seen, error="", ready=True)).error == ""
    assert observed(ExecDoor(), code=1, stderr=b"codexsandbox: x\n").error == ""


# ---- what a generator wrote


def wrote(given: World, policy: Policy) -> GeneratedConfig:
    return GeneratedConfig(
        files={
            "@CODEX_HOME@/config.toml": GeneratedFile(
                content=f'# {policy.id}\nx = "{given.folder}"\n'.encode(), mode=0o600
            )
        },
        argv=("-c", "a=1"),
        env={"EXTRA": "1", "TERM": "xterm"},
        unset=("LANG",),
    )


@pytest.mark.parametrize("door", [*DOORS, SandboxDoor()], ids=lambda door: door.name)
def test_a_generators_words_stand_where_the_policys_stood(door: Any) -> None:
    configured = door.configured(wrote)
    made = configured.command(ABLE, POLICIES[FULL_ACCESS], world(), INNER, Call())
    assert not [word for word in made.argv if "sandbox_mode" in word or "projects=" in word]
    assert made.argv[made.argv.index("a=1") - 1] == "-c"
    assert (made.env["EXTRA"], made.env["TERM"], "LANG" in made.env) == ("1", "xterm", False)
    assert (configured.name, configured.is_control) == (door.name, False)


def test_quiet_settings_stay_and_stand_before_a_generators() -> None:
    made = codex_of(AppServerDoor().configured(wrote).command(ABLE, POLICIES[READ_ONLY], world(), INNER, Call()))
    assert all(one in made for one in QUIET) and made.index("a=1") > made.index(QUIET[-1])


@pytest.mark.parametrize("door", [*DOORS, SandboxDoor()], ids=lambda door: door.name)
def test_its_files_are_created_before_the_call_and_are_no_leftovers(door: Any) -> None:
    environment = ScriptedEnvironment(lambda command: CommandResult(ended="exit"))
    (seen,) = door.configured(wrote).observe(environment, ABLE, POLICIES[READ_ONLY], WRITE, None)
    path = f"{seen.world.folder}/codex-home/config.toml"
    assert environment.files[path] == f'# read-only\nx = "{seen.world.folder}"\n'
    assert path in environment.known
    (laid,) = seen.given["base/configured"]
    assert (laid.path, laid.mode) == (path, 0o600)


def test_it_is_asked_once_for_each_world() -> None:
    asked_for: list[str] = []

    def counted(given: World, policy: Policy) -> GeneratedConfig:
        asked_for.append(given.id)
        return wrote(given, policy)

    environment = ScriptedEnvironment(lambda command: CommandResult(ended="exit"))
    AppServerDoor().configured(counted).observe(environment, ABLE, POLICIES[READ_ONLY], WRITE, Call(copies=3))
    assert len(asked_for) == len(set(asked_for)) == 3


@pytest.mark.parametrize(
    "words", [(), ("-c", "a=1"), ("--config=a=1", "--enable", "x"), ("--disable", "y", "-c", "-x"), ("-ca=1", "-c=b=2")]
)
def test_settings_are_taken(words: tuple[str, ...]) -> None:
    assert settings_of(words, door="sandbox") == words


def test_an_option_that_means_a_setting_is_taken_as_one_and_wins() -> None:
    words = ("-s", "read-only", "-c", 'sandbox_mode="danger-full-access"', "--ask-for-approval=never")
    settings = ("-c", "sandbox_mode='read-only'", "-c", "approval_policy='never'")
    assert settings_of(words, door="app-server") == (*words[2:4], *settings)
    assert settings_of(("--yolo",), door="app-server")[1::2] == (
        'sandbox_mode="danger-full-access"',
        'approval_policy="never"',
    )


def test_a_value_may_be_glued_on() -> None:
    """As `codex` takes it; behind `exec` it knows no `-a`, however that is written."""
    assert settings_of(("-sread-only", "-a=never"), door="app-server") == (
        "-c",
        "sandbox_mode='read-only'",
        "-c",
        "approval_policy='never'",
    )
    assert exec_words(("-anever", "-sread-only", "-pwork"), door="exec") == (
        "-c",
        "approval_policy='never'",
        "-sread-only",
        "-pwork",
    )
    assert settings_alone(("-pwork", "-ca=1", "-sread-only")) == ("-ca=1", "-c", "sandbox_mode='read-only'")


@pytest.mark.parametrize(
    "words",
    [("exec",), ("-c",), ("-s",), ("-c", "a=1", "--full-auto"), ("--add-dir", "/x"), ("-p", "work"), ("-pwork",)],
)
def test_options_that_a_door_cannot_take_are_reported_and_not_passed_to_codex(words: tuple[str, ...]) -> None:
    with pytest.raises(Unavailable, match=r"sandbox .*--config"):
        settings_of(words, door="sandbox")


# ---- shown again


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_a_repro_starts_the_driver_with_its_own_codex_folders_and_files(door: Any) -> None:
    environment = ScriptedEnvironment(lambda command: CommandResult(ended="exit"))
    (seen,) = observe(door.configured(wrote), environment, ABLE, POLICIES[READ_ONLY], WRITE, None)
    lines = repro_script(seen, acts=WRITE).splitlines()
    run = next(line for line in lines if '-S "$DRIVER"' in line)
    assert run.split()[:6] == ['"$PY"', "-I", "-S", '"$DRIVER"', '"$W"/channel', seen.argv[5]]
    assert '"$CODEX"' in run and seen.world is not None and seen.world.folder not in run
    assert any(line.startswith("CODEX=${CODEX:-/opt/codex}") for line in lines)
    assert any(line.endswith('> "$W"/codex-home/config.toml') for line in lines)


def test_codex_exec_takes_every_word_but_the_one_about_approvals() -> None:
    words = (
        "-a",
        "never",
        "--add-dir",
        "-a",
        "-s",
        "read-only",
        "-p",
        "x",
        "--full-auto",
        "-c",
        "a=-a",
        "--add-dir=/y",
    )
    assert exec_words(words, door="exec") == ("-c", "approval_policy='never'", *words[2:])
    assert exec_words(("--ask-for-approval=on-request",), door="exec") == ("-c", "approval_policy='on-request'")
    assert exec_words(("-a",), door="exec") == ("-a",), "Codex says itself what is wrong with it"


def test_options_that_mean_a_setting_are_kept_and_the_rest_left_out() -> None:
    words = ("--add-dir", "-s", "-s", "read-only", "--full-auto", "-c", "a=b", "--profile=x", "--add-dir=/y")
    assert settings_alone(words) == ("-c", "a=b", "-c", "sandbox_mode='read-only'")
