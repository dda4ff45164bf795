"""Whether the sandbox was on in the call that enforces a generator's files, and what it is called where it was not."""

import pytest

from pytest_codexsandbox.generators.policy_acts import grants_everything
from pytest_codexsandbox.harness.generators.enforcement import _on, by_marks_alone
from pytest_codexsandbox.model.act import PathState
from pytest_codexsandbox.model.generator import ExpectedPolicy
from pytest_codexsandbox.model.record import Diagnosis
from pytest_codexsandbox.model.sandbox_state import SandboxState
from tests.unit.diagnosis.builders import KEY, OUTSIDE, observation, reading

REFUSED = Diagnosis(fingerprint="apparmor-userns", cause="", remedy="", verdict="sandbox")


@pytest.mark.parametrize(
    ("started", "sandboxed", "held", "direction", "reason"),
    [
        (SandboxState(state="on", why="", by="bwrap"), True, True, "", ""),
        (SandboxState(state="off", why=""), False, True, "", ""),
        (SandboxState(state="off", why=""), True, False, "leak", "no-sandbox"),
        (SandboxState(state="failed", why="", diagnosis=REFUSED), True, False, "denied", "apparmor-userns"),
        (SandboxState(state="on", why="", by="bwrap"), False, False, "denied", ""),
    ],
)
def test_the_reason_is_a_word_that_fingerprints_know(
    started: SandboxState, sandboxed: bool, held: bool, direction: str, reason: str
) -> None:
    found = _on(started, observation(), observation(), sandboxed=sandboxed)
    assert (found.held, found.direction, found.reason) == (held, direction, reason)


def test_an_unknown_grant_is_held_against_no_generator() -> None:
    assert not _on(SandboxState(state="unknown", why=""), observation(), observation(), sandboxed=True).control_held


# ---- the whole machine was asked for: a write outside is no leak
BARE = reading(namespaces=OUTSIDE, filters=0, no_new_privs=0, cap_eff="0" * 16)
OFF = SandboxState(state="off", why="a write that no sandbox allows went through, seen from outside")


def test_if_every_folder_was_requested_the_marks_of_the_kernel_decide() -> None:
    inside = observation(after={KEY: PathState(path="@OUTSIDE@/x", kind="file")}, readings=(reading(),))
    outside = observation(after={KEY: PathState(path="@OUTSIDE@/x", kind="file")}, readings=(BARE,))
    assert by_marks_alone(OFF, inside).state == "on"
    assert by_marks_alone(OFF, outside).state == "off"
    assert "no mark" in by_marks_alone(OFF, outside).why


def test_a_sandbox_that_is_off_for_another_reason_stays_off() -> None:
    refused = observation(readings=(reading(),))
    assert by_marks_alone(OFF, refused) == OFF


@pytest.mark.parametrize(
    ("roots", "everything"), [(("/",), True), (("@WORLD@",), True), (("@ROOT0@",), False), (None, False)]
)
def test_everything_is_granted_by_the_root_of_the_machine_alone(
    roots: tuple[str, ...] | None, everything: bool
) -> None:
    assert grants_everything(ExpectedPolicy(sandbox="workspace-write", roots=roots)) is everything
