"""From a fresh world to an observation, with an environment that only remembers."""

import json
import os
from collections.abc import Callable, Sequence

import pytest

from pytest_codexsandbox.doors.controls import UnconfinedDoor
from pytest_codexsandbox.doors.sandbox_cli import SandboxDoor
from pytest_codexsandbox.doors.support.observe import TEXT_LIMIT, observe
from pytest_codexsandbox.doors.support.placeholders import read_plan
from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.model.act import Act, Call, Given
from pytest_codexsandbox.model.base_acts import FORBIDDEN, PERMITTED, SEARCHED
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.observation import Observation, look_key
from pytest_codexsandbox.model.policy import FULL_ACCESS, POLICIES, WORKSPACE_WRITE
from pytest_codexsandbox.model.redact import register
from pytest_codexsandbox.model.world import World
from tests.fakes.scripted import FakeSubject, ScriptedEnvironment

POLICY = POLICIES[WORKSPACE_WRITE]
WRITE = Act(verb="write", path="@WORKSPACE@/@NAME@", params={"data": "new"})
TOKEN = "sk-" + "Ab1" * 12


def talk(command: Command, *, value: str = "", after: bytes = b"") -> bytes:
    """What a good probe prints for the plan that it was given."""
    acts = [act["id"] for act in read_plan(command.probe_argv[-1])]
    rows = [{"row": {"act": act, "ok": True, "value": value}} for act in acts]
    said = [{"ready": {"pid": 2}}, *rows, {"done": len(acts)}]
    return "".join(f"\x1ecx:{command.probe_nonce}:{json.dumps(one)}\n" for one in said).encode() + after


def good(**words: object) -> Callable[[Command], CommandResult]:
    return lambda command: CommandResult(ended="exit", stdout=talk(command), **words)  # type: ignore[arg-type]


def one(environment: ScriptedEnvironment, acts: dict[str, Act], call: Call | None = None) -> Observation:
    (seen,) = observe(SandboxDoor(), environment, FakeSubject(), POLICY, acts, call)
    return seen


def test_the_probe_is_held_by_its_nonce_and_known_by_its_words() -> None:
    environment = ScriptedEnvironment(good(seconds=0.5))
    seen = one(environment, {"a.b/w": WRITE})
    (command,) = environment.commands
    assert command.probe_nonce == seen.nonce and command.probe_argv == command.argv[-6:]
    assert command.probe_argv[:5] == ("/usr/bin/python3", "-I", "-S", "/opt/task.py", seen.nonce)
    assert command.stdin == b""
    assert list(seen.rows) == [FORBIDDEN, PERMITTED, "a.b/w"] and seen.finished and seen.ready and not seen.error
    assert (seen.id, seen.door, seen.policy) == (f"sandbox-workspace-write-{seen.nonce}", "sandbox", WORKSPACE_WRITE)
    assert seen.argv[:-1] == command.argv[:-1] and read_plan(seen.argv[-1]) == read_plan(command.argv[-1])
    assert seen.argv[-1].startswith("{") and seen.seconds == 0.5 and seen.world == environment.worlds[0]


NO_ROOM = b"failed to create registry: No space left on device (os error 28)\n"
SILENT = b"Error: failed to initialize sqlite state runtime under /home/.codex\n"  # of a database that found no room


@pytest.mark.parametrize(
    ("stderr", "room", "told"),
    [
        (NO_ROOM, 8192, "the environment's disk is full: 8 KiB were free when the call ended"),
        (NO_ROOM, 0, "the environment's disk is full: 0 KiB were free when the call ended"),
        (SILENT, 8192, "the environment's disk is full: 8 KiB were free when the call ended"),
        (SILENT, 1 << 30, ""),
        (NO_ROOM, 1 << 30, ""),  # a limit of the subject's own
        (NO_ROOM, -1, ""),
        (b"", 8192, ""),
    ],
)
def test_a_disk_that_is_full_is_no_finding(stderr: bytes, room: int, told: str) -> None:
    seen = one(ScriptedEnvironment(good(stderr=stderr, room=room)), {"a.b/w": WRITE})
    assert (seen.error, seen.lacked) == (told, told)


@pytest.mark.parametrize("errno", ["ENOSPC", "EDQUOT", "SQLITE_FULL"])
def test_an_act_that_finds_no_room_on_a_full_disk_is_no_finding(errno: str) -> None:
    def answer(command: Command) -> CommandResult:
        said = talk(command).replace(b'w", "ok": true', b'w", "ok": false, "errno": "%s"' % errno.encode())
        return CommandResult(ended="exit", stdout=said, room=4096)

    seen = one(ScriptedEnvironment(answer), {"a.b/w": WRITE})
    assert [row.errno for row in seen.rows.values()] == ["", "", errno]
    assert "disk is full" in seen.lacked


@pytest.mark.parametrize(
    ("stderr", "refused", "told"),
    [
        (b"thread 'main' panicked: Resource temporarily unavailable (os error 11)\n", 3, "the kernel refused 3"),
        (b"bwrap: Creating new namespace failed: Resource temporarily unavailable\n", 1, "the kernel refused 1"),
        (b"Resource temporarily unavailable\n", 0, ""),  # of something else
        (b"", 3, ""),  # whoever was refused could do without
    ],
)
def test_processes_that_the_kernel_refuses_are_no_finding(stderr: bytes, refused: int, told: str) -> None:
    seen = one(ScriptedEnvironment(good(stderr=stderr, refused_processes=refused)), {"a.b/w": WRITE})
    assert told in seen.lacked
    assert bool(seen.lacked) is bool(told) and seen.error == seen.lacked


GONE = b'bwrap: Can\'t bind mount /oldroot/ on /newroot/: Unable to apply mount flags: remount "/newroot/run/x": '


@pytest.mark.parametrize("errno", [b"Invalid argument", b"No such file or directory"])
def test_a_mount_of_the_machine_that_goes_away_is_no_finding(errno: bytes) -> None:
    ended = [CommandResult(ended="exit", exit=1, stderr=GONE + errno + b"\n")] * 2
    environment = ScriptedEnvironment(lambda command: ended.pop() if ended else good()(command))
    seen = one(environment, {"a.b/w": WRITE})
    assert seen.finished and not seen.stderr and len(environment.commands) == 3
    assert len({command.probe_nonce for command in environment.commands}) == 1


def test_a_mount_that_cannot_be_made_read_only_is_reported_each_time() -> None:
    environment = ScriptedEnvironment(
        lambda _: CommandResult(ended="exit", exit=1, stderr=GONE + b"Invalid argument\n")
    )
    seen = one(environment, {"a.b/w": WRITE})
    assert "Unable to apply mount flags" in seen.stderr and not seen.ready and len(environment.commands) == 3


@pytest.mark.parametrize("said", [b"Operation not permitted", b""])
def test_no_other_failure_is_tried_again(said: bytes) -> None:
    environment = ScriptedEnvironment(lambda _: CommandResult(ended="exit", exit=1, stderr=GONE + said + b"\n"))
    one(environment, {"a.b/w": WRITE})
    assert len(environment.commands) == 1


def test_no_two_calls_share_a_nonce() -> None:
    environment = ScriptedEnvironment(good())
    assert len({one(environment, {}).nonce for _ in range(20)}) == 20


def test_the_world_is_created_before_and_inspected_on_both_sides_of_the_call() -> None:
    environment = ScriptedEnvironment(good())
    held = Given(kind="file", path="@WORKSPACE@/@NAME@", content="old")
    name = "/run folder/w1/workspace/tmp-w1-a-b-w"

    def answer(command: Command) -> CommandResult:
        assert environment.files[name] == "old"
        environment.files[name] = "new"
        return good()(command)

    environment.answer = answer
    seen = one(environment, {"a.b/w": Act(verb="write", path=held.path, given=(held,), looks=("@OUTSIDE@/x",))})
    key = look_key("a.b/w", "@WORKSPACE@/@NAME@")
    assert (seen.before[key].text, seen.after[key].text) == ("old", "new")
    assert seen.before[key].path == "@WORKSPACE@/@NAME@"
    assert seen.after[look_key("a.b/w", "@OUTSIDE@/x")].kind == "missing"
    assert seen.given["a.b/w"][0].path == name
    assert name in environment.known
    assert environment.cleared == environment.worlds


def test_a_database_brings_its_companions() -> None:
    environment = ScriptedEnvironment(good())
    one(environment, {"s.q/i": Act(verb="sqlite", path="@OUTSIDE@/db")})
    for companion in ("", "-wal", "-shm", "-journal"):
        assert f"/run folder/w1/outside/db{companion}" in environment.known


def test_every_copy_has_a_world_and_a_nonce_of_its_own() -> None:
    environment = ScriptedEnvironment(good())
    seen = observe(SandboxDoor(), environment, FakeSubject(), POLICY, {"a.b/w": WRITE}, Call(copies=3))
    assert len({one.nonce for one in seen}) == len({one.world.id for one in seen if one.world}) == 3
    assert [one.argv[:-1] for one in seen] == [command.argv[:-1] for command in environment.commands]
    assert environment.cleared == environment.worlds


def test_each_start_has_names_of_its_own_in_the_same_world() -> None:
    environment = ScriptedEnvironment(good())
    act = Act(verb="http", path="@WORKSPACE@/@NAME@", params={"token": "@NAME@"})
    seen = observe(UnconfinedDoor(), environment, FakeSubject(), POLICY, {"a.b/w": act}, Call(starts=3))
    (world,) = environment.worlds
    assert [one.world for one in seen] == [world] * 3 and environment.cleared == [world]
    assert len({one.nonce for one in seen}) == 3 and len(environment.commands) == 3
    plans = [read_plan(command.probe_argv[-1]) for command in environment.commands]
    names = [plan[-1]["params"]["token"] for plan in plans]
    assert names == ["tmp-w1-a-b-w", "tmp-w1-2-a-b-w", "tmp-w1-3-a-b-w"]
    assert {f"/run folder/w1/workspace/{name}" for name in names} <= set(environment.known)


def test_the_first_start_goes_without_files_of_later_ones() -> None:
    environment = ScriptedEnvironment(good())
    given = tuple(Given(kind="dir", path=f"@WORKSPACE@/{name}") for name in ("each", "later"))
    act = Act(verb="list", path="@WORKSPACE@", given=given)
    call = Call(starts=3, later=("@WORKSPACE@/later",))
    seen = observe(UnconfinedDoor(), environment, FakeSubject(), POLICY, {"a.b/l": act}, call)
    assert [len(one.given["a.b/l"]) for one in seen] == [1, 2, 2]
    laid = [one.path.rpartition("/")[2] for one in environment.laid if one.kind == "dir"]
    assert laid == ["each", "each", "later", "each", "later"]


def test_words_that_are_not_utf_8_arrive_unchanged_and_are_escaped_in_the_journal() -> None:
    environment = ScriptedEnvironment(lambda command: CommandResult(ended="exit"))
    seen = one(environment, {"a.b/w": Act(verb="words")}, Call(words=("one",), byte_words=(b"\xff", b"gr\xc3\xbcn")))
    (command,) = environment.commands
    assert [os.fsencode(word) for word in command.argv[-3:]] == [b"one", b"\xff", b"gr\xc3\xbcn"]
    assert seen.argv[-3:] == ("one", "\\udcff", "grün")


def test_a_call_with_a_command_of_its_own_runs_no_probe() -> None:
    environment = ScriptedEnvironment(lambda command: CommandResult(ended="exit", exit=3, stdout=b"hi", stdout_total=2))
    seen = one(environment, {}, Call(argv=("sh", "-c", "cd @OUTSIDE@"), stdin=b"in"))
    (command,) = environment.commands
    assert command.argv[-3:] == ("sh", "-c", "cd /run folder/w1/outside")
    assert (command.probe_nonce, command.probe_argv, command.stdin) == ("", (), b"in")
    assert (seen.code, seen.stdout, seen.ready, seen.finished, seen.rows) == (3, "hi", False, False, {})


def test_a_command_of_its_own_receives_the_place_that_every_sandbox_protects() -> None:
    def answer(command: Command) -> CommandResult:
        environment.files[command.argv[-1]] = "let through"
        return CommandResult(ended="exit")

    environment = ScriptedEnvironment(answer)
    seen = one(environment, {}, Call(argv=("touch", "@OUTSIDE@/@NAME@")))
    key = look_key(FORBIDDEN, "@OUTSIDE@/@NAME@")
    assert (seen.before[key].kind, seen.after[key].kind) == ("missing", "file")


def test_a_planted_file_is_no_leftover_and_shows_what_the_search_sees() -> None:
    environment = ScriptedEnvironment(good())
    seen = one(environment, {})
    assert (seen.litter, seen.searched) == ((), SEARCHED)
    assert {given.path for given in environment.laid[-len(SEARCHED) :]} == {
        f"@{place}@/tmp-w1-base-planted" for place in SEARCHED
    }
    environment.blind = True
    assert one(environment, {}).searched == ()


def test_a_place_that_nothing_can_be_put_into_is_one_that_was_not_searched() -> None:
    class Closed(ScriptedEnvironment):
        def lay(self, world: World, given: Sequence[Given]) -> None:
            if any(one.path.startswith("@SHM@") for one in given):
                raise HarnessError("lay: no such file or directory")
            super().lay(world, given)

    seen = one(Closed(good()), {})
    assert set(seen.searched) == set(SEARCHED) - {"SHM"}


def test_an_arrival_at_a_listener_is_reported_with_the_name_of_its_act() -> None:
    arrived = {"tmp-w1-n-w-http": ("http",), "tmp-w1-n-w-dns": ("dns-udp", "dns-tcp")}
    environment = ScriptedEnvironment(good(), arrived=arrived)
    acts = {
        "n.w/http": Act(verb="http", params={"token": "@NAME@"}),
        "n.w/dns": Act(verb="dns", params={"name": "@NAME@.test"}),
        "n.w/mute": Act(verb="http"),
    }
    assert one(environment, acts).arrivals == (
        "http tmp-w1-n-w-http",
        "dns-udp tmp-w1-n-w-dns",
        "dns-tcp tmp-w1-n-w-dns",
    )


def test_nonsense_of_the_probe_is_an_error() -> None:
    def answer(command: Command) -> CommandResult:
        return CommandResult(ended="exit", stdout=talk(command) + talk(command))

    assert '{"ready": {"pid": 2}}' in one(ScriptedEnvironment(answer), {}).error


def test_death_by_a_signal_and_by_the_time_limit_are_reported() -> None:
    killed = one(ScriptedEnvironment(lambda _: CommandResult(ended="signal", signal=9)), {})
    assert (killed.ended, killed.code, killed.error) == ("signal", 137, "")
    late = one(ScriptedEnvironment(lambda _: CommandResult(ended="timeout", error="not finished after 3 s")), {})
    assert (late.ended, late.error, late.finished) == ("timeout", "", False)
    lost = one(ScriptedEnvironment(lambda _: CommandResult(ended="lost", error="the agent died")), {})
    assert (lost.ended, lost.error) == ("lost", "the agent died")


def test_credentials_never_get_into_an_observation() -> None:
    def answer(command: Command) -> CommandResult:
        environment.files["/run folder/w1/workspace/tmp-w1-a-b-w"] = TOKEN
        return CommandResult(
            ended="exit", stdout=talk(command, value=TOKEN, after=TOKEN.encode()), stderr=f"key {TOKEN}".encode()
        )

    environment = ScriptedEnvironment(answer)
    seen = one(environment, {"a.b/w": WRITE}, Call(env={"OPENAI_API_KEY": TOKEN}))
    assert environment.commands[0].env["OPENAI_API_KEY"] == TOKEN
    assert "Ab1Ab1" not in repr(seen)


def test_credentials_in_a_users_command_do_not_hide_in_the_plan() -> None:
    environment = ScriptedEnvironment(good())
    argv = ["curl", "-H", f"Authorization: Bearer {TOKEN}", "@HOME@/x"]
    seen = one(environment, {"user/run": Act(verb="become", params={"argv": argv})})
    ran, kept = (read_plan(words[-1])[-1]["params"]["argv"] for words in (environment.commands[0].argv, seen.argv))
    assert TOKEN in ran[2]
    assert "Ab1Ab1" not in kept[2]
    assert kept[3] == ran[3] == "/run folder/w1/home/x"
    assert seen.argv[:-1] == environment.commands[0].argv[:-1]


@pytest.mark.parametrize("kept", range(0, 13, 3))
def test_no_half_of_a_registered_value_stays_where_output_is_cut(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_codexsandbox.model.redact._registered", {})
    value, half = "Quagga7.plain", TEXT_LIMIT // 2 - 40
    register({"MY_API_KEY": value}, is_there=lambda _: False)
    first, last = (value.encode() + b"=" * (half - kept), b"=" * (half - kept) + value.encode())
    noise = last + b"_" * 500_000 + first + value.encode()

    def answer(command: Command) -> CommandResult:
        said = talk(command, after=noise)
        return CommandResult(ended="exit", stdout=said, stdout_total=len(said), stderr=noise)

    seen = one(ScriptedEnvironment(answer), {})
    for text in (seen.stdout, seen.stderr):
        assert text.endswith("=" + value)  # a whole value stays: the user's own test reads it
        (between,) = text.replace(value, "").replace("=", "").replace("_", "").strip().splitlines()
        assert f" {len(noise):,} bytes " in between
        assert len(text) <= TEXT_LIMIT


def test_much_output_is_kept_from_both_ends_and_counted_to_the_byte() -> None:
    noise = b"begin" + b"x" * 500_000 + b"end"

    def answer(command: Command) -> CommandResult:
        said = talk(command, after=noise)
        return CommandResult(ended="exit", stdout=said, stdout_total=len(said), stderr=noise)

    seen = one(ScriptedEnvironment(answer), {})
    assert seen.stdout.startswith("begin") and seen.stdout.endswith("end") and "500,008 bytes" in seen.stdout
    assert len(seen.stdout) <= TEXT_LIMIT and len(seen.stderr) <= TEXT_LIMIT
    assert seen.stdout_total == len(noise)


@pytest.mark.parametrize(
    ("noise", "begins", "ends"),
    [
        ("ü".encode() * 40_000 + b"end", "üü", "üend"),
        (b"x" + "€".encode() * 40_000, "x€€", "€€"),
        (b"\xff" * 60_000 + b"end", "\\xff\\xff", "\\xffend"),
        ("ü".encode() * 10 + b"\xc3", "üü", "ü\\xc3"),
    ],
)
def test_output_is_read_as_utf_8_and_no_character_is_cut(noise: bytes, begins: str, ends: str) -> None:
    seen = one(ScriptedEnvironment(lambda command: CommandResult(ended="exit", stdout=talk(command), stderr=noise)), {})
    assert seen.stderr.startswith(begins) and seen.stderr.endswith(ends)
    assert len(seen.stderr) <= TEXT_LIMIT
    assert ("is left out" in seen.stderr) == (len(noise) > 100)
    assert not set(seen.stderr) & set("ÃÂ\ufffd")


def test_a_row_cannot_be_larger_than_an_honest_one() -> None:
    seen = one(
        ScriptedEnvironment(lambda command: CommandResult(ended="exit", stdout=talk(command, value="v" * 900_000))), {}
    )
    assert seen.finished and len(seen.rows[PERMITTED].value) == TEXT_LIMIT


def test_an_act_that_this_codex_cannot_perform_is_an_observation_that_never_started() -> None:
    environment = ScriptedEnvironment(good())
    (seen,) = observe(SandboxDoor(), environment, FakeSubject(full_access=False), POLICIES[FULL_ACCESS], {}, None)
    assert (seen.ended, seen.argv, seen.ready) == ("not-started", (), False)
    assert "danger-full-access" in seen.error
    assert environment.commands == [] and environment.cleared == environment.worlds


def test_a_dead_environment_is_no_observation_and_the_world_is_still_cleared() -> None:
    def answer(command: Command) -> CommandResult:
        raise HarnessError("the agent is gone")

    environment = ScriptedEnvironment(answer)
    with pytest.raises(HarnessError, match="gone"):
        observe(UnconfinedDoor(), environment, FakeSubject(), POLICY, {}, None)
    assert environment.cleared == environment.worlds != []


@pytest.mark.parametrize(("ending", "asks"), [(KeyboardInterrupt, False), (OSError, True)])
def test_an_error_that_ends_a_call_is_reported_and_not_that_its_world_was_still_in_use(
    ending: type[BaseException], asks: bool
) -> None:
    """After a Ctrl-C nobody waits for an answer: the environment's end comes next, and removes its worlds."""

    class InUse(ScriptedEnvironment):
        def clear(self, world: World) -> None:
            super().clear(world)
            raise HarnessError("the folders of a call could not be removed")

    def answer(command: Command) -> CommandResult:
        raise ending

    environment = InUse(answer)
    with pytest.raises(ending):
        observe(UnconfinedDoor(), environment, FakeSubject(), POLICY, {}, Call(copies=2))
    assert environment.cleared == (environment.worlds if asks else []) and len(environment.worlds) == 2
    with pytest.raises(HarnessError, match="folders of a call"):
        observe(UnconfinedDoor(), InUse(good()), FakeSubject(), POLICY, {}, None)
