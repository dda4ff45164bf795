"""Enforcement: what Codex does with a generator's files. Performs a few acts in a process started after the files were
written."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.diagnosis.fact_conditions import flatten
from pytest_codexsandbox.diagnosis.sandbox_state import assess, escaped, proof_of
from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.generators.policy_acts import ACTS, CLAIMS, PROMISE, grants_everything, permitted
from pytest_codexsandbox.harness.baseline_checks import control_words, control_worked
from pytest_codexsandbox.harness.batteries import SHARED, acts_of, call_of
from pytest_codexsandbox.harness.trial import RealTrial
from pytest_codexsandbox.harness.worker_resources import WorkerResources
from pytest_codexsandbox.model.act import Act
from pytest_codexsandbox.model.bwrap_used import used
from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.generator import CaseRun, ExpectedPolicy, Finding, GeneratedConfig, GeneratorRun
from pytest_codexsandbox.model.generator_spec import FOLDERS
from pytest_codexsandbox.model.generator_suite import AS_ASKED, GENERATED
from pytest_codexsandbox.model.journal_lines import CallLine
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import FULL_ACCESS, POLICIES
from pytest_codexsandbox.model.record import Evidence
from pytest_codexsandbox.model.sandbox_state import SandboxState
from pytest_codexsandbox.model.story_log import anonymous
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.protocols import Door
from pytest_codexsandbox.registry import default_door

LONGEST: Final = 80  # the time limit is that of so many acts: each of two hundred roots costs Codex a mount
NO_SOCKET: Final = ("EPERM",)  # what the filter says to socket()
NO_SANDBOX: Final = "no-sandbox"
WriteThere = Callable[[Cell, CaseRun, World], GeneratedConfig]


class Enforced(msgspec.Struct, frozen=True, kw_only=True):
    findings: tuple[Finding, ...]
    by: str
    seen: tuple[Observation, ...]


class Enforcement:
    """Measures through the door at which a configuration file counts. Arguments that stand for no setting go through
    `codex exec`, which takes them as they are."""

    def __init__(self, resources: WorkerResources, *, write: WriteThere) -> None:
        self._resources, self._write = resources, write
        self._controls: dict[str, Observation] = {}

    def of(self, cell: Cell, case_run: CaseRun, expect: ExpectedPolicy) -> Enforced:
        door = self._door(case_run.runs[-1]).configured(lambda world, policy: self._write(cell, case_run, world))
        control = self._control(cell)
        sandboxed = expect.sandbox != FULL_ACCESS
        seen = self._observed(cell, door, AS_ASKED, sandboxed=sandboxed)
        started = assess(
            seen, control, sandboxed=sandboxed, facts=flatten(self._resources.pool.facts(cell.environment))
        )
        if sandboxed and grants_everything(expect):
            started = by_marks_alone(started, seen)
        start = _on(started, seen, control, sandboxed=sandboxed)
        # A command that never ran shows nothing else.
        findings = (start, *_acts(cell, seen, control, expect)) if seen.ready else (start,)
        return Enforced(findings=tuple(_for_people(one, seen) for one in findings), by=seen.id, seen=(seen,))

    def _door(self, run: GeneratorRun) -> Door:
        """Returns the door that takes the arguments of this run."""
        door = self._resources.door(default_door("files"))
        return self._resources.door(default_door("options")) if door.refuses(run.argv) else door

    def _control(self, cell: Cell) -> Observation:
        """Returns the same acts performed unconfined: once for each environment."""
        spec = cell.environment.id
        if spec not in self._controls:
            self._controls[spec] = self._observed(cell, self._resources.control_door, "", sandboxed=False)
        return self._controls[spec]

    def _observed(self, cell: Cell, door: Door, policy: str, *, sandboxed: bool) -> Observation:
        resources, events = self._resources, self._resources.events
        environment, subject = resources.enter(cell)
        acts = acts_of((PROMISE,), SHARED)
        call = call_of(None, acts=LONGEST, scale=resources.options.timeout_scale)
        asked = GENERATED if policy else POLICIES[FULL_ACCESS]
        seen = door.observe(environment, subject, asked, acts, call)[0]
        resources.check(cell, (seen,))
        events.emit(
            CallLine(
                id=seen.id,
                environment=events.id_of(cell.environment.id),
                subject=cell.subject.label,
                cell=cell.id,
                observation=seen,
                timeout=call.timeout,
                control=not policy,
                full_access=bool(policy) and not sandboxed,
                bwrap_used=used(seen.readings, resources.pool.facts(cell.environment)) if sandboxed else None,
            )
        )
        if policy:
            events.pending.seconds_in_codex += seen.seconds
        if seen.ended == "lost":
            raise resources.pool.lose(cell.environment, seen.error)
        if seen.lacked:
            raise HarnessError(
                "this machine lacks the resources for the call", where=cell.environment.id, why=seen.lacked
            )
        return seen


def _for_people(found: Finding, seen: Observation) -> Finding:
    """Returns the finding with placeholders for the folders of the call, which Codex's messages name."""
    places = seen.world.values if seen.world else {}
    return anonymous(found, {name: place for name, place in places.items() if name in FOLDERS})


def _on(started: SandboxState, seen: Observation, control: Observation, *, sandboxed: bool) -> Finding:
    wanted = "on" if sandboxed else "off"
    held = started.state == wanted
    return Finding(
        claim=f"in a process started afterwards, the sandbox is {wanted}",
        saw=started.why,
        held=held,
        control=control_words(control),
        control_held=control_worked(control) and started.state != "unknown",
        direction="" if held else "leak" if started.state == "off" else "denied",
        reason="" if held else _reason(started, sandboxed=sandboxed),
    )


def by_marks_alone(started: SandboxState, seen: Observation) -> SandboxState:
    """Judges a sandbox under which every folder may be written. A write outside proves nothing there; the kernel's
    marks do."""
    if started.state != "off" or not escaped(seen):
        return started
    proof = next(filter(None, (proof_of(reading, "") for reading in seen.readings)), "")
    asked = "every folder was requested, and a write outside works"
    if not proof:
        return msgspec.structs.replace(started, why=f"{asked}; the kernel shows no mark of a sandbox")
    return msgspec.structs.replace(started, state="on", why=f"{asked}; the kernel shows {proof}")


def _reason(started: SandboxState, *, sandboxed: bool) -> str:
    """Returns the reason as fingerprints know it; "" where only the difference itself is known."""
    if started.state == "off" and sandboxed:
        return NO_SANDBOX
    return started.diagnosis.fingerprint if started.diagnosis else ""


def _acts(cell: Cell, seen: Observation, control: Observation, expect: ExpectedPolicy) -> Sequence[Finding]:
    """Returns the findings of each act, seen as in every scenario: inside, outside, and in the control."""
    key = Key(cell=cell.id, door=seen.door, policy=AS_ASKED, promise=PROMISE.id)
    trial = RealTrial(key, PROMISE, seen=(seen,), control=(control,), started=SandboxState(state="on", why=""))
    for act, may in permitted(expect).items():
        if may:
            trial.allowed(act, effect=_effect(ACTS[act]), claim=f"{CLAIMS[act]} works")
        else:
            trial.refused(act, errno=_refusals(ACTS[act]), claim=f"{CLAIMS[act]} is refused")
    return [_finding(row) for row in trial.rows]


def _effect(act: Act) -> str:
    return f"{act.path}#rows" if act.verb == "sqlite" else ""


def _refusals(act: Act) -> tuple[str, ...]:
    if act.verb == "sqlite":
        return ("SQLITE_CANTOPEN", "SQLITE_READONLY")
    return NO_SOCKET if act.verb == "http" else ("EROFS", "EACCES")


def _finding(row: Evidence) -> Finding:
    return Finding(
        claim=row.claim,
        saw=row.saw,
        held=row.held,
        control=row.control,
        control_held=row.control_held,
        direction=row.direction,
        reason=row.reason,
    )
