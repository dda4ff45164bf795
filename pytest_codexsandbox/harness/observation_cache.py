"""Observation cache: opens each environment, resolves each Codex and makes each call once per worker."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from pytest_codexsandbox.diagnosis.fact_conditions import flatten
from pytest_codexsandbox.diagnosis.fingerprint import Fingerprint
from pytest_codexsandbox.diagnosis.sandbox_state import assess, assess_command
from pytest_codexsandbox.errors import CodexSandboxError, EnvironmentLost, HarnessError
from pytest_codexsandbox.harness.batteries import SHARED, acts_of, call_of, group_of, promises_by_policy
from pytest_codexsandbox.harness.binary_guard import BinaryGuard
from pytest_codexsandbox.harness.call_lines import call_line, with_bwrap_used
from pytest_codexsandbox.harness.environment_pool import EnvironmentPool, PooledCall
from pytest_codexsandbox.harness.machine_state_guard import Steady
from pytest_codexsandbox.harness.memo import Kept, memoize
from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.journal_lines import CallLine, EnvironmentLine, Line, SubjectLine
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.repro_shell import ReproShell
from pytest_codexsandbox.model.sandbox_state import SandboxState
from pytest_codexsandbox.protocols import Door, Environment, Notify, Subject, WriteConfig, silent
from pytest_codexsandbox.registry import default_door, load_plugin

WriterOf = Callable[[Cell, str], WriteConfig]
T = TypeVar("T")


class ObservationCacheOptions(msgspec.Struct, frozen=True, kw_only=True):
    folder: Path  # of this worker's environments, below the run's folder
    cache: Path
    timeout_scale: float = 1.0
    worker: str = ""
    fingerprints: tuple[Fingerprint, ...] | None = None  # None: those that are shipped
    generators_in: str = ""  # the environment that generators run in, whatever cell they are of: each may call Codex


class Resolve(Protocol):
    def __call__(self, spec: SubjectSpec, *, cache: Path) -> Subject: ...


class ObservationCache:
    """Not for threads. `close()` ends all that was started."""

    def __init__(
        self,
        plan: Plan,
        options: ObservationCacheOptions,
        *,
        emit: Callable[[Line], None],
        resolve: Resolve,
        say: Notify = silent,
        writer: WriterOf | None = None,
    ) -> None:
        self.plan, self.options = plan, options
        self._emit, self._resolve, self._say, self._writer = emit, resolve, say, writer
        self._places = EnvironmentPool(
            options.folder, options.cache, programs=self._programs, opened=self._stands, say=self._say
        )
        self._places_are_ours = True
        self._programs_had = BinaryGuard(options.cache)
        self._steady = Steady()
        self._kept: Kept = {}
        self.cells = {cell.id: cell for cell in plan.cells}
        self.promises = {promise.id: promise for promise in plan.promises}
        self._planned = promises_by_policy(plan)
        self.seconds_in_codex = 0.0
        self._leaving: list[Callable[[EnvironmentSpec], None]] = []

    def before_end(self, leave: Callable[[EnvironmentSpec], None]) -> None:
        """Of each environment, of whoever keeps something in it."""
        self._leaving.append(leave)

    # ---- things that are dear, made once
    def environment(self, spec: EnvironmentSpec) -> Environment:
        """To run something in: nothing else of ours runs there."""
        return self._places.acquire(spec)

    def facts(self, spec: EnvironmentSpec) -> dict[str, Any]:
        """Of an environment, once: those of one that is started anew are the same."""
        return self._once(("told", spec.id), lambda: dict(self._places.get(spec).facts()))

    def entrance(self, spec: EnvironmentSpec) -> ReproShell | None:
        return self._places.get(spec).entrance

    def ends(self, spec: EnvironmentSpec) -> int:
        """Counts how often an environment has ended: what was lost in the middle of a call has ended too."""
        return self._places.generation(spec)

    def prefetch_environment(self, spec: EnvironmentSpec) -> None:
        """Start it beside what runs: it is needed next."""
        self._places.ahead(spec)

    def end_environment(self, spec: EnvironmentSpec) -> None:
        """End it, and forget what was measured in it outside any cell: a new one has its own controls."""
        for leave in self._leaving:
            leave(spec)
        self._places.done(spec.id)
        for key in [key for key in self._kept if isinstance(key, tuple) and key[:2] == ("control", spec.id)]:
            del self._kept[key]

    def subject(self, spec: SubjectSpec) -> Subject:
        return self._once(("subject", spec.label), lambda: self._have(spec))

    def check_binary_unchanged(self, cell: Cell, seen: Sequence[Observation] = ()) -> None:
        """Raise HarnessError after a call that may have run another program than the reported one, or on a machine
        that changed since the environment was opened."""
        self._need_steady(cell.environment)
        binary = self.subject(cell.subject).binary
        self._programs_had.need(binary)
        self._programs_had.need_started(cell.environment.id, binary, seen)

    def _need_steady(
        self,
        spec: EnvironmentSpec,
        subject: SubjectSpec | None = None,
        door: str = "",
        seen: Sequence[Observation] = (),
    ) -> None:
        try:
            self._steady.look(self._places.get(spec))
            if subject is not None:
                self._steady.set_up(spec.id, subject, door, seen)
        finally:
            self._tell_change(spec)

    def _tell_change(self, spec: EnvironmentSpec) -> None:
        """The journal has the facts of both sides."""
        if facts := self._steady.news(spec.id):
            name, worker = self.environment_id(spec), self.options.worker
            self._emit(EnvironmentLine(id=name, spec=spec.id, facts=facts, worker=worker))

    def door(self, name: str) -> Door:
        made: Door = self._once(("door", name), load_plugin("doors", name))
        return made

    @property
    def control_door(self) -> Door:
        return self.door(default_door("control"))

    def door_of(self, cell: Cell, name: str, policy: str) -> Door:
        """As a cell has it: beside a generator, a policy is asked for by what that writes, and by nothing else. It has
        written when this returns: calls run in whatever thread, generators one after the other."""
        door = self.door(name)
        if not cell.subject.generator or door.is_control or self._writer is None:
            return door
        write = self._writer(cell, policy)
        return self._once(("door", name, cell.id, policy), lambda: door.configured(write))

    # ---- observations
    def observations(self, cell: Cell, door: str, policy: str, group: str) -> tuple[Observation, ...]:
        """What the calls of one group showed through a real door."""
        if group != SHARED and self._hangs(cell, door, policy):
            group = SHARED
        return self._once(("seen", cell.id, door, policy, group), lambda: self._observe(cell, door, policy, group))

    def _hangs(self, cell: Cell, door: str, policy: str) -> bool:
        """A Codex that never came to its first word is not waited for again, call after call."""
        return all(one.ended == "timeout" and not one.ready for one in self.observations(cell, door, policy, SHARED))

    def control(self, cell: Cell, group: str) -> tuple[Observation, ...]:
        """The same acts with nothing around them: once for an environment, whatever the release and the policy. One
        that was started anew has its own: what worked in the one before it may not work in this."""
        spec = cell.environment
        key = ("control", spec.id, group, self._places.generation(spec))
        return self._once(key, lambda: self._observe(cell, self.control_door.name, "", group))

    def outside(self, cell: Cell, acts: Mapping[str, Act], call: Call, *, of: str) -> Observation:
        """Runs a command of a user's test without a sandbox: once for the environment, the test and the command."""
        spec = cell.environment
        key = ("control", spec.id, f"{of} {acts!r} {call!r}", self._places.generation(spec))
        return self._once(key, lambda: self._outside(cell, acts, call))

    def sandbox_state(self, cell: Cell, door: str, policy: str, group: str = SHARED) -> SandboxState:
        """Whether a sandbox was on in that call (the worst of its copies)."""
        return self._once(("started", cell.id, door, policy, group), lambda: self._assess(cell, door, policy, group))

    def assessed(self, cell: Cell, policy: str, seen: Observation, control: Observation) -> SandboxState:
        """Whether a sandbox was on in this very call of the probe."""
        spec = cell.environment
        facts = self._once(("facts", spec.id), lambda: flatten(self.facts(spec)))
        sandboxed, known = POLICIES[policy].sandboxed, self.options.fingerprints
        return assess(seen, control, sandboxed=sandboxed, facts=facts, fingerprints=known)

    def planned(self, policy: str, group: str) -> tuple[Promise, ...]:
        """Promises whose acts ride in a group; for the control (no policy), those of every policy."""
        chosen = self._planned.get(policy, ()) if policy else self.plan.promises
        return tuple(promise for promise in chosen if group_of(promise) == group)

    def adopt(self, other: "ObservationCache") -> None:
        """Share another bench's environments, and its controls where they performed all that this one's would."""
        for key, kept in other._kept.items():
            if isinstance(key, tuple) and (key[0] == "control" and self._asks_no_more(other, key[2])):
                self._kept[key] = kept
        self._places, self._places_are_ours = other._places, False

    def _asks_no_more(self, other: "ObservationCache", group: str) -> bool:
        mine, theirs = (acts_of(bench.planned("", group), group) for bench in (self, other))
        return all(name in theirs and theirs[name] == act for name, act in mine.items())

    def close(self) -> None:
        if self._places_are_ours:
            self._places.close()

    def leaks(self) -> tuple[str, ...]:
        return self._places.leaks()

    def mark_lost(self, spec: EnvironmentSpec, why: str) -> EnvironmentLost:
        """It died under somebody who works in it himself: others get a new one. What he raises."""
        self._places.lose(spec, why)
        return EnvironmentLost("the environment was lost while this ran", where=spec.id, why=why)

    # ---- inside
    def _once(self, key: object, make: Callable[[], T]) -> T:
        return memoize(self._kept, key, make)

    def _stands(self, spec: EnvironmentSpec, environment: Environment) -> None:
        facts = dict(environment.facts())
        self._emit(EnvironmentLine(id=self.environment_id(spec), spec=spec.id, facts=facts, worker=self.options.worker))
        self._steady.opened(environment)

    def _programs(self, spec: EnvironmentSpec) -> list[Subject]:
        """The Codexes that will be called there; one that cannot be had is its own cells' fault."""
        found: list[Subject] = []
        for cell in self.plan.cells:
            if spec.id in (cell.environment.id, self.options.generators_in):
                with suppress(CodexSandboxError):
                    found.append(self.subject(cell.subject))
        return found

    def _have(self, spec: SubjectSpec) -> Subject:
        subject = self._resolve(spec, cache=self.options.cache)
        if why := subject.disagreement:
            raise HarnessError("the probe of this Codex disagrees with what its release can do", why=why)
        self._programs_had.remember(subject.binary)
        facts = msgspec.to_builtins(subject.capabilities)
        facts |= {"script": True} if self._programs_had.is_script(subject.binary) else {}
        self._emit(
            SubjectLine(
                id=self.subject_id(spec),
                label=spec.label,
                version=subject.capabilities.version,
                digest=subject.digest,
                source=subject.source,
                binary=subject.binary,
                facts=facts,
            )
        )
        return subject

    def environment_id(self, spec: EnvironmentSpec) -> str:
        return f"{spec.id}@{self.options.worker}" if self.options.worker else spec.id

    def subject_id(self, spec: SubjectSpec) -> str:
        return spec.label

    def prefetch_call(self, cell: Cell, door: str, policy: str, group: str) -> Literal["there", "begun", "later"]:
        """Perform these calls beside the tests of others, if nothing has to be made for them: `seen` finds them."""
        key = ("seen", cell.id, door, policy, group)
        if key in self._kept:
            return "there"
        free = self._places.errand is None and self.is_ready(cell)
        if not free or not self._has_begun(cell, door, policy, group):
            return "later"
        performing = self._performing(cell, door, policy, group)
        self._places.errand = PooledCall(cell.environment, key, performing)
        return "begun"

    def is_ready(self, cell: Cell) -> bool:
        """Whether its environment and its Codex are there already."""
        return self._places.is_open(cell.environment) and ("subject", cell.subject.label) in self._kept

    def _has_begun(self, cell: Cell, door: str, policy: str, group: str) -> bool:
        """A call of its own waits for the battery: whether it is worth making depends on that."""
        battery = ("seen", cell.id, door, policy, SHARED) in self._kept
        return group == SHARED or (battery and not self._hangs(cell, door, policy))

    def _performing(self, cell: Cell, door: str, policy: str, group: str) -> Callable[[], tuple[Observation, ...]]:
        """All that has to be made for it is made here; what is returned only runs, in whatever thread."""
        promises = self.planned(policy, group)
        acts = acts_of(promises, group)
        call = self._call(promises, group)
        # A control needs some policy's name and no policy's effect; roots of every policy exist in its world.
        asked = POLICIES[policy] if policy else POLICIES["danger-full-access"]
        environment = self.environment(cell.environment)
        subject = self.subject(cell.subject).inside(environment)
        observe = partial(self.door_of(cell, door, policy).observe, environment, subject, asked, acts, call)
        return partial(self._steady.through, environment, observe)

    def _call(self, promises: tuple[Promise, ...], group: str) -> Call:
        own = promises[0] if group != SHARED and promises else None
        return call_of(own, acts=len(acts_of(promises, group)), scale=self.options.timeout_scale)

    def _observe(self, cell: Cell, door: str, policy: str, group: str) -> tuple[Observation, ...]:
        try:
            self._steady.need(cell.environment.id)
            observations = self._observed(cell, door, policy, group)
        except EnvironmentLost as fault:  # what the call left in its world was not seen any more
            self._places.lose(cell.environment, fault.why or fault.what)
            raise
        finally:
            self._tell_change(cell.environment)
        if policy:
            self.check_binary_unchanged(cell, observations)
            if group == SHARED and POLICIES[policy].sandboxed:
                self._need_steady(cell.environment, cell.subject, door, observations)
        call = self._call(self.planned(policy, group), group)
        for observation in observations:
            self._emit(self._line(cell, observation, call, control=not policy))
        if policy:
            self.seconds_in_codex += max((observation.seconds for observation in observations), default=0.0)
        lost = next((one for one in observations if one.ended == "lost"), None)
        if lost is not None:  # how such a call ended is no finding, neither of the subject nor of the control
            raise self.mark_lost(cell.environment, lost.error)
        lacking = next((one.lacked for one in observations if one.lacked), "")
        if lacking:
            raise HarnessError("this machine lacks the resources for the call", where=cell.environment.id, why=lacking)
        return observations

    def _outside(self, cell: Cell, acts: Mapping[str, Act], call: Call) -> Observation:
        environment = self.environment(cell.environment)
        subject = self.subject(cell.subject).inside(environment)
        try:
            asked = POLICIES["danger-full-access"]
            (seen,) = self.control_door.observe(environment, subject, asked, acts, call)
        except EnvironmentLost as fault:
            raise self.mark_lost(cell.environment, fault.why or fault.what) from None
        self._emit(self._line(cell, seen, call, control=True))
        if seen.ended == "lost":
            raise self.mark_lost(cell.environment, seen.error)
        return seen

    def _observed(self, cell: Cell, door: str, policy: str, group: str) -> tuple[Observation, ...]:
        """What was on an errand, or performed now."""
        errand = self._places.errand
        if errand is not None and errand.key == ("seen", cell.id, door, policy, group):
            self._places.errand = None
            found: tuple[Observation, ...] = errand.fetch()
            return found
        return self._performing(cell, door, policy, group)()

    def _line(self, cell: Cell, observation: Observation, call: Any, *, control: bool) -> CallLine:
        sandboxed = not control and POLICIES[observation.policy].sandboxed
        return call_line(
            observation,
            call,
            cell=cell.id,
            environment=self.environment_id(cell.environment),
            subject=self.subject_id(cell.subject),
            control=control,
            facts=self.facts(cell.environment) if sandboxed else None,
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
        worst = min(states, key=lambda state: ("off", "failed", "unknown", "on").index(state.state))
        sandboxed = POLICIES[policy].sandboxed
        return with_bwrap_used(worst, [seen for seen, _ in pairs], self.facts(cell.environment)) if sandboxed else worst

    def _runs_a_command(self, group: str) -> bool:
        call = self.promises[group].call
        return call is not None and bool(call.argv)


@contextmanager
def bench(
    plan: Plan,
    options: ObservationCacheOptions,
    *,
    emit: Callable[[Line], None],
    resolve: Resolve,
    say: Notify = silent,
) -> Iterator[ObservationCache]:
    made = ObservationCache(plan, options, emit=emit, resolve=resolve, say=say)
    try:
        yield made
    finally:
        made.close()
