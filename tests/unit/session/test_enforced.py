"""Whether the sandbox was on in the call that enforces a generator's files, and what it is called where it was not."""

import pytest

from pytest_codexsandbox.model.record import Diagnosis
from pytest_codexsandbox.model.start import Started
from pytest_codexsandbox.session.enforced import _on
from tests.unit.diagnosis.makers import observation

REFUSED = Diagnosis(fingerprint="apparmor-userns", cause="", remedy="", verdict="sandbox")


@pytest.mark.parametrize(
    ("started", "sandboxed", "held", "direction", "reason"),
    [
        (Started(state="on", why="", by="bwrap"), True, True, "", ""),
        (Started(state="off", why=""), False, True, "", ""),
        (Started(state="off", why=""), True, False, "leak", "no-sandbox"),
        (Started(state="failed", why="", diagnosis=REFUSED), True, False, "denied", "apparmor-userns"),
        (Started(state="on", why="", by="bwrap"), False, False, "denied", ""),
    ],
)
def test_the_reason_is_a_word_that_fingerprints_know(
    started: Started, sandboxed: bool, held: bool, direction: str, reason: str
) -> None:
    found = _on(started, observation(), observation(), sandboxed=sandboxed)
    assert (found.held, found.direction, found.reason) == (held, direction, reason)


def test_where_nobody_knows_nothing_is_held_against_anybody() -> None:
    assert not _on(Started(state="unknown", why=""), observation(), observation(), sandboxed=True).control_held
