"""Replaying: the same argv, in folders that are there."""

import base64
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from benchmarks.replay_floor import Floor, Paths, command_of, replayable, replayed
from pytest_codexsandbox.doors.support.placeholders import plan_word, read_plan
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.model.act import Act, Given
from pytest_codexsandbox.model.journal_lines import CallLine
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.world import World
from tests.unit.reports import builders


def world(name: str, root: str, port: str) -> World:
    values = {
        "WORKSPACE": f"{root}/{name}/workspace",
        "HOME": f"{root}/{name}/home",
        "TMPDIR": f"{root}/tmp",
        "TMP": "/tmp",
        "HTTP": port,
        "PROBE": f"{root}/probe.py",
        "PYTHON": "/usr/bin/python3",
        "ABSTRACT": f"tmp-rig-{port}",
    }
    return World(id=name, folder=f"{root}/{name}", values=values)


OLD, NEW = world("w1a", "/gone/e", "4711"), world("w7b", "/here/e", "815")
ACTS = {
    "a/write": Act(verb="write", path="/gone/e/w1a/workspace/tmp-w1a-a-write", params={"data": "4711 is no port here"}),
    "a/http": Act(verb="http", params={"port": "4711", "token": "tmp-w1a-a-http"}),
}
PROBE_ARGV = (
    "/codex",
    "-c",
    'roots=["/gone/e/w1a/root0"]',
    "sandbox",
    "--",
    "/usr/bin/python3",
    "-I",
    "-S",
    "/gone/e/probe.py",
    "nonce",
    plan_word(ACTS),
)


def call(
    argv: tuple[str, ...], *, kept: World | None = OLD, interrupted: float = 0.0, started: bool = True
) -> CallLine:
    ended: Literal["exit", "not-started"] = "exit" if started else "not-started"
    observation = Observation(
        id="call-1",
        door="sandbox",
        policy="read-only",
        nonce="nonce",
        argv=argv,
        cwd="/gone/e/w1a/workspace",
        env={"HOME": "/gone/e/w1a/home", "TMPDIR": "/gone/e/tmp"},
        ended=ended,
        code=0,
        seconds=0.25,
        stdout_sha256="",
        stdout_total=0,
        stdout="",
        stderr="",
        world=kept,
    )
    return CallLine(
        id="call-1",
        environment="e",
        subject="s",
        cell="c",
        observation=observation,
        timeout=20.0,
        stdin=base64.b64encode(b"what follows").decode(),
        interrupt_after=interrupted,
    )


def test_folders_ports_and_names_become_those_of_the_new_world() -> None:
    command = command_of(call(PROBE_ARGV), Paths(OLD, NEW))
    assert command.cwd == "/here/e/w7b/workspace"
    assert command.env == {"HOME": "/here/e/w7b/home", "TMPDIR": "/here/e/tmp"}
    assert command.argv[2] == 'roots=["/here/e/w7b/root0"]'
    assert command.argv[-3:-1] == ("/here/e/probe.py", "nonce")
    write, http = read_plan(command.argv[-1])
    assert write["path"] == "/here/e/w7b/workspace/tmp-w7b-a-write"
    assert write["params"] == {"data": "4711 is no port here"}
    assert http["params"] == {"port": "815", "token": "tmp-w7b-a-http"}


def test_the_probe_gets_the_word_go_and_its_stdin() -> None:
    assert command_of(call(PROBE_ARGV), Paths(OLD, NEW)).stdin == b"go\nwhat follows"


def test_another_program_gets_only_what_it_got() -> None:
    command = command_of(call(("/codex", "sandbox", "--", "cat", "/gone/e/w1a/workspace/x")), Paths(OLD, NEW))
    assert command.stdin == b"what follows"
    assert command.argv[-1] == "/here/e/w7b/workspace/x"


def test_an_interrupted_call_is_ended_at_its_time() -> None:
    assert command_of(call(PROBE_ARGV, interrupted=0.1), Paths(OLD, NEW)).timeout == 0.25
    assert command_of(call(PROBE_ARGV), Paths(OLD, NEW)).timeout == 20.0


def test_created_files_are_created_again() -> None:
    given = Given(kind="symlink", path="/gone/e/w1a/workspace/link", content="/gone/e/w1a/home")
    assert Paths(OLD, NEW).given(given) == Given(
        kind="symlink", path="/here/e/w7b/workspace/link", content="/here/e/w7b/home"
    )


def test_the_longer_path_wins_over_the_shorter_one() -> None:
    nested = World(id="w", folder="/a", values={"HOME": "/a", "WORKSPACE": "/a/b"})
    there = World(id="v", folder="/x", values={"HOME": "/x", "WORKSPACE": "/y"})
    assert Paths(nested, there).text("/a/b/c /a/c") == "/y/c /x/c"


def test_calls_that_never_started_or_kept_no_world_are_left_out() -> None:
    never, lost = call(PROBE_ARGV, started=False), call(PROBE_ARGV, kept=None)
    assert replayable([never, lost, call(PROBE_ARGV)]) == (call(PROBE_ARGV),)


def test_a_journal_without_calls_says_why_there_are_none(tmp_path: Path) -> None:
    made = builders.journal((), keys=builders.keys_of([builders.cell()]), ended=False, calls=[])
    path = tmp_path / "journal.ndjson"
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in builders.lines_of(made)))
    with pytest.raises(InputError, match="did not end") as error:
        replayed(path, 1)
    assert error.value.where == str(path)


def test_the_median_counts() -> None:
    floor = Floor(
        calls=3, codex_calls=2, rounds=(3.0, 1.0, 2.0), codex_rounds=(2.0, 0.5, 1.0), recorded=2.5, codex_recorded=1.5
    )
    assert (floor.median, floor.codex_median) == (2.0, 1.0)
