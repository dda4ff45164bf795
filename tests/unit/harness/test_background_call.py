"""A call performed beside the tests of another: once, alone in its environment, and with nothing of it left."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.errors import EnvironmentLost, HarnessError, Unavailable
from pytest_codexsandbox.harness import environment_pool, worker_resources
from pytest_codexsandbox.harness.batteries import SHARED
from pytest_codexsandbox.harness.codex_resolver import OneSubject
from pytest_codexsandbox.harness.event_sink import JournalEvents
from pytest_codexsandbox.harness.observation_cache import ObservationCache
from pytest_codexsandbox.harness.sandbox_runner import prefetch
from pytest_codexsandbox.harness.worker_resources import WorkerOptions, WorkerResources
from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.journal_lines import CallLine, Line
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import Policy
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.protocols import Door
from tests.fakes.scripted import FakeSubject, ScriptedEnvironment

READ, WRITE = "read-only", "workspace-write"
CELL = Cell(
    environment=EnvironmentSpec(id="here", backend="memory", distro="none"),
    subject=SubjectSpec(label="fake", path="/opt/codex"),
)
OTHER = EnvironmentSpec(id="there", backend="memory", distro="none")


def promise(id: str, **words: Any) -> Promise:
    policies = (READ, WRITE)
    return Promise(
        id=id, kind="boundary", severity="low", needs="sandbox", source="https://x", policies=policies, **words
    )


PROMISES = (promise("a.shared"), promise("a.alone", call=Call(copies=2)))


class Memory:
    """A backend whose environments are in memory, and that says when one of them has ended."""

    def __init__(self) -> None:
        self.ended = threading.Event()

    @contextmanager
    def open(self, spec: EnvironmentSpec, folder: Path, **_: Any) -> Iterator[ScriptedEnvironment]:
        yield ScriptedEnvironment(lambda command: None)  # type: ignore[arg-type, return-value]
        self.ended.set()


class WaitingDoor(Door):
    """Performs a call when it is let go; who is inside is counted."""

    name = "sandbox"

    def __init__(self, ended: threading.Event) -> None:
        self.go, self.ended = threading.Event(), ended
        self.go.set()
        self.performed: list[tuple[str, bool]] = []
        self.inside = self.most = 0
        self.ends = "exit"
        self.fault: Exception | None = None

    def command(self, subject: Any, policy: Policy, world: Any, inner: Sequence[str], call: Call) -> Command:
        raise NotImplementedError

    def observe(
        self, environment: Any, subject: Any, policy: Policy, acts: Mapping[str, Act], call: Call | None
    ) -> tuple[Observation, ...]:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.performed.append((policy.id, threading.current_thread() is threading.main_thread()))
        while not (self.go.wait(0.01) or self.ended.is_set()):
            pass
        self.inside -= 1
        if self.fault is not None:
            raise self.fault
        return (seen(f"c{len(self.performed)}", policy.id, self.ends),)


Made = tuple[ObservationCache, WaitingDoor, list[Line]]


def seen(id: str, policy: str, ended: str) -> Observation:
    return Observation(
        id=id,
        door="sandbox",
        policy=policy,
        nonce="n",
        argv=(),
        cwd="/",
        env={},
        ended=ended,  # type: ignore[arg-type]
        code=0,
        seconds=0.1,
        stdout_sha256="",
        stdout_total=0,
        stdout="",
        stderr="",
        ready=True,
    )


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    backend = Memory()
    door = WaitingDoor(backend.ended)
    monkeypatch.setattr(environment_pool, "load_plugin", lambda group, name: lambda: backend)
    monkeypatch.setattr(worker_resources, "load_plugin", lambda group, name: lambda: door)
    keys = tuple(
        Key(cell=CELL.id, door="sandbox", policy=policy, promise=one.id, case="")
        for policy in (READ, WRITE)
        for one in PROMISES
    )
    plan = Plan(preset="test", cells=(CELL,), promises=PROMISES, keys=keys)
    lines: list[Line] = []
    options, events = WorkerOptions(folder=Path("/f"), cache=Path("/c")), JournalEvents()
    events.pending.lines = lines
    resources = WorkerResources(plan.cells, options, resolver=OneSubject(FakeSubject()), events=events)
    cache = ObservationCache(plan, resources)
    try:
        yield cache, door, lines
    finally:
        door.go.set()
        cache.close()


def calls(lines: Sequence[Line]) -> list[str]:
    return [line.observation.policy for line in lines if isinstance(line, CallLine)]


def test_a_foreseen_call_is_performed_once_and_reported_on_request(
    made: Made,
) -> None:
    cache, door, lines = made
    cache.observations(CELL, "sandbox", READ, SHARED)
    assert cache.prefetch_call(CELL, "sandbox", READ, SHARED) == "there"
    assert cache.prefetch_call(CELL, "sandbox", WRITE, SHARED) == "begun"
    assert cache.prefetch_call(CELL, "sandbox", WRITE, SHARED) == "later"  # one at a time, and this one is on its way
    assert calls(lines) == [READ]
    assert cache.observations(CELL, "sandbox", WRITE, SHARED) == cache.observations(CELL, "sandbox", WRITE, SHARED)
    assert calls(lines) == [READ, WRITE]
    assert door.performed == [(READ, True), (WRITE, False)]


def test_nothing_is_made_for_what_is_only_foreseen(made: Made) -> None:
    """No environment is opened and no Codex fetched: their faults belong to who asks for them."""
    cache, _, _ = made
    assert cache.prefetch_call(CELL, "sandbox", READ, SHARED) == "later"
    cache.pool.acquire(CELL.environment)  # with all Codexes that will be called there
    assert cache.prefetch_call(CELL, "sandbox", READ, "a.alone") == "later"  # its battery was not seen
    assert cache.prefetch_call(CELL, "sandbox", READ, SHARED) == "begun"


def test_keys_that_need_no_call_are_passed_over(made: Made) -> None:
    cache, door, _ = made
    cache.observations(CELL, "sandbox", READ, SHARED)
    keys = {(key.policy, key.promise): key for key in cache.plan.keys}
    assert prefetch(cache, keys[READ, "a.shared"])
    assert not prefetch(cache, keys[READ, "a.alone"])
    assert [policy for policy, _ in door.performed] == [READ, READ]


def test_two_calls_are_never_in_an_environment_at_once(made: Made) -> None:
    cache, door, lines = made
    cache.observations(CELL, "sandbox", READ, SHARED)
    door.go.clear()
    cache.prefetch_call(CELL, "sandbox", WRITE, SHARED)
    threading.Timer(0.1, door.go.set).start()
    cache.control(CELL, SHARED)
    cache.observations(CELL, "sandbox", WRITE, SHARED)
    assert door.most == 1 and len(door.performed) == 3
    assert calls(lines)[-1] == WRITE


def test_facts_are_available_while_a_call_is_on_its_way(made: Made) -> None:
    cache, door, _ = made
    cache.observations(CELL, "sandbox", READ, SHARED)
    door.go.clear()
    cache.prefetch_call(CELL, "sandbox", WRITE, SHARED)
    assert cache.pool.facts(CELL.environment) == {} and cache.pool.get(CELL.environment).entrance is None
    assert door.inside == 1


def test_its_fault_is_raised_where_it_is_asked_for(made: Made) -> None:
    cache, door, lines = made
    cache.observations(CELL, "sandbox", READ, SHARED)
    door.fault = HarnessError("the disk is full")
    cache.prefetch_call(CELL, "sandbox", WRITE, SHARED)
    for _ in range(2):
        with pytest.raises(HarnessError, match="the disk is full"):
            cache.observations(CELL, "sandbox", WRITE, SHARED)
    assert len(door.performed) == 2 and calls(lines) == [READ]


def test_an_environment_that_was_lost_meanwhile_is_started_anew(made: Made) -> None:
    cache, door, lines = made
    cache.observations(CELL, "sandbox", READ, SHARED)
    first = cache.pool.acquire(CELL.environment)
    door.ends = "lost"
    cache.prefetch_call(CELL, "sandbox", WRITE, SHARED)
    assert cache.pool.acquire(CELL.environment) is first  # nobody has asked for that call yet
    with pytest.raises(EnvironmentLost, match="was lost"):  # whatever it showed until then
        cache.observations(CELL, "sandbox", WRITE, SHARED)
    assert cache.pool.acquire(CELL.environment) is not first and calls(lines) == [READ, WRITE]


def test_an_environment_that_died_between_two_calls_breaks_one_of_them(made: Made) -> None:
    cache, door, lines = made
    cache.observations(CELL, "sandbox", READ, SHARED)
    first = cache.pool.acquire(CELL.environment)
    door.fault = EnvironmentLost("the agent has ended")
    for _ in range(2):
        with pytest.raises(EnvironmentLost):
            cache.observations(CELL, "sandbox", WRITE, SHARED)
    door.fault = None
    assert cache.observations(CELL, "sandbox", READ, "a.alone")
    assert cache.pool.acquire(CELL.environment) is not first and calls(lines) == [READ, READ]


@pytest.mark.parametrize(
    "end", [ObservationCache.close, lambda cache: cache.end_environment(CELL.environment)], ids=["close", "done"]
)
def test_the_end_does_not_wait_for_an_unrequested_call(made: Made, end: Callable[[ObservationCache], None]) -> None:
    cache, door, lines = made
    cache.observations(CELL, "sandbox", READ, SHARED)
    door.go.clear()
    cache.prefetch_call(CELL, "sandbox", WRITE, SHARED)
    end(cache)
    assert not door.go.is_set() and door.inside == 0
    assert calls(lines) == [READ]


def test_the_end_of_another_environment_leaves_it_alone(made: Made) -> None:
    cache, door, _ = made
    cache.observations(CELL, "sandbox", READ, SHARED)
    door.go.clear()
    cache.prefetch_call(CELL, "sandbox", WRITE, SHARED)
    cache.end_environment(OTHER)
    assert door.inside == 1


def test_an_environment_that_dies_under_a_call_is_started_anew_for_the_next(made: Made) -> None:
    """What the call left was not seen any more, so it has no observation; the others have an environment."""
    cache, door, _ = made
    first = cache.pool.acquire(CELL.environment)
    door.fault = EnvironmentLost("the agent has ended", why="the engine was asked to stop the container")
    with pytest.raises(EnvironmentLost):
        cache.observations(CELL, "sandbox", READ, SHARED)
    door.fault = None
    assert cache.observations(CELL, "sandbox", WRITE, SHARED)
    assert cache.pool.acquire(CELL.environment) is not first


def test_a_new_environment_has_its_own_controls(made: Made) -> None:
    cache, door, _ = made
    before = cache.control(CELL, SHARED)
    assert cache.control(CELL, SHARED) is before
    door.ends = "lost"
    with pytest.raises(EnvironmentLost):
        cache.observations(CELL, "sandbox", READ, SHARED)
    door.ends = "exit"
    assert cache.control(CELL, SHARED) is not before


def test_an_unavailable_codex_is_no_fault_of_the_test_before_it(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, _, _ = made

    def unavailable(_: OneSubject, spec: SubjectSpec) -> Any:
        raise Unavailable("this release cannot be had", where=spec.label)

    monkeypatch.setattr(OneSubject, "resolve", unavailable)
    cache.pool.acquire(CELL.environment)
    assert all(prefetch(cache, key) for key in cache.plan.keys)  # none of them needs a call


def test_a_battery_that_failed_is_no_fault_of_the_test_before_it(made: Made) -> None:
    cache, door, _ = made
    cache.pool.acquire(CELL.environment)
    door.fault = HarnessError("the disk is full")
    with pytest.raises(HarnessError):
        cache.observations(CELL, "sandbox", READ, SHARED)
    assert all(prefetch(cache, key) for key in cache.plan.keys if key.policy == READ)
