"""Door contract: tests that every door must pass. Your test module subclasses it and defines three fixtures:

class TestMyDoor(DoorContract):
    @pytest.fixture
    def door(self) -> Door: ...
    @pytest.fixture
    def environment(self) -> Environment: ...
    @pytest.fixture
    def subject(self) -> Subject: ...
"""

import json
import os
from collections.abc import Mapping

import msgspec
import pytest

from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.model.act import FIRST_DESCRIPTOR, Act, Call, Given, Launch
from pytest_codexsandbox.model.base_acts import FORBIDDEN, PERMITTED
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.ids import is_value
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.policy import POLICIES, READ_ONLY, WORKSPACE_WRITE, Policy
from pytest_codexsandbox.protocols import Door, Environment, Subject

OLD = Given(kind="file", path="@WORKSPACE@/@NAME@", content="old")
WRITE = {"contract.door/write": Act(verb="write", path=OLD.path, params={"data": "new"}, given=(OLD,))}
VARIABLES = {"contract.door/variables": Act(verb="variables")}
OF_THE_SANDBOX = ("CODEX_SANDBOX_NETWORK_DISABLED", "PWD")
OF_THE_HARNESS = (
    "AREA_SCOPE",
    "LC_CTYPE",
)  # the mark of our processes; Python sets the locale where there is none
OPEN = {"contract.door/open": Act(verb="descriptors")}
LAUNCHES = (
    Launch(descriptors=("folder:@OUTSIDE@", "file:@OUTSIDE@/left-open", "unix:@UNIX@")),
    Launch(stdin_file="@OUTSIDE@/as-stdin"),
    Launch(signal=15),
    Launch(signal=9, signal_alone=True),
)
KEY = f"contract.door/write|{OLD.path}"
GENEROUS = 120.0  # a loaded machine must not look like a broken door


class DoorContract:
    """Each test proves one statement about a door in a real environment."""

    policies: tuple[str, ...] = (READ_ONLY, WORKSPACE_WRITE)

    # ---- the command
    def test_its_name_can_stand_in_a_record(self, door: Door) -> None:
        assert is_value(door.name)

    def test_it_declares_what_is_special_about_it(self, door: Door) -> None:
        assert Door in type(door).__mro__, "subclass pytest_codexsandbox.protocols.Door: it has every default"
        switches = (door.is_control, door.asks_own_calls, door.reads_config_files, door.probes_full_access)
        assert all(isinstance(switch, bool) for switch in switches)
        assert all(isinstance(words, tuple) for words in (door.needs, door.default_for, door.adds_variables))
        assert isinstance(door.refuses(()), str)

    def test_its_command_is_pure(self, door: Door, environment: Environment, subject: Subject) -> None:
        for policy in self.policies:
            one, other = (self.command(door, environment, subject, POLICIES[policy]) for _ in range(2))
            assert one == other

    def test_nothing_of_our_environment_leaks_into_it(
        self, door: Door, environment: Environment, subject: Subject, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CODEXSANDBOX_CONTRACT", "leaked")
        made = self.command(door, environment, subject, POLICIES[READ_ONLY])
        assert "CODEXSANDBOX_CONTRACT" not in made.env
        assert "leaked" not in made.env.values()
        assert made.env["CODEX_HOME"] != os.environ.get("CODEX_HOME", "")

    def test_it_passes_on_how_a_call_starts_and_ends_or_says_that_it_cannot(
        self, door: Door, environment: Environment, subject: Subject
    ) -> None:
        """A door that drops a part of `Call.launch` measures another call. One that asks calls of its own passes all
        of it on; another one may refuse such a call with Unavailable and the reason."""
        for launch in LAUNCHES:
            world = environment.world()
            filled = msgspec.structs.replace(
                launch,
                stdin_file=world.fill(launch.stdin_file),
                descriptors=tuple(map(world.fill, launch.descriptors)),
            )
            call = Call(launch=filled, interrupt_after=0.25, timeout=GENEROUS)
            try:
                made = door.command(subject, POLICIES[READ_ONLY], world, ("true",), call)
                assert made.launch == filled, f"{door.name} drops a part of {launch}"
                assert made.interrupt_after == 0.25, f"{door.name} does not interrupt the call"
            except Unavailable as refused:
                assert not door.asks_own_calls, f"{door.name} declares asks_own_calls, and refuses {launch}: {refused}"
                assert door.name in refused.what and refused.why, "say which door cannot pass it on, and why"
            finally:
                environment.clear(world)

    def test_an_open_descriptor_reaches_the_call_or_the_call_is_refused(
        self, door: Door, environment: Environment, subject: Subject
    ) -> None:
        call = Call(launch=Launch(descriptors=("folder:@OUTSIDE@",)), timeout=GENEROUS)
        (seen,) = door.observe(environment, subject, POLICIES[WORKSPACE_WRITE], OPEN, call)
        if seen.ended == "not-started":
            assert not door.asks_own_calls and seen.error, self.told(seen)
        elif door.is_control:
            assert str(FIRST_DESCRIPTOR) in json.loads(seen.rows["contract.door/open"].value), self.told(seen)
        else:  # whether Codex closes it is a promise of Codex, and none of the door
            assert seen.rows["contract.door/open"].ok, self.told(seen)

    def test_it_names_the_variables_that_a_command_gets_here(
        self, door: Door, environment: Environment, subject: Subject
    ) -> None:
        """An unnamed one counts as added by Codex. Without a sandbox the names are those of the call."""
        seen = self.one(door, environment, subject, POLICIES[READ_ONLY], VARIABLES)
        assert seen.adds == door.adds_variables, "an observation names what its door declares"
        lines = json.loads(seen.rows["contract.door/variables"].value)["digests"]
        found = {line.partition(" ")[2] for line in lines}
        assert found - set(seen.env) <= {*OF_THE_SANDBOX, *OF_THE_HARNESS, *door.adds_variables}, self.told(seen)

    # ---- the observation
    def test_it_performs_every_act_and_base_acts_ride_along(
        self, door: Door, environment: Environment, subject: Subject
    ) -> None:
        for policy in self.policies:
            seen = self.one(door, environment, subject, POLICIES[policy], WRITE)
            assert seen.ready and seen.finished, self.told(seen)
            assert set(seen.rows) == {FORBIDDEN, PERMITTED, *WRITE}
            assert (seen.door, seen.policy, seen.error) == (door.name, policy, "")
            assert seen.rows[PERMITTED].ok and seen.rows[PERMITTED].value == "readable"

    def test_a_control_denies_nothing_and_a_sandbox_denies_what_is_forbidden(
        self, door: Door, environment: Environment, subject: Subject
    ) -> None:
        for policy in self.policies:
            seen = self.one(door, environment, subject, POLICIES[policy], {})
            key = f"{FORBIDDEN}|@OUTSIDE@/@NAME@"
            showed = seen.after[key].kind == "file"
            assert seen.rows[FORBIDDEN].ok == showed, "the probe and the look from outside disagree"
            assert showed == self.lets_through(door), self.told(seen)

    def test_paths_are_seen_before_and_after(self, door: Door, environment: Environment, subject: Subject) -> None:
        seen = self.one(door, environment, subject, POLICIES[WORKSPACE_WRITE], WRITE)
        assert (seen.before[KEY].text, seen.after[KEY].text) == ("old", "new"), self.told(seen)
        assert seen.before[KEY].path == OLD.path

    def test_the_probe_was_read_from_outside_while_it_waited(
        self, door: Door, environment: Environment, subject: Subject
    ) -> None:
        seen = self.one(door, environment, subject, POLICIES[WORKSPACE_WRITE], {})
        assert len(seen.readings) == 1, self.told(seen)
        assert seen.readings[0].pid > 0 and seen.readings[0].namespaces

    def test_two_calls_share_neither_nonce_nor_world(
        self, door: Door, environment: Environment, subject: Subject
    ) -> None:
        policy = POLICIES[WORKSPACE_WRITE]
        copies = door.observe(environment, subject, policy, WRITE, Call(copies=2, timeout=GENEROUS))
        again = self.one(door, environment, subject, policy, WRITE)
        every = (*copies, again)
        assert len({seen.nonce for seen in every}) == len({seen.id for seen in every}) == 3
        assert len({seen.cwd for seen in every}) == 3
        assert all(seen.finished and seen.after[KEY].text == "new" for seen in every), self.told(copies[0])

    # ---- a call with a command of its own
    def test_a_commands_own_exit_code_and_output_come_back(
        self, door: Door, environment: Environment, subject: Subject
    ) -> None:
        seen = self.say(door, environment, subject, Call(argv=("sh", "-c", "echo out; echo err >&2; exit 7")))
        assert (seen.ended, seen.code, seen.stdout) == ("exit", 7, "out\n"), self.told(seen)
        assert "err\n" in seen.stderr
        assert seen.stdout_total == 4

    def test_stdin_variables_and_folder_of_the_call_arrive(
        self, door: Door, environment: Environment, subject: Subject
    ) -> None:
        code = "import json, os, sys; print(json.dumps([sys.stdin.read(), os.environ['A'], os.getcwd()]))"
        call = Call(
            argv=("@PYTHON@", "-I", "-S", "-c", code), stdin=b"said", env={"A": "a b\n@NAME@"}, cwd="@WORKSPACE@"
        )
        seen = self.say(door, environment, subject, call)
        assert seen.code == 0, self.told(seen)
        assert seen.world is not None
        assert json.loads(seen.stdout) == ["said", f"a b\n{seen.world.fill('@NAME@')}", seen.cwd]

    def test_a_time_limit_ends_the_call_and_is_reported(
        self, door: Door, environment: Environment, subject: Subject
    ) -> None:
        seen = self.say(door, environment, subject, Call(argv=("sleep", "600"), timeout=3.0), limit=3.0)
        assert seen.ended == "timeout", self.told(seen)
        assert seen.seconds < 300
        assert self.one(door, environment, subject, POLICIES[READ_ONLY], {}).finished, "the environment outlives it"

    # ---- what a subclass may override
    def lets_through(self, door: Door) -> bool:
        """Checks whether this door lets a write outside through."""
        return door.is_control

    # ---- inside
    def command(self, door: Door, environment: Environment, subject: Subject, policy: Policy) -> Command:
        world = environment.world()
        try:
            made = door.command(subject, policy, world, ("true",), Call())
        finally:
            environment.clear(world)
        text = msgspec.json.encode(made).decode().replace(world.folder, "@WORLD@")
        return msgspec.json.decode(text, type=Command)

    def one(
        self, door: Door, environment: Environment, subject: Subject, policy: Policy, acts: Mapping[str, Act]
    ) -> Observation:
        (seen,) = door.observe(environment, subject, policy, acts, Call(timeout=GENEROUS))
        return seen

    def say(
        self, door: Door, environment: Environment, subject: Subject, call: Call, *, limit: float = GENEROUS
    ) -> Observation:
        call = msgspec.structs.replace(call, timeout=limit)
        (seen,) = door.observe(environment, subject, POLICIES[WORKSPACE_WRITE], {}, call)
        return seen

    def told(self, seen: Observation) -> str:
        return f"{seen.ended} {seen.code} {seen.error}\n{seen.stderr[:2000]}\n{seen.argv}"
