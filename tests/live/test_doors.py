"""The doors with the real Codex on this machine: the contract, what each policy means, and nothing of the user's."""

from pathlib import Path

import pytest

from pytest_codexsandbox.contract.door import DoorContract
from pytest_codexsandbox.doors.controls import BareBwrapDoor
from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.observation import Observation, look_key
from pytest_codexsandbox.model.policy import FULL_ACCESS, NETWORK, NO_TMP, POLICIES, READ_ONLY, ROOTS, WORKSPACE_WRITE
from pytest_codexsandbox.protocols import Door, Environment, Subject
from pytest_codexsandbox.registry import load_plugin, measured_doors
from tests.fakes.toy_door import ToyDoor

PLACES = ("WORKSPACE", "OUTSIDE", "ROOT0", "SIBLING", "HOME", "TMP", "TMPDIR")
BATTERY = {f"door.places/{name.lower()}": Act(verb="write", path=f"@{name}@/@NAME@") for name in PLACES} | {
    "door.network/http": Act(verb="http", params={"port": "@HTTP@", "token": "@NAME@"}),
    "door.network/udp": Act(verb="dns", params={"port": "@DNS@", "name": "@NAME@.test"}),
    "door.network/tcp": Act(verb="dns", params={"port": "@DNS@", "name": "@NAME@.test", "transport": "tcp"}),
}
OPEN = {
    READ_ONLY: set(),
    WORKSPACE_WRITE: {"WORKSPACE", "TMP", "TMPDIR"},
    ROOTS: {"WORKSPACE", "TMP", "TMPDIR", "ROOT0"},
    NETWORK: {"WORKSPACE", "TMP", "TMPDIR"},
    NO_TMP: {"WORKSPACE"},
    FULL_ACCESS: set(PLACES),
}
PATIENT = Call(timeout=120.0)
CODEX: tuple[Door, ...] = tuple(load_plugin("doors", name)() for name in measured_doors())


class Live(DoorContract):
    @pytest.fixture
    def environment(self, machine: Environment) -> Environment:
        return machine

    @pytest.fixture
    def subject(self, codex: Subject) -> Subject:
        return codex


class TestInstalledDoor(Live):
    """Each door that a matrix file may name."""

    policies = tuple(policy for policy in POLICIES if policy != FULL_ACCESS)

    @pytest.fixture(params=CODEX, ids=lambda door: door.name)
    def door(self, request: pytest.FixtureRequest) -> Door:
        made: Door = request.param
        return made


class TestToyDoor(Live):
    """It has nothing but a command and the defaults."""

    @pytest.fixture
    def door(self) -> Door:
        return ToyDoor()


class TestBareBwrapDoor(Live):
    @pytest.fixture
    def door(self) -> Door:
        return BareBwrapDoor()

    def lets_through(self, door: Door) -> bool:
        return False


def through(door: Door, machine: Environment, codex: Subject, policy: str) -> Observation:
    (seen,) = door.observe(machine, codex, POLICIES[policy], BATTERY, PATIENT)
    assert seen.finished and not seen.error, f"{seen.stderr}\n{seen.error}"
    return seen


def written(seen: Observation) -> set[str]:
    """Where something new is seen from outside."""
    keys = {name: look_key(f"door.places/{name.lower()}", f"@{name}@/@NAME@") for name in PLACES}
    return {name for name, key in keys.items() if seen.after[key].kind == "file" != seen.before[key].kind}


@pytest.mark.parametrize("door", CODEX, ids=lambda door: door.name)
@pytest.mark.parametrize("policy", POLICIES)
def test_each_policy_opens_what_it_says_and_nothing_else(
    machine: Environment, codex: Subject, policy: str, door: Door
) -> None:
    seen = through(door, machine, codex, policy)
    assert (seen.code, seen.litter) == (0, ())
    assert written(seen) == OPEN[policy]
    assert {name for name in PLACES if seen.rows[f"door.places/{name.lower()}"].ok} == OPEN[policy]
    arrived = {entry.split()[0] for entry in seen.arrivals}
    assert arrived == ({"http", "dns-udp", "dns-tcp"} if policy in (NETWORK, FULL_ACCESS) else set())
    if not arrived:
        assert {
            (seen.rows[f"door.network/{act}"].errno, seen.rows[f"door.network/{act}"].step)
            for act in ("http", "udp", "tcp")
        } == {("EPERM", "socket")}
    else:
        assert seen.rows["door.network/udp"].value == "192.0.2.7" == seen.rows["door.network/tcp"].value


@pytest.mark.parametrize("door", CODEX, ids=lambda door: door.name)
def test_a_sandbox_is_seen_in_the_kernels_marks_and_full_access_has_none(
    machine: Environment, codex: Subject, door: Door
) -> None:
    on = through(door, machine, codex, WORKSPACE_WRITE).readings[0]
    off = through(door, machine, codex, FULL_ACCESS).readings[0]
    assert on.stdout_is_ours and off.stdout_is_ours
    assert on.filters > on.hand_filters and on.namespaces["user"] != on.hand_namespaces["user"]
    assert (off.filters, off.namespaces) == (off.hand_filters, off.hand_namespaces)
    assert any(link.exe.endswith("bwrap") for link in on.chain)


def test_the_bubblewrap_alone_follows_the_policy_about_files(machine: Environment, codex: Subject) -> None:
    for policy in (READ_ONLY, WORKSPACE_WRITE, ROOTS, NO_TMP):
        assert written(through(BareBwrapDoor(), machine, codex, policy)) == OPEN[policy]


@pytest.mark.parametrize("door", CODEX, ids=lambda door: door.name)
def test_the_users_own_codex_folder_is_neither_read_nor_written(
    machine: Environment, codex: Subject, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, door: Door
) -> None:
    theirs = tmp_path / ".codex"
    theirs.mkdir()
    (theirs / "config.toml").write_text("this is [not TOML: whoever reads it fails")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CODEX_HOME", str(theirs))
    through(door, machine, codex, READ_ONLY)
    assert [path.name for path in theirs.iterdir()] == ["config.toml"]


@pytest.mark.parametrize("door", CODEX, ids=lambda door: door.name)
def test_sixty_acts_need_one_call(machine: Environment, codex: Subject, door: Door) -> None:
    acts = {f"door.many/{n}": Act(verb="write", path=f"@WORKSPACE@/@NAME@-{n}") for n in range(60)}
    (seen,) = door.observe(machine, codex, POLICIES[WORKSPACE_WRITE], acts, PATIENT)
    assert len(seen.rows) == 62 and all(seen.rows[act].ok for act in acts)


@pytest.mark.parametrize("door", CODEX, ids=lambda door: door.name)
def test_output_arrives_to_the_byte(machine: Environment, codex: Subject, door: Door) -> None:
    acts = {"door.output/much": Act(verb="output", params={"size": 3_000_000, "seed": "door"})}
    (seen,) = door.observe(machine, codex, POLICIES[READ_ONLY], acts, PATIENT)
    assert seen.finished and seen.stdout_sha256 in seen.rows["door.output/much"].value
    assert seen.stdout_total == 3_000_000
