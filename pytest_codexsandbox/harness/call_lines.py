"""Call lines: a call of Codex as the journal keeps it, and the bubblewrap that set up its sandbox. Pure."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from pytest_codexsandbox.model.bwrap_used import bwrap_not_used, unexpected_bwrap, used
from pytest_codexsandbox.model.journal_lines import CallLine
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.redact import redact_bytes
from pytest_codexsandbox.model.sandbox_state import SandboxState

_STDIN_KEPT: Final = 65536  # bytes


def call_line(
    observation: Observation,
    call: Any,
    *,
    cell: str,
    environment: str,
    subject: str,
    control: bool,
    facts: Mapping[str, Any] | None,
) -> CallLine:
    """Returns the line of a call. `facts` of the environment tell which bubblewrap was asked for; None: none was."""
    found = None if facts is None else used(observation.readings, facts)
    return CallLine(
        id=observation.id,
        environment=environment,
        subject=subject,
        cell=cell,
        observation=observation,
        control=control,
        stdin=_base64(call.stdin),
        interrupt_after=call.interrupt_after,
        timeout=call.timeout,
        bwrap_used=found,
        another_bwrap=unexpected_bwrap(found, facts or {}),
    )


def with_bwrap_used(state: SandboxState, seen: Sequence[Observation], facts: Mapping[str, Any]) -> SandboxState:
    """Adds which bubblewrap set up the sandbox. With several calls, the first unexpected one wins."""
    found = [used(observation.readings, facts) for observation in seen]
    return msgspec.structs.replace(
        state,
        bwrap=next(filter(None, found), None),
        another=next(filter(None, (unexpected_bwrap(one, facts) for one in found)), ""),
        without_say=next(filter(None, (bwrap_not_used(one, facts) for one in found)), ""),
    )


def _base64(data: bytes) -> str:
    return base64.b64encode(redact_bytes(data)[:_STDIN_KEPT]).decode()
