"""Remedy proof: checks whether a remedy helps. Runs start.sandbox-is-on on both sides of its proof, each in a
container.

Nothing on the host is changed. A remedy that would change the host has no proof, and so no sides to run.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec

from pytest_codexsandbox.diagnosis.match import match
from pytest_codexsandbox.diagnosis.remedies import At, Proof, Remedy, Turns
from pytest_codexsandbox.environments.bubblewrap.bwrap_provider import provide
from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.errors import CodexSandboxError, Unavailable
from pytest_codexsandbox.harness.environment_pool import IN_A_ROW
from pytest_codexsandbox.harness.event_sink import EventSink
from pytest_codexsandbox.harness.trial_runner import run_promises
from pytest_codexsandbox.harness.worker_resources import WorkerOptions
from pytest_codexsandbox.matrix import scenario_index
from pytest_codexsandbox.matrix.axis_files import SHIPPED
from pytest_codexsandbox.matrix.container_cells import of_values
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.protocols import Subject
from pytest_codexsandbox.registry import cache_folder, data_folder, default_door

DISTRO: Final = "debian-bookworm"
_PROMISE: Final = "start.sandbox-is-on"
_PATIENCE: Final = 3.0  # factor for the limit of each call: the proof asks whether a sandbox starts, not how soon
State = Literal["as recorded", "differs", "not told"]
Found = Turns | Literal["leak", ""]


class ProofEnvironment(NamedTuple):
    """A container of a proof; several policies are asked for in one."""

    profile: str
    bwrap: str
    user: str


Records = Mapping[str, Record]  # by policy
Rehearsed = Callable[[ProofEnvironment, Sequence[str]], Records]


class ProofResult(msgspec.Struct, frozen=True, kw_only=True):
    remedy: str
    before: At
    after: At
    recorded: Turns
    synthetic: bool  # the refusal is made by a filter of codexsandbox
    state: State
    found: Found = ""
    causes: tuple[str, ...] = ()  # fingerprints of the failure before: as diagnosed there, and by its message alone
    still: str = ""  # fingerprint of the failure afterwards
    why: str = ""  # why no result was found


def place_of(at: At) -> ProofEnvironment:
    return ProofEnvironment(at.profile, at.bwrap, at.user)


class Starts:
    """Runs the start check at each side of the proofs. Each place gets a container once, for all callers."""

    def __init__(self, rehearsed: Rehearsed, proofs: Iterable[Proof]) -> None:
        self._rehearsed = rehearsed
        self._sides = [side for proof in proofs for side in (proof.before, proof.after)]
        self._known: dict[ProofEnvironment, Records] = {}
        self._broken: list[str] = []  # reasons of failures in a row: the places are not the cause then

    def at(self, at: At) -> Record:
        """Returns the record of the start check at one side. Unavailable where a part of the place is not available
        here."""
        place = place_of(at)
        if at.policy not in self._known.get(place, {}):
            if len(self._broken) >= IN_A_ROW:
                raise Unavailable(f"not tried: {IN_A_ROW} environments in a row did not start", why=self._broken[-1])
            policies = sorted({side.policy for side in self._sides if place_of(side) == place} | {at.policy})
            self._known[place] = records = self._rehearsed(place, policies)
            whys = [one.reason for one in records.values() if one.verdict is Verdict.BROKEN]
            self._broken = [*self._broken, *whys[:1]] if len(whys) == len(records) else []
        return self._known[place][at.policy]


def in_containers(
    subject: Subject, folder: Path, *, distro: str = DISTRO, events: EventSink | None = None
) -> Rehearsed:
    """Returns a function that runs the start check of a place in its own container. The container is removed when the
    records are there, or when the wait is interrupted."""
    pairs = [pair for pair in scenario_index.promises(data_folder("scenarios")) if pair[0].id == _PROMISE]
    door = default_door("commands")

    def rehearsed(place: ProofEnvironment, policies: Sequence[str]) -> Records:
        bwrap = SHIPPED.bwrap(place.bwrap)
        if bwrap.ours:  # first: an environment that does not start would say less
            provide(bwrap, cache_folder())
        names = (distro, place.bwrap, place.profile, place.user)
        spec = of_values(SHIPPED, names, arch=this_machine().arch)
        options = WorkerOptions(folder=folder / "-".join(place), cache=cache_folder(), timeout_scale=_PATIENCE)
        records = run_promises(pairs, policies, subject, environment=spec, options=options, door=door, events=events)
        return {key.policy: record for key, record in records.items()}

    return rehearsed


def prove(remedy: Remedy, proof: Proof, starts: Starts, *, distro: str = DISTRO) -> ProofResult:
    """Returns the result of both sides: as recorded in the data of the remedy, or how it differs."""
    outcome = ProofResult(
        remedy=remedy.name,
        before=proof.before,
        after=proof.after,
        recorded=proof.turns,
        state="not told",
        synthetic=SHIPPED.profile(proof.before.profile).synthetic,
    )
    try:
        red = starts.at(proof.before)
        if why := not_failing(red, proof):
            return msgspec.structs.replace(outcome, why=f"before: {why}")
        then = starts.at(proof.after)
    except CodexSandboxError as fault:
        return msgspec.structs.replace(outcome, why=_line("; ".join(filter(None, (fault.what, fault.why)))))
    found = became(then)
    outcome = msgspec.structs.replace(outcome, causes=_causes(red))
    if not found:
        return msgspec.structs.replace(outcome, why=f"after: {_unmeasured(then)}")
    if found != proof.turns and distro != DISTRO and "distro" in (proof.before.bwrap, proof.after.bwrap):
        why = f"recorded with the bubblewrap of {DISTRO} ({proof.family}), not with that of {distro}; found: {found}"
        return msgspec.structs.replace(outcome, why=why)
    state: State = "as recorded" if found == proof.turns else "differs"
    still = _causes(then)[0] if found == "no better" else ""
    return msgspec.structs.replace(outcome, state=state, found=found, still=still)


def not_failing(red: Record, proof: Proof) -> str:
    """Returns why this environment does not show the failure that the remedy is for; "" where it does."""
    found = became(red)
    if found != "no better":
        return f"the sandbox does not fail to start there ({found})" if found else _unmeasured(red)
    causes = _causes(red)
    if not set(proof.causes) <= set(causes):
        seen = ", ".join(filter(None, causes)) or "a cause that is not recognised"
        return f"it fails there for {seen}; recorded is {', '.join(proof.causes)}"
    return ""


def became(record: Record) -> Found:
    """Returns what one side shows. `no better`: a sandbox was promised, and refused. "" where nothing was measured, or
    its control did not hold."""
    if not record.evidence or not all(row.control_held for row in record.evidence):
        return ""
    held = all(row.held for row in record.evidence)
    if record.verdict is Verdict.VIOLATES and not held and record.direction in ("denied", "leak"):
        return "leak" if record.direction == "leak" else "no better"
    if record.verdict is Verdict.CONFORMS and held:
        return "green"
    return "no sandbox" if record.verdict is Verdict.UNCONFINED and held else ""


def _causes(red: Record) -> tuple[str, ...]:
    """Returns the fingerprint diagnosed there, then the one of the message alone: the cause that a synthetic profile
    imitates."""
    row = red.deciding
    if row is None:
        return ("",)
    pasted = match(row.saw)
    return tuple(dict.fromkeys((row.reason, *((pasted.fingerprint,) if pasted else ()))))


def _unmeasured(record: Record) -> str:
    return _line(f"{record.verdict.value}: {record.reason}" if record.reason else record.verdict.value)


def _line(text: str) -> str:
    return "; ".join(" ".join(line.split()) for line in text.splitlines() if line.strip())
