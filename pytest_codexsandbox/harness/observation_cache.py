"""Observation cache: makes each call of Codex, and its control, once per worker. One call answers many promises."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import msgspec

from pytest_codexsandbox.diagnosis.fact_conditions import flatten
from pytest_codexsandbox.diagnosis.sandbox_state import assess, assess_command, with_bwrap_used
from pytest_codexsandbox.errors import CodexSandboxError, EnvironmentLost, HarnessError
from pytest_codexsandbox.harness.background_call import BackgroundCall
from pytest_codexsandbox.harness.batteries import SHARED, acts_of, batteries_of
from pytest_codexsandbox.harness.codex_resolver import OneSubject, Resolver
from pytest_codexsandbox.harness.event_sink import EventSink
from pytest_codexsandbox.harness.worker_resources import WorkerOptions, WorkerResources
from pytest_codexsandbox.matrix import requirements
from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import POLICIES, asks_for_sandbox
from pytest_codexsandbox.model.promise import REFUSABLE, Promise
from pytest_codexsandbox.model.sandbox_state import SandboxState
from pytest_codexsandbox.protocols import Door, Subject, WriteConfig

T = TypeVar("T")
Kept = dict[Any, Any]
GroupKey = tuple[str, str, str, str]
"""A cell, a door, a policy and a group."""
ControlKey = tuple[str, str, int]
"""An environment, a group, and how often that environment had ended."""


class GeneratedConfigs(Protocol):
    """Writes the configuration of cells that have a generator."""

    def writer(self, cell: Cell, policy: str) -> WriteConfig: ...


class GroupCalls(msgspec.Struct, frozen=True):
    """Calls of one group, and for each copy the same acts outside any sandbox."""

    seen: tuple[Observation, ...]
    control: tuple[Observation, ...]


class CodexAtDoor(NamedTuple):
    """A Codex and a door, as promises ask for them."""

    able: Capabilities
    door: Door


class ObservationCache:
    """Makes and keeps the calls of Codex. Not thread-safe. `close()` ends all that was started."""

    def __init__(
        self,
        plan: Plan,
        resources: WorkerResources,
        *,
        configs: GeneratedConfigs | None = None,
        controls: Mapping[ControlKey, Any] = MappingProxyType({}),
    ) -> None:
        self.plan, self.resources, self._configs = plan, resources, configs
        self.pool, self.programs = resources.pool, resources.programs
        self.cells = {cell.id: cell for cell in plan.cells}
        self.promises = {promise.id: promise for promise in plan.promises}
        self.batteries = batteries_of(plan, resources.options.timeout_scale)
        self._reached: dict[tuple[str, str], CodexAtDoor] = {}
        self._ruled_out: dict[tuple[str, str, bool, tuple[str, ...]], str] = {}
        self._kept: Kept = {}
        self._calls: dict[GroupKey, GroupCalls] = {}
        self._states: dict[GroupKey, SandboxState] = {}
        self._controls = dict(controls)

    def child(self, plan: Plan, subject: Subject, options: WorkerOptions) -> "ObservationCache":
        """Returns a cache for another subject in the same environments, which reports nothing. It reuses the controls
        of this cache that performed all the acts it needs."""

        def performed(group: str) -> bool:
            wanted, done = acts_of(plan.promises, group), acts_of(self.plan.promises, group)
            return all(done.get(name) == act for name, act in wanted.items())

        resources = WorkerResources(
            plan.cells, options, resolver=OneSubject(subject), events=EventSink(), pool=self.pool
        )
        controls = {key: kept for key, kept in self._controls.items() if performed(key[1])}
        return ObservationCache(plan, resources, controls=controls)

    def close(self) -> None:
        self.resources.close()

    def end_environment(self, spec: EnvironmentSpec) -> None:
        """Ends the environment and forgets its controls: a new environment gets its own."""
        self.pool.end(spec.id)
        self._controls = {key: kept for key, kept in self._controls.items() if key[0] != spec.id}
        self._calls = {key: kept for key, kept in self._calls.items() if self.cells[key[0]].environment.id != spec.id}

    def codex_at(self, cell: Cell, name: str) -> CodexAtDoor:
        """Returns what is known of a cell's Codex at a door before any call."""
        key = (cell.id, name)
        if key not in self._reached:
            able, door = self.programs.able(cell), self.resources.door(name)
            self._reached[key] = CodexAtDoor(able, door)
        return self._reached[key]

    def why_not_by_codex(self, promise: Promise, key: Key) -> str:
        """Returns why the probed binary or the door rules the promise out; "" if it does not. Of a policy it counts
        only whether it asks for a sandbox."""
        asked = (key.cell, key.door, asks_for_sandbox(key.policy), promise.requires)
        if asked not in self._ruled_out:
            found = self.codex_at(self.cells[key.cell], key.door)
            self._ruled_out[asked] = requirements.why_not_by_codex(promise, found.able, found.door, key.policy)
        return self._ruled_out[asked]

    def door_of(self, cell: Cell, name: str, policy: str) -> Door:
        """Returns the door of a cell. In a cell with a generator, a policy is requested only by the configuration that
        the generator writes. The generator has written when this returns: calls run in any thread, generators one after
        the other."""
        door = self.codex_at(cell, name).door
        if not cell.subject.generator or door.is_control or self._configs is None:
            return door
        write = self._configs.writer(cell, policy)
        return self._once(("door", name, cell.id, policy), lambda: door.configured(write))

    # ---- observations
    def calls(self, cell: Cell, door: str, policy: str, group: str) -> GroupCalls:
        """Returns the observations of one group through a real door, and their controls."""
        key = (cell.id, door, policy, group)
        if key not in self._calls:
            self._calls[key] = GroupCalls(self.observations(cell, door, policy, group), self.control(cell, group))
        return self._calls[key]

    def observations(self, cell: Cell, door: str, policy: str, group: str) -> tuple[Observation, ...]:
        """Returns the observations of one group through a real door."""
        if group != SHARED and self._hangs(cell, door, policy):
            group = SHARED
        return self._once(("seen", cell.id, door, policy, group), lambda: self._observe(cell, door, policy, group))

    def control(self, cell: Cell, group: str) -> tuple[Observation, ...]:
        """Returns the same acts performed unconfined: once for each environment, for every release and policy. An
        environment that was started anew gets its own control: what worked before may fail now."""
        key = (cell.environment.id, group, self.pool.generation(cell.environment))
        return memoize(self._controls, key, lambda: self._observe(cell, self.resources.control_door.name, "", group))

    def outside(self, cell: Cell, acts: Mapping[str, Act], call: Call, *, of: str) -> Observation:
        """Runs a command of a user's test without a sandbox: once for each environment, test and command."""
        key = (cell.environment.id, f"{of} {acts!r} {call!r}", self.pool.generation(cell.environment))
        return memoize(self._controls, key, lambda: self._outside(cell, acts, call))

    def sandbox_state(self, cell: Cell, door: str, policy: str, group: str = SHARED) -> SandboxState:
        """Returns whether a sandbox was on in these calls: the worst state of the copies."""
        key = (cell.id, door, policy, group)
        if key not in self._states:
            self._states[key] = self._assess(cell, door, policy, group)
        return self._states[key]

    def assessed(self, cell: Cell, policy: str, seen: Observation, control: Observation) -> SandboxState:
        """Returns whether a sandbox was on in this very call of the probe."""
        facts = self._once(("facts", cell.environment.id), lambda: flatten(self.pool.facts(cell.environment)))
        sandboxed, known = POLICIES[policy].sandboxed, self.resources.options.fingerprints
        return assess(seen, control, sandboxed=sandboxed, facts=facts, fingerprints=known)

    # ---- in the background
    def prefetch_call(self, cell: Cell, door: str, policy: str, group: str) -> Literal["there", "begun", "later"]:
        """Starts these calls in the background if their environment and Codex are ready. `observations` then returns
        the result."""
        key = ("seen", cell.id, door, policy, group)
        if key in self._kept:
            return "there"
        free = self.pool.background is None and self.is_ready(cell)
        if not free or not self._is_worth_it(cell, door, policy, group):
            return "later"
        self.pool.background = BackgroundCall(cell.environment.id, key, self._prepared(cell, door, policy, group))
        return "begun"

    def is_ready(self, cell: Cell) -> bool:
        """Checks whether the environment and the Codex of a cell are ready."""
        return self.pool.is_open(cell.environment) and self.programs.is_known(cell.subject)

    def _is_worth_it(self, cell: Cell, door: str, policy: str, group: str) -> bool:
        """Checks whether to make a call ahead. A promise's own call waits for the battery, which shows whether Codex
        hangs."""
        battery = ("seen", cell.id, door, policy, SHARED) in self._kept
        return group == SHARED or (battery and not self._hangs(cell, door, policy))

    # ---- inside
    def _once(self, key: object, make: Callable[[], T]) -> T:
        return memoize(self._kept, key, make)

    def _hangs(self, cell: Cell, door: str, policy: str) -> bool:
        """Checks whether Codex never sent its first word in the battery. It is not waited for again, call after
        call."""
        return all(one.ended == "timeout" and not one.ready for one in self.observations(cell, door, policy, SHARED))

    def _prepared(self, cell: Cell, door: str, policy: str, group: str) -> Callable[[], tuple[Observation, ...]]:
        """Makes everything that the calls need. Returns the function that performs them, in any thread."""
        battery = self.batteries[policy, group]
        # A control needs some policy's name and no policy's effect; roots of every policy exist in its world.
        asked = POLICIES[policy or "danger-full-access"]
        environment, subject = self.pool.enter(cell.environment, self.programs.subject(cell.subject))
        observe = self.door_of(cell, door, policy).observe

        def perform() -> tuple[Observation, ...]:
            seen = observe(environment, subject, asked, battery.acts, battery.call)
            self.pool.check_after(environment, seen)
            return seen

        return perform

    def _observe(self, cell: Cell, door: str, policy: str, group: str) -> tuple[Observation, ...]:
        spec, events = cell.environment, self.resources.events
        try:
            self.pool.check_known(spec)
            observations = self._performed(cell, door, policy, group)
        except EnvironmentLost as error:  # the call's effects on its world can no longer be seen
            self.pool.lose(spec, error.why or error.what)
            raise
        finally:
            self.pool.report_change(spec)
        if policy:
            self.programs.check(cell, observations)
            if group == SHARED and POLICIES[policy].sandboxed:
                self.pool.check_battery(spec, cell.subject, door, observations)
            events.pending.seconds_in_codex += max((one.seconds for one in observations), default=0.0)
        for observation in observations:
            self._report(cell, observation, self.batteries[policy, group].call, control=not policy)
        lost = next((one for one in observations if one.ended == "lost"), None)
        if lost is not None:  # the end of such a call is no finding about the subject or the control
            raise self.pool.lose(spec, lost.error)
        lacking = next((one.lacked for one in observations if one.lacked), "")
        if lacking:
            raise HarnessError("this machine lacks the resources for the call", where=spec.id, why=lacking)
        return observations

    def _performed(self, cell: Cell, door: str, policy: str, group: str) -> tuple[Observation, ...]:
        """Returns the result of the background call, or performs the calls now."""
        background = self.pool.background
        if background is not None and background.key == ("seen", cell.id, door, policy, group):
            self.pool.background = None
            return background.fetch()
        return self._prepared(cell, door, policy, group)()

    def _outside(self, cell: Cell, acts: Mapping[str, Act], call: Call) -> Observation:
        environment, subject = self.pool.enter(cell.environment, self.programs.subject(cell.subject))
        try:
            asked = POLICIES["danger-full-access"]
            (seen,) = self.resources.control_door.observe(environment, subject, asked, acts, call)
        except EnvironmentLost as error:
            raise self.pool.lose(cell.environment, error.why or error.what) from None
        self._report(cell, seen, call, control=True)
        if seen.ended == "lost":
            raise self.pool.lose(cell.environment, seen.error)
        return seen

    def _report(self, cell: Cell, observation: Observation, call: Call, *, control: bool) -> None:
        sandboxed = not control and POLICIES[observation.policy].sandboxed
        self.resources.events.call(
            observation,
            cell=cell,
            stdin=call.stdin,
            interrupt_after=call.interrupt_after,
            timeout=call.timeout,
            control=control,
            facts=self.pool.facts(cell.environment) if sandboxed else None,
        )

    def _assess(self, cell: Cell, door: str, policy: str, group: str) -> SandboxState:
        controls = self.control(cell, group)
        pairs = [
            (seen, controls[min(copy, len(controls) - 1)])
            for copy, seen in enumerate(self.observations(cell, door, policy, group))
        ]
        if group != SHARED and self._runs_a_command(group):
            shared = self.sandbox_state(cell, door, policy)
            states = [assess_command(seen, control, shared=shared) for seen, control in pairs]
        else:
            states = [self.assessed(cell, policy, seen, control) for seen, control in pairs]
        if group != SHARED and self.promises[group].needs == REFUSABLE:
            states = [states[0], *(state for state in states[1:] if state.state != "failed")]
        worst = min(states, key=lambda state: ("off", "failed", "unknown", "on").index(state.state))
        if not POLICIES[policy].sandboxed:
            return worst
        return with_bwrap_used(worst, [seen for seen, _ in pairs], self.pool.facts(cell.environment))

    def _runs_a_command(self, group: str) -> bool:
        call = self.promises[group].call
        return call is not None and bool(call.argv)


def memoize(kept: Kept, key: object, make: Callable[[], T]) -> T:
    """Returns the kept result, or makes it now. An error is kept as well: what is unavailable is not tried again for
    every promise."""
    if key not in kept:
        try:
            kept[key] = make()
        except CodexSandboxError as fault:
            kept[key] = fault
    found: T | CodexSandboxError = kept[key]
    if isinstance(found, CodexSandboxError):
        raise found.with_traceback(None)  # else its traceback would grow with each raise
    return found


@contextmanager
def open_observations(
    plan: Plan, options: WorkerOptions, *, resolver: Resolver, events: EventSink
) -> Iterator[ObservationCache]:
    """Opens a cache for a command that measures without pytest."""
    made = ObservationCache(plan, WorkerResources(plan.cells, options, resolver=resolver, events=events))
    try:
        yield made
    finally:
        made.close()
