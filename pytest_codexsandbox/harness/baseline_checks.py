"""Baseline checks: the start, the control and the canaries, on which every other verdict depends."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from pytest_codexsandbox.model.base_acts import FORBIDDEN, PERMITTED
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.model.record import Evidence
from pytest_codexsandbox.model.sandbox_state import SandboxState

START: Final = "start"
TRUST: Final = "trust"
STANDING: Final = (START, TRUST)


def start_evidence(started: SandboxState, *, policy: str, seen: Observation, control: Observation) -> Evidence:
    """Returns the row that the sandbox is on where the policy asks for one, and off where it does not."""
    sandboxed = POLICIES[policy].sandboxed
    wanted = "on" if sandboxed else "off"
    held = started.state == wanted
    direction = "leak" if started.state == "off" else "denied" if started.state == "failed" else "wrong-claim"
    marks = f" ({', '.join(started.marks)})" if started.marks else ""
    return Evidence(
        claim=f"under {policy} the sandbox is {wanted}",
        act=FORBIDDEN,
        nonce=seen.nonce,
        call=seen.id,
        control=control_words(control),
        control_held=control_worked(control) and started.state != "unknown",
        saw=f"{started.why}{marks}",
        held=held,
        reason=started.diagnosis.fingerprint if started.diagnosis else started.by,
        direction="" if held else direction,  # type: ignore[arg-type]
    )


def control_evidence(control: Observation, seen: Observation) -> Evidence:
    """Returns the row that the two base acts work without a sandbox. Otherwise a denial would mean nothing."""
    worked = control_worked(control)
    return Evidence(
        claim="without a sandbox, the base acts work and are seen from outside",
        act=FORBIDDEN,
        nonce=seen.nonce,
        call=control.id,
        control=control_words(control),
        control_held=worked,
        saw=control_words(control),
        held=worked,
    )


def control_worked(control: Observation) -> bool:
    forbidden, permitted = control.rows.get(FORBIDDEN), control.rows.get(PERMITTED)
    return bool(forbidden and forbidden.ok and permitted and permitted.ok and control.finished and not control.error)


def control_words(control: Observation) -> str:
    if control_worked(control):
        return "without a sandbox, the write outside and the read worked"
    said = control.error or control.stderr.strip()[:300] or "the probe did not answer"
    return f"the control did not work: {control.ended} {control.code}: {said}"


def canary_evidence(
    behaved: Mapping[str, str], seen: Observation, *, lost: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> tuple[Evidence, ...]:
    """Returns a row for each canary. `behaved`: each canary that was run, with "" if it was judged rightly, else what
    was wrong. `lost`: attempts that ended with their environment, before the one that counts."""
    claims = {"allow-all": "a Codex without any sandbox is caught", "good": "a well-behaved Codex passes"}
    return tuple(
        Evidence(
            claim=claims[act],
            act=act,
            nonce=seen.nonce,
            call=seen.id,
            saw="; ".join([fault or f"the canary {act} behaved", *lost.get(act, ())]),
            held=not fault,
            control=fault or f"the canary {act} behaved",
            control_held=not fault,
        )
        for act, fault in behaved.items()
    )
