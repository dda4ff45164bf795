"""The doors app-server and exec with the real Codex: what a file says is enforced, and what fails is told as it is."""

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_codexsandbox.diagnosis.sandbox_state import assess
from pytest_codexsandbox.doors.app_server import AppServerDoor
from pytest_codexsandbox.doors.controls import UnconfinedDoor
from pytest_codexsandbox.doors.exec_turn import ExecDoor
from pytest_codexsandbox.doors.sandbox_cli import SandboxDoor
from pytest_codexsandbox.doors.support.app_server_client import AskingServer
from pytest_codexsandbox.doors.support.call_settings import surroundings
from pytest_codexsandbox.model.act import Act, Call, Given
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.generator import GeneratedConfig, GeneratedFile
from pytest_codexsandbox.model.observation import Observation, look_key
from pytest_codexsandbox.model.policy import FULL_ACCESS, POLICIES, READ_ONLY, WORKSPACE_WRITE, Policy
from pytest_codexsandbox.model.sandbox_state import SandboxState
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.protocols import Environment, Subject

DOORS = (AppServerDoor(), ExecDoor())
PLACES = ("WORKSPACE", "OUTSIDE", "ROOT0", "SIBLING")
ACTS = {f"driven.places/{name.lower()}": Act(verb="write", path=f"@{name}@/@NAME@") for name in PLACES} | {
    "driven.network/http": Act(verb="http", params={"port": "@HTTP@", "token": "@NAME@"})
}
PATIENT = Call(timeout=120.0)
CONFIG = "@CODEX_HOME@/config.toml"


def seen_by(door: Any, machine: Environment, codex: Any, policy: str, call: Call = PATIENT) -> Observation:
    (seen,) = door.observe(machine, codex, POLICIES[policy], ACTS, call)
    assert isinstance(seen, Observation)
    return seen


def started(machine: Environment, codex: Any, seen: Observation) -> SandboxState:
    (control,) = UnconfinedDoor().observe(machine, codex, POLICIES[FULL_ACCESS], ACTS, PATIENT)
    return assess(seen, control, sandboxed=True)


def opened(seen: Observation) -> set[str]:
    """Where something new is seen from outside, and `network` where something has arrived."""
    keys = {name: look_key(f"driven.places/{name.lower()}", f"@{name}@/@NAME@") for name in PLACES}
    found = {name for name, key in keys.items() if seen.after[key].kind == "file"}
    return found | ({"network"} if seen.arrivals else set())


# ---- what a generator wrote


def written(text: str, *, argv: tuple[str, ...] = (), project: str = "") -> Any:
    def write(world: World, policy: Policy) -> GeneratedConfig:
        texts = {CONFIG: text} | ({"@WORKSPACE@/.codex/config.toml": project} if project else {})
        return GeneratedConfig(
            files={path: GeneratedFile(content=world.fill(content).encode()) for path, content in texts.items()},
            argv=tuple(map(world.fill, argv)),
        )

    return write


WIDE = (
    'sandbox_mode = "workspace-write"\n[sandbox_workspace_write]\nwritable_roots = ["@ROOT0@"]\nnetwork_access = true\n'
)
PROFILE = """
default_permissions = "mine"
[permissions.mine]
extends = ":workspace"
[permissions.mine.filesystem]
"@ROOT0@" = "write"
[permissions.mine.network]
enabled = true
"""


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", set()),
        ('sandbox_mode = "workspace-write"\n', {"WORKSPACE"}),
        (WIDE, {"WORKSPACE", "ROOT0", "network"}),
        ('default_permissions = ":workspace"\n' + WIDE, {"WORKSPACE"}),
        (PROFILE, {"WORKSPACE", "ROOT0", "network"}),
        ('sandbox_mode = "danger-full-access"\n', {*PLACES, "network"}),
    ],
    ids=["nothing", "mode", "roots and network", "voided by a profile", "profile", "full access"],
)
def test_a_file_is_enforced_under_every_name_of_the_policy(
    machine: Environment, codex: Subject, door: Any, text: str, expected: set[str]
) -> None:
    seen = seen_by(door.configured(written(text)), machine, codex, READ_ONLY)
    assert seen.finished, f"{seen.error}\n{seen.stderr}"
    assert (opened(seen), seen.litter) == (expected, ())


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_overrides_of_a_generator_beat_its_file(machine: Environment, codex: Subject, door: Any) -> None:
    argv = ("-c", 'sandbox_mode="workspace-write"', "-c", 'sandbox_workspace_write.writable_roots=["@ROOT0@"]')
    seen = seen_by(door.configured(written('sandbox_mode = "read-only"\n', argv=argv)), machine, codex, FULL_ACCESS)
    assert opened(seen) == {"WORKSPACE", "ROOT0"}, seen.stderr


def test_a_trusted_projects_own_file_is_heard_by_the_app_server(machine: Environment, codex: Subject) -> None:
    user = 'sandbox_mode = "read-only"\n[projects."@WORKSPACE@"]\ntrust_level = "trusted"\n'
    both = written(user, project='sandbox_mode = "workspace-write"\n')
    seen = seen_by(AppServerDoor().configured(both), machine, codex, READ_ONLY)
    assert (opened(seen), seen.litter) == ({"WORKSPACE"}, ())


def test_the_command_sandbox_takes_profiles_of_a_file_and_passes_over_its_mode(
    machine: Environment, codex: Subject
) -> None:
    full = SandboxDoor().configured(written('sandbox_mode = "danger-full-access"\n'))
    assert opened(seen_by(full, machine, codex, READ_ONLY)) == set()
    profile = SandboxDoor().configured(written('default_permissions = ":workspace"\n'))
    assert opened(seen_by(profile, machine, codex, READ_ONLY)) == {"WORKSPACE"}


def test_a_file_that_is_rewritten_under_a_running_server_changes_no_verdict(
    machine: Environment, codex: Subject
) -> None:
    """The server claims what the file says now, and enforces what it said when it was started; a door starts anew."""
    world = machine.world()
    config, made = world.fill(CONFIG), f"{world.values['WORKSPACE']}/made"
    machine.put(config, b'sandbox_mode = "read-only"\n')
    server = AskingServer(machine, server_of(codex, world), patience=60.0)
    try:
        machine.put(config, b'sandbox_mode = "workspace-write"\n')
        claimed = server.ask("thread/start", {"cwd": world.values["WORKSPACE"], "ephemeral": True})
        touched = server.ask("command/exec", {"command": ["touch", made]})
    finally:
        server.close()
        machine.clear(world)
    assert claimed["sandbox"]["type"] == "workspaceWrite"
    assert touched["exitCode"] != 0 and "Read-only file system" in touched["stderr"]
    anew = AppServerDoor().configured(written('sandbox_mode = "workspace-write"\n'))
    assert opened(seen_by(anew, machine, codex, READ_ONLY)) == {"WORKSPACE"}


def server_of(codex: Subject, world: World) -> Command:
    return Command(
        argv=(codex.binary, "app-server", "-c", "features.plugins=false"),
        cwd=world.values["WORKSPACE"],
        env=surroundings(world, Call()),
        timeout=300.0,
    )


# ---- what fails


def test_a_broken_file_ends_exec_with_codexs_own_words(machine: Environment, codex: Subject) -> None:
    seen = seen_by(ExecDoor().configured(written("sandbox_mode = \n")), machine, codex, READ_ONLY)
    assert (seen.ended, seen.ready) == ("exit", False) and seen.code != 0
    assert "config.toml:1:" in seen.stderr
    assert started(machine, codex, seen).state == "failed"


def test_a_broken_file_leaves_the_app_server_with_what_is_built_in(machine: Environment, codex: Subject) -> None:
    """It runs commands under read-only, whatever the file would have said: nobody may take that for the file's."""
    seen = seen_by(AppServerDoor().configured(written(WIDE + "broken = \n")), machine, codex, READ_ONLY)
    assert seen.finished and opened(seen) == set()


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_overrides_that_codex_cannot_read_are_reported_in_its_words(
    machine: Environment, codex: Subject, door: Any
) -> None:
    argv = ("-c", 'sandbox_mode="workspace-write"', "-c", "sandbox_workspace_write.writable_roots=[/x]")
    seen = seen_by(door.configured(written("", argv=argv)), machine, codex, READ_ONLY)
    assert not seen.ready and "expected a sequence" in seen.stderr
    assert started(machine, codex, seen).state == "failed"


SCRIPTS = {
    "hangs": ("sleep 600", "timeout", "unknown"),
    "prints garbage and ends": ("cat /proc/self/maps; exit 0", "exit", "unknown"),
    "prints garbage for ever": ("while :; do echo '{\"id\": [}'; sleep 0.1; done", "timeout", "unknown"),
    "fails": ("echo 'Error: no such thing' >&2; exit 3", "exit", "failed"),
    "is killed": ("kill -9 $$", "signal", "failed"),
    "crashes": ("ulimit -c 0; kill -SEGV $$", "signal", "failed"),
    "ends at once, content": ("exit 0", "exit", "unknown"),
}


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
@pytest.mark.parametrize("name", SCRIPTS)
def test_an_unresponsive_codex_is_reported_by_its_behaviour(
    machine: Environment, codex: Subject, folder: Path, door: Any, name: str
) -> None:
    script, ended, state = SCRIPTS[name]
    bad = stand_in(codex, folder, f"{script}\n")
    seen = seen_by(door, machine, bad, WORKSPACE_WRITE, Call(timeout=3.0))
    assert (seen.ended, seen.ready, seen.rows, seen.survivors) == (ended, False, {}, ()), seen.stderr
    told = started(machine, codex, seen)
    assert told.state == state, told
    if name == "fails":
        assert (seen.code, "no such thing" in told.why) == (3, True)
    if name == "is killed":
        assert seen.code == 137
    if state == "unknown" and ended == "exit":
        assert "Codex ended" in seen.error and seen.error in told.why


def stand_in(codex: Subject, folder: Path, script: str) -> Any:
    """A Codex that says of itself what the real one says, and does something else."""
    path = folder / "codex"
    path.write_text(f"#!/bin/sh\n{script}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return msgspec.structs.replace(codex, binary=str(path))  # type: ignore[type-var]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_the_cause_of_a_failed_start_is_known_through_every_door(
    machine: Environment, codex: Subject, folder: Path, door: Any
) -> None:
    """Codex is started where no further user namespace can be made: each door tells the cause that `sandbox` tells."""
    none = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$0" "$@"'
    nested = f"exec unshare --map-current-user --keep-caps sh -c '{none}' {codex.binary} \"$@\"\n"
    confined = stand_in(codex, folder, nested)
    through, plain = (seen_by(one, machine, confined, WORKSPACE_WRITE) for one in (door, SandboxDoor()))
    told, expected = (started(machine, codex, seen) for seen in (through, plain))
    assert (told.state, expected.state) == ("failed", "failed"), (told, expected)
    assert told.diagnosis is not None and expected.diagnosis is not None
    assert told.diagnosis.fingerprint == expected.diagnosis.fingerprint != "", (through.stderr, plain.stderr)
    assert opened(through) == set()


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_no_process_of_a_call_keeps_running_and_codex_ends_on_request(
    machine: Environment, codex: Subject, door: Any
) -> None:
    seen = seen_by(door, machine, codex, WORKSPACE_WRITE)
    assert seen.survivors == () and not re.search("SIG(TERM|KILL)", seen.stderr), "it ended without a signal"


def test_the_events_that_codex_prints_are_kept(machine: Environment, codex: Subject) -> None:
    seen = seen_by(ExecDoor(), machine, codex, WORKSPACE_WRITE)
    events = [json.loads(line) for line in seen.stderr.splitlines() if line.startswith("{")]
    assert {"turn.started", "turn.completed"} <= {event["type"] for event in events}
    assert len(seen.stderr) < 64 * 1024 and os.path.sep in seen.argv[3]


# ---- settings of a project


@pytest.mark.parametrize("untrusted", [False, True], ids=["trusted", "untrusted"])
def test_a_projects_own_settings_count_at_exec_where_it_is_trusted(
    machine: Environment, codex: Any, *, untrusted: bool
) -> None:
    """The question about an untrusted project can fail: the same settings widen a trusted one."""
    text = '[sandbox_workspace_write]\nwritable_roots = ["@ROOT0@"]\nnetwork_access = true\n'
    settings = Given(kind="file", path="@WORKSPACE@/.codex/config.toml", content=text)
    acts = {name: msgspec.structs.replace(act, given=(settings,)) for name, act in ACTS.items()}
    call = msgspec.structs.replace(PATIENT, untrusted=untrusted)
    (seen,) = ExecDoor().observe(machine, codex, POLICIES[WORKSPACE_WRITE], acts, call)
    assert seen.finished, seen.stderr
    assert opened(seen) == ({"WORKSPACE"} if untrusted else {"WORKSPACE", "ROOT0", "network"})
