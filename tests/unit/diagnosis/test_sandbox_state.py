"""A sandbox is on when the kernel and the probe both say so; every half of that is something else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_codexsandbox.diagnosis.sandbox_state import assess, assess_command
from pytest_codexsandbox.model.act import ActResult
from pytest_codexsandbox.model.base_acts import FORBIDDEN, PERMITTED
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.sandbox_state import SandboxState
from tests.unit.diagnosis.builders import (
    KEY,
    OUTSIDE,
    SAME,
    control,
    died,
    landlocked,
    look,
    observation,
    reading,
    refused_with,
    unmarked,
)


def state(seen: Observation, outside: Observation | None = None, *, sandboxed: bool = True) -> SandboxState:
    return assess(seen, outside or control(), sandboxed=sandboxed)


def test_bubblewrap_is_on() -> None:
    found = state(observation())
    assert (found.state, found.by, found.call) == ("on", "bwrap", "c1")
    assert "own user namespace" in found.marks
    assert "seccomp filters 1 > 0" in found.marks


def test_landlock_is_known_by_filters_and_eacces() -> None:
    found = state(observation(rows=refused_with("EACCES"), readings=(landlocked(),)))
    assert (found.state, found.by) == ("on", "landlock")


def test_landlock_with_the_network_on_leaves_only_no_new_privs() -> None:
    seen = observation(rows=refused_with("EACCES"), readings=(landlocked(filters=0, seccomp=0),))
    assert (state(seen).state, state(seen).by) == ("on", "landlock")


def test_inside_a_container_the_marks_of_the_hand_do_not_count() -> None:
    """There the agent has Seccomp 2 with one filter and NoNewPrivs 1 as well."""
    inside = {"hand_seccomp": 2, "hand_filters": 1, "hand_no_new_privs": 1}
    alike = landlocked(**inside)
    assert state(observation(readings=(alike,))).state == "off"
    more = landlocked(**inside, filters=2)
    assert state(observation(rows=refused_with("EACCES"), readings=(more,))).state == "on"
    assert state(observation(readings=(reading(**inside),))).state == "on"


def test_landlock_that_could_leave_no_mark_is_not_known() -> None:
    alike = landlocked(filters=1, hand_filters=1, hand_seccomp=2, hand_no_new_privs=1)
    assert state(observation(rows=refused_with("EACCES"), readings=(alike,))).state == "unknown"


def test_a_mount_namespace_with_fewer_capabilities_is_a_mark() -> None:
    own = OUTSIDE | {"mnt": "mnt:[2]"}
    full = "000001ffffffffff"
    assert state(observation(readings=(unmarked(namespaces=own, hand_cap_eff=full, cap_eff="0"),))).state == "on"
    assert state(observation(readings=(unmarked(namespaces=own, hand_cap_eff=full, cap_eff=full),))).state == "off"


def test_another_network_namespace_alone_is_no_confinement() -> None:
    seen = observation(readings=(unmarked(namespaces=OUTSIDE | {"net": "net:[2]"}),))
    assert state(seen).state == "off"
    assert state(seen).marks == ("own net namespace",)


def test_self_restraint_without_a_mark_is_off() -> None:
    found = state(observation(readings=(unmarked(),)))
    assert found.state == "off"
    assert "no mark" in found.why


def test_a_write_that_went_through_is_off_against_every_word_of_the_probe() -> None:
    for kind in ("file", "dir", "symlink", "other"):  # whatever is there now
        assert state(observation(after={KEY: look(kind)})).state == "off"
    honest = {act: ActResult(act=act, ok=True) for act in (FORBIDDEN, PERMITTED)}
    assert state(observation(rows=honest, after={KEY: look("file")}, readings=())).state == "off"


def test_no_sandbox_as_asked_is_off_and_says_that_none_was_asked_for() -> None:
    seen = observation(rows=control().rows, after={KEY: look("file")}, readings=(unmarked(),))
    found = state(seen, sandboxed=False)
    assert (found.state, "none was requested" in found.why) == ("off", True)


def test_an_unrequested_sandbox_is_on_and_says_so() -> None:
    found = state(observation(), sandboxed=False)
    assert (found.state, "none was requested" in found.why) == ("on", True)


@pytest.mark.parametrize(
    ("stderr", "fingerprint"),
    [
        ("bwrap: No permissions to create new namespace, likely because the kernel", "userns-not-permitted"),
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "loopback-newaddr-refused"),
        ("thread 'main' panicked\nFailed to execvp x: No such file or directory (os error 2)", "command-not-found"),
    ],
)
def test_a_call_that_ended_before_the_probe_ran_has_failed_for_a_reason(stderr: str, fingerprint: str) -> None:
    found = state(died(stderr))
    assert found.state == "failed"
    assert found.diagnosis is not None
    assert found.diagnosis.fingerprint == fingerprint
    assert found.why in stderr


def test_a_call_that_ended_with_unknown_words_has_failed_and_says_so() -> None:
    found = state(died("something new went wrong\n\nStack backtrace:\n   0: <unknown>"))
    assert found.diagnosis is not None
    assert (found.state, found.diagnosis.fingerprint, found.why) == ("failed", "", "something new went wrong")


def test_the_hint_about_a_backtrace_is_not_the_error() -> None:
    how_to = "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n"
    assert state(died(f"panicked at x.rs:1:1:\nsomething new went wrong\n{how_to}")).why == "something new went wrong"


def test_a_silent_call_has_failed_with_its_exit_code() -> None:
    found = state(died("", code=42))
    assert (found.state, found.why) == ("failed", "exit code 42")
    killed = state(died("", ended="signal", code=137))
    assert killed.state == "failed" and "SIGKILL" in killed.why and "137" in killed.why


def test_facts_of_the_machine_make_the_cause_of_a_failed_start_more_specific() -> None:
    seen = died("bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded")
    found = assess(seen, control(), sandboxed=True, facts={"sysctls.user.max_user_namespaces": "0"})
    assert found.diagnosis is not None
    assert found.diagnosis.fingerprint == "userns-limit-zero"
    assert found.why.endswith("/proc/sys/user/max_*_namespaces")  # a name is quoted whole


@pytest.mark.parametrize(
    "words",
    [
        {"ended": "exit", "code": 0},
        {"ended": "timeout"},
        {"ended": "lost", "error": "the environment died"},
        {"ended": "not-started", "error": "Exec format error"},
    ],
)
def test_a_call_that_says_nothing_about_the_sandbox_is_unknown(words: dict[str, Any]) -> None:
    assert state(died(**words)).state == "unknown"


@pytest.mark.parametrize(
    "words",
    [
        {"readings": ()},
        {"readings": (reading(stdout_is_ours=False),)},
        {"rows": {}},
        {"rows": refused_with("ENOENT")},
        {"rows": refused_with("")},
        {"rows": refused_with("EROFS") | {PERMITTED: ActResult(act=PERMITTED, ok=False, errno="EACCES")}},
        {"rows": refused_with("EROFS") | {PERMITTED: ActResult(act=PERMITTED, ok=True, value="something else")}},
        {"rows": control().rows},
        {"after": {}},
        {"after": {KEY: look("unreadable")}},
        {"error": "the probe's output is malformed: a second row for one act"},
    ],
)
def test_half_a_proof_is_unknown(words: dict[str, Any]) -> None:
    assert state(observation(**words)).state == "unknown"


def test_a_finding_without_a_control_is_unknown() -> None:
    assert assess(observation(), None, sandboxed=True).state == "unknown"


@pytest.mark.parametrize(
    "words",
    [
        {"rows": {}},
        {"rows": control().rows | {FORBIDDEN: ActResult(act=FORBIDDEN, ok=False, errno="EACCES")}},
        {"after": {KEY: look()}},
    ],
)
@pytest.mark.parametrize("seen", [observation(), died("bwrap: pivot_root: Operation not permitted")])
def test_a_control_that_failed_makes_everything_unknown(seen: Observation, words: dict[str, Any]) -> None:
    found = assess(seen, control(**words), sandboxed=True)
    assert (found.state, found.why.startswith("the control failed")) == ("unknown", True)


def test_a_proof_is_valid_although_the_call_ended_late() -> None:
    assert state(observation(ended="signal", code=130, finished=False)).state == "on"


observations = st.builds(
    observation,
    ended=st.sampled_from(["exit", "signal", "timeout", "not-started", "lost"]),
    code=st.integers(0, 255),
    ready=st.booleans(),
    rows=st.sampled_from([{}, refused_with("EROFS"), refused_with("EACCES"), refused_with("ENOENT"), control().rows]),
    after=st.sampled_from([{}, {KEY: look()}, {KEY: look("file")}, {KEY: look("symlink")}]),
    readings=st.sampled_from([(), (reading(),), (unmarked(),), (landlocked(),), (reading(stdout_is_ours=False),)]),
    stderr=st.sampled_from(["", "bwrap: pivot_root: Operation not permitted", "x"]),
)


@SAME
@given(seen=observations, outside=st.sampled_from([None, control(), control(rows={})]), sandboxed=st.booleans())
def test_on_always_rests_on_a_refusal_a_control_and_a_mark(
    seen: Observation, outside: Observation | None, sandboxed: bool
) -> None:
    found = assess(seen, outside, sandboxed=sandboxed)
    if found.state == "on":
        assert outside is not None
        assert outside.rows[FORBIDDEN].ok
        assert seen.rows[FORBIDDEN].errno in ("EROFS", "EACCES", "EPERM")
        assert seen.after[KEY].kind != "file"
        assert found.marks
        assert found.by
    if found.state == "failed":
        assert found.diagnosis is not None
    assert found.why


SHARED = SandboxState(state="on", why="shown by the battery", call="c0")
NOTHING = observation(rows={}, readings=(), ready=False, finished=False)
THROUGH = observation(rows={}, readings=(), ready=False, finished=False, after={KEY: look("file")})
UNSEEN = observation(rows={}, readings=(), ready=False, finished=False, after={KEY: look("unreadable")})


@pytest.mark.parametrize(
    ("seen", "outside", "state"),
    [
        (NOTHING, THROUGH, "on"),
        (THROUGH, THROUGH, "off"),
        (UNSEEN, THROUGH, "unknown"),
        (observation(rows={}, readings=(), after={}), THROUGH, "unknown"),
        (NOTHING, NOTHING, "unknown"),  # a command that does nothing outside either: its call proves nothing
        (NOTHING, None, "unknown"),
    ],
)
def test_a_call_without_a_probe_is_known_by_what_its_command_left_outside(
    seen: Observation, outside: Observation | None, state: str
) -> None:
    assert assess_command(seen, outside, shared=SHARED).state == state


@pytest.mark.parametrize("state", ["off", "failed", "unknown"])
def test_a_call_without_a_probe_is_no_better_than_the_battery(state: Any) -> None:
    assert assess_command(NOTHING, THROUGH, shared=SandboxState(state=state, why="")).state == state
