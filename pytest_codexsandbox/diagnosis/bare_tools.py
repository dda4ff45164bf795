"""Bare tools: matches the output of tools that ran without Codex (guest/bare_tools.py) against the fingerprints."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pytest_codexsandbox.diagnosis.fact_conditions import flatten
from pytest_codexsandbox.diagnosis.fingerprint import Fingerprint
from pytest_codexsandbox.diagnosis.match import fingerprints as all_fingerprints
from pytest_codexsandbox.diagnosis.match import match
from pytest_codexsandbox.diagnosis.syscall_causes import told_of
from pytest_codexsandbox.guest.bare_tools import ASKED
from pytest_codexsandbox.model.bare_tools import HELD, BareToolResults, ToolAttempt

_FACT: Final = "bare"


def alone(facts: Mapping[str, Any], *, fingerprints: Sequence[Fingerprint] | None = None) -> BareToolResults | None:
    """Returns the results of the bare tools. None if the backend did not try them, as in journals of earlier
    versions.
    """
    said = facts.get(_FACT)
    if not isinstance(said, Mapping):
        return None
    known = [one for one in (all_fingerprints() if fingerprints is None else fingerprints) if not one.note]
    clues = flatten(facts)
    names = {**ASKED, **{str(name): str(name) for name in said if name not in ASKED}}
    tried = (_tried(name, command, str(said.get(name, "")), clues, known) for name, command in names.items())
    return BareToolResults(tried=tuple(tried), asked=told_of(clues))


def _tried(name: str, command: str, said: str, clues: Mapping[str, str], known: Sequence[Fingerprint]) -> ToolAttempt:
    found = match(said, facts=clues, fingerprints=known) if said not in ("", HELD) else None
    if found is None:
        return ToolAttempt(name=name, command=command, said=said)
    return ToolAttempt(
        name=name, command=command, said=said, quote=found.quote, fingerprint=found.fingerprint, cause=found.cause
    )
