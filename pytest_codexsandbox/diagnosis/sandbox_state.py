"""Sandbox state: whether a sandbox was on in one call, by what the probe could do and by the kernel's marks. Pure.

Neither is enough. A program can restrain itself (or print what a refusal would look like) without any sandbox; a
namespace can be there and keep nothing in. So `on` needs a refusal that the control did not meet, seen from outside,
and a mark that the agent, read at the same moment, does not carry. Landlock leaves no mark in /proc: there it is more
seccomp filters (or a new NoNewPrivs) together with EACCES.
"""

import signal
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal

import msgspec

from pytest_codexsandbox.diagnosis.fact_conditions import NO_FACTS
from pytest_codexsandbox.diagnosis.fingerprint import Fingerprint
from pytest_codexsandbox.diagnosis.match import match
from pytest_codexsandbox.diagnosis.syscall_causes import with_measured
from pytest_codexsandbox.model.act import ActResult, PathState
from pytest_codexsandbox.model.base_acts import BASE_ACTS, FORBIDDEN, PERMITTED
from pytest_codexsandbox.model.bwrap_used import bwrap_not_used, unexpected_bwrap, used
from pytest_codexsandbox.model.observation import Observation, ProcReading
from pytest_codexsandbox.model.private_paths import PrivatePaths
from pytest_codexsandbox.model.record import Diagnosis
from pytest_codexsandbox.model.sandbox_state import SandboxState

REFUSALS: Final = ("EROFS", "EACCES", "EPERM")
NOT_INSPECTED: Final = "the probe was not inspected from outside while it waited"
NOT_KNOWN: Final = "no fingerprint fits what it said"
_HOW_TO: Final = "note: run with `RUST_BACKTRACE"
_MOUNTED: Final = "own mount namespace and fewer capabilities"


def assess(
    observation: Observation,
    control: Observation | None,
    *,
    sandboxed: bool,
    facts: Mapping[str, str] = NO_FACTS,
    fingerprints: Sequence[Fingerprint] | None = None,
) -> SandboxState:
    """Returns the state of the sandbox in a call, with the same acts outside any sandbox as control.

    `facts`: of the machine. `fingerprints`: the shipped ones by default.
    """
    reading = _reading(observation)
    marks = marks_of(reading) if reading else ()
    why = _control_fails(control)
    if why:
        return _state(observation, "unknown", f"the control failed: {why}", marks)
    if escaped(observation):
        words = "a write that no sandbox allows went through, seen from outside"
        return _state(observation, "off", words if sandboxed else f"{words}; none was requested", marks)
    if not observation.ready:
        return _never_ready(observation, partial(match, facts=facts, fingerprints=fingerprints), facts)
    why = _nonsense(observation)
    if why:
        return _state(observation, "unknown", why, marks)
    return _by_marks(observation, reading, marks, sandboxed)


def assess_command(observation: Observation, control: Observation | None, *, shared: SandboxState) -> SandboxState:
    """Returns the state of the sandbox in a call that ran a command and no probe. `shared`: of the policy's battery.

    The marks are the battery's. The files outside show whether this very call was confined: its command leaves none,
    while the control without a sandbox leaves one.
    """
    if control is None or not escaped(control):
        return _state(observation, "unknown", "the control failed: the command left nothing outside", ())
    if escaped(observation):
        return _state(observation, "off", "a write that no sandbox allows went through, seen from outside", ())
    after = _look(observation.after)
    if after is None or after.kind != "missing":
        return _state(observation, "unknown", f"the effect of {FORBIDDEN} could not be seen from outside", ())
    return shared


def with_bwrap_used(state: SandboxState, seen: Sequence[Observation], facts: Mapping[str, Any]) -> SandboxState:
    """Adds which bubblewrap set up the sandbox. With several calls, the first unexpected one wins."""
    found = [used(observation.readings, facts) for observation in seen]
    return msgspec.structs.replace(
        state,
        bwrap=next(filter(None, found), None),
        another=next(filter(None, (unexpected_bwrap(one, facts) for one in found)), ""),
        without_say=next(filter(None, (bwrap_not_used(one, facts) for one in found)), ""),
    )


def _by_marks(
    observation: Observation, reading: ProcReading | None, marks: tuple[str, ...], sandboxed: bool
) -> SandboxState:
    """Decides by the kernel's marks, once the refusal is known to be genuine."""
    errno = observation.rows[FORBIDDEN].errno
    if reading is None:
        return _state(observation, "unknown", NOT_INSPECTED, marks)
    if not reading.stdout_is_ours:
        return _state(observation, "unknown", "the inspected process does not write to the harness's pipe", marks)
    proof = proof_of(reading, errno)
    if proof:
        asked = "" if sandboxed else "; none was requested"
        words = (
            f"a write outside is refused ({errno}) that works without a sandbox, and the kernel shows {proof}{asked}"
        )
        return _state(observation, "on", words, marks, by=_by(reading, errno))
    if reading.hand_no_new_privs and errno == "EACCES":
        words = "a write outside is refused (EACCES), but here a sandbox by Landlock alone would leave no mark to see"
        return _state(observation, "unknown", words, marks)
    words = (
        f"a write outside is refused ({errno}), but the kernel shows no mark that this harness does not carry itself"
    )
    return _state(observation, "off", words, marks)


def marks_of(reading: ProcReading) -> tuple[str, ...]:
    """Returns every difference between the probe and the agent, the most significant first."""
    marks = [f"own {name} namespace" for name in ("user", "mnt", "net", "pid", "ipc") if _own(reading, name)]
    if reading.filters > reading.hand_filters:
        marks.append(f"seccomp filters {reading.filters} > {reading.hand_filters}")
    if reading.no_new_privs > reading.hand_no_new_privs:
        marks.append("NoNewPrivs 0 > 1")
    if _lost(reading):
        marks.append("capabilities lost")
    return tuple(marks)


def proof_of(reading: ProcReading, errno: str) -> str:
    """Returns the mark that proves confinement; "" if none does."""
    if _own(reading, "user"):
        return "a user namespace of its own"
    if _own(reading, "mnt") and _lost(reading):
        return _MOUNTED
    if reading.filters > reading.hand_filters:
        return f"seccomp filters ({reading.filters}, outside {reading.hand_filters})"
    if reading.no_new_privs > reading.hand_no_new_privs and errno != "EROFS":
        return "NoNewPrivs (1, outside 0)"
    return ""


def _own(reading: ProcReading, name: str) -> bool:
    inside, outside = reading.namespaces.get(name, ""), reading.hand_namespaces.get(name, "")
    return bool(inside and outside) and inside != outside


def _lost(reading: ProcReading) -> bool:
    inside, outside = _bits(reading.cap_eff), _bits(reading.hand_cap_eff)
    return inside is not None and outside is not None and inside != outside and inside & outside == inside


def _bits(text: str) -> int | None:
    try:
        return int(text, 16)
    except ValueError:
        return None


def _by(reading: ProcReading, errno: str) -> str:
    bwrap = any("bwrap" in (link.name, link.exe.rpartition("/")[2]) for link in reading.chain)
    if bwrap or _own(reading, "mnt"):
        return "bwrap"
    return "landlock" if errno == "EACCES" else "seccomp"


def _reading(observation: Observation) -> ProcReading | None:
    ours = [reading for reading in observation.readings if reading.stdout_is_ours]
    return next(iter((*ours, *observation.readings)), None)


def _control_fails(control: Observation | None) -> str:
    if control is None:
        return "there was none"
    for act in (FORBIDDEN, PERMITTED):
        row = control.rows.get(act)
        if row is None:
            return f"it did not reach {act} ({control.error or control.ended})"
        if not row.ok:
            return f"{act}: {row.errno or row.detail or 'failed'}"
    if not escaped(control):
        return f"{FORBIDDEN} reported success, and nothing appeared"
    return ""


def escaped(observation: Observation) -> bool:
    """Checks whether a file exists after the call where no sandbox permits one, whatever the probe reports."""
    after = _look(observation.after)
    return after is not None and after.kind not in ("missing", "unreadable")


def _look(looks: Mapping[str, PathState]) -> PathState | None:
    found = sorted(key for key in looks if key.startswith(FORBIDDEN))
    return looks[found[0]] if found else None


def _nonsense(observation: Observation) -> str:
    """Returns why the rows of a probe that ran prove nothing; "" if the refusal is genuine."""
    if observation.error:  # another process wrote with the probe's nonce, so the other rows cannot be trusted either
        return observation.error
    forbidden, permitted = observation.rows.get(FORBIDDEN), observation.rows.get(PERMITTED)
    after = _look(observation.after)
    if forbidden is None or permitted is None:
        return f"the probe started and did not reach the base acts ({_ending(observation)})"
    if after is None or after.kind == "unreadable":
        return f"the effect of {FORBIDDEN} could not be seen from outside"
    if forbidden.ok:
        return "the probe reports that a write outside worked, and nothing appeared there"
    if forbidden.errno not in REFUSALS:
        return f"a write outside failed with {_failure(forbidden)}, which is not how a sandbox refuses"
    if not permitted.ok:
        return f"an act that every policy allows failed: reading in the workspace, {_failure(permitted)}"
    if permitted.value != BASE_ACTS[PERMITTED].given[0].content:
        return "the probe did not read the content of the file in the workspace"
    return ""


def _failure(row: ActResult) -> str:
    return row.errno or row.detail or "no reason given"


def _never_ready(
    observation: Observation, known_by: Callable[[str], Diagnosis | None], facts: Mapping[str, str]
) -> SandboxState:
    observation = PrivatePaths([observation.world]).of(observation)
    ended = _ending(observation)
    failed = observation.ended == "signal" or (observation.ended == "exit" and observation.code != 0)
    if not failed or observation.error:  # what went wrong with the call itself is no finding about Codex
        why = "" if observation.error in ended else f": {observation.error}"
        return _state(observation, "unknown", f"the command in the sandbox never ran ({ended}){why}", ())
    known = known_by(observation.stderr) or known_by(observation.stdout)
    diagnosis = with_measured(known or _not_known(observation), facts)
    why = diagnosis.quote or _said(observation.stderr) or ended
    return _state(observation, "failed", why, (), diagnosis=diagnosis)


def _not_known(observation: Observation) -> Diagnosis:
    said = _said(observation.stderr) or _said(observation.stdout)
    cause = (
        f"{NOT_KNOWN}; the call ended with {_ending(observation)}"
        if said
        else f"it printed nothing; {_ending(observation)}"
    )
    return Diagnosis(fingerprint="", cause=cause, quote=said)


def _said(text: str) -> str:
    """Returns the last line of the output before a backtrace, or before the hint how to get one."""
    lines = [line.strip() for line in text.partition("tack backtrace:")[0].splitlines()]
    return next((line for line in reversed(lines) if len(line) > 1 and not line.startswith(_HOW_TO)), "")[:300]


def _ending(observation: Observation) -> str:
    if observation.ended == "exit":
        return f"exit code {observation.code}"
    if observation.ended == "signal":
        return f"{_signal(observation.code)}, exit code {observation.code}"
    return f"{observation.ended}{': ' + observation.error if observation.error else ''}"


def _signal(code: int | None) -> str:
    try:
        return f"died by {signal.Signals(abs(code or 0) % 128).name}"
    except ValueError:
        return "died by a signal"


def _state(
    observation: Observation,
    state: Literal["on", "off", "failed", "unknown"],
    why: str,
    marks: tuple[str, ...],
    *,
    by: str = "",
    diagnosis: Diagnosis | None = None,
) -> SandboxState:
    return SandboxState(state=state, why=why, marks=marks, by=by, call=observation.id, diagnosis=diagnosis)
