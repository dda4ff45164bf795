"""Deciding key: names the key that keeps a written policy from taking effect: misplaced, or overriding the policy.

A check of Codex's answer sees only the effect. A cause may name a key only if the files contain it.
"""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.checks.granted_policy import SPEAKS, granted, layers
from pytest_codexsandbox.generators.checks.key_placement import misplaced_keys
from pytest_codexsandbox.model.generator import CaseRun, Finding

CAPTURED: Final = "captured"
VOIDED: Final = "voided-by-default-permissions"
ANOTHER_LAYER: Final = "voided-by-another-layer"
_POLICY: Final = ("another-mode", "another-network", "root-missing")
_APPROVAL: Final = "another-approval"
_OUTERMOST: Final = "file"  # the layer that a generator of files writes
_PLACE: Final = re.compile(r"config\.toml:(?P<line>\d+):")  # in Codex's own words


def with_cause(findings: Iterable[Finding], case_run: CaseRun) -> tuple[Finding, ...]:
    """Returns the findings about Codex's answer, with the word of the deciding key where it is known."""
    return tuple(_named(one, _word(one, case_run)) for one in findings)


def with_cause_of_acts(findings: Iterable[Finding], case_run: CaseRun) -> tuple[Finding, ...]:
    """Returns the findings about acts. A promised act that is denied gets the cause of the policy."""
    return tuple(_named(one, _of_policy(case_run) if _is_denied_act(one) else "") for one in findings)


def with_cause_of_loading(findings: Iterable[Finding], case_run: CaseRun) -> tuple[Finding, ...]:
    """Returns the findings about loading. A captured key is the cause if Codex names the line of that key."""
    return tuple(_named(one, CAPTURED if _names_captured(one.saw, case_run) else "") for one in findings)


def _is_denied_act(found: Finding) -> bool:
    """Checks whether an act was denied with an errno or without a reason. A sandbox that did not start has its own
    fingerprint."""
    return found.direction == "denied" and (not found.reason or found.reason.isupper())


def _named(found: Finding, word: str) -> Finding:
    if not word or found.held or found.skipped:
        return found
    return msgspec.structs.replace(found, reason=word)


def _names_captured(error: str, case_run: CaseRun) -> bool:
    place = _PLACE.search(error)
    lines = case_view.results(case_run)[-1].content.splitlines()
    if place is None or not 0 < int(place["line"]) <= len(lines):
        return False
    line = lines[int(place["line"]) - 1].lstrip()
    captured = (path for path, word in misplaced_keys(case_run).items() if word == CAPTURED)
    return any(line.startswith((path[0].encode(), path[-1].encode())) for path in captured)


def _word(found: Finding, case_run: CaseRun) -> str:
    if found.reason == _APPROVAL and found.direction == "denied":
        return _misplaced(case_run, ("approval_policy",))
    if found.reason not in _POLICY:
        return ""
    word = _of_policy(case_run)
    return word if found.direction == "denied" or word in (VOIDED, ANOTHER_LAYER) else ""


def _of_policy(case_run: CaseRun) -> str:
    last = case_run.runs[-1]
    decides = granted(layers(last.files, last, case_run.world), case_run.world)
    if decides.by == "default_permissions":
        return VOIDED
    if word := _misplaced(case_run, SPEAKS):
        return word
    return ANOTHER_LAYER if decides.by and decides.layer != _OUTERMOST and not last.argv else ""


def _misplaced(case_run: CaseRun, keys: Iterable[str]) -> str:
    """Returns the word for the first of these keys that was written and is misplaced; "" if there is none."""
    return next((word for path, word in misplaced_keys(case_run).items() if path[0] in keys), "")
