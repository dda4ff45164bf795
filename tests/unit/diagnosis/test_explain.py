"""A red record gets the cause that its own evidence tells, not whatever words stood near it."""

import msgspec
import pytest

from pytest_codexsandbox.diagnosis.builtin_causes import HARNESS
from pytest_codexsandbox.diagnosis.explain import diagnose
from pytest_codexsandbox.model.act import ActResult
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.record import Diagnosis, Record
from pytest_codexsandbox.model.verdict import Verdict
from tests.unit.diagnosis.builders import OUTSIDE, died, observation, reading, record, row, unmarked

BARE = observation(readings=(unmarked(),))
WARNING = (
    "WARNING: proceeding, even though we could not update PATH: "
    'Refusing to create helper binaries under temporary dir "/t"'
)


def why(record: Record, *seen: Observation, **facts: object) -> Diagnosis:
    said = diagnose(record, seen, facts)
    assert said is not None
    return said


@pytest.mark.parametrize(
    "verdict", [Verdict.CONFORMS, Verdict.UNCONFINED, Verdict.NOT_APPLICABLE, Verdict.EXPECTED, Verdict.STALE]
)
def test_records_that_are_not_red_or_blocked_need_no_diagnosis(verdict: Verdict) -> None:
    assert diagnose(record(verdict), (), {}) is None


def test_a_blocked_record_gets_the_cause_of_the_start() -> None:
    blocked = record(Verdict.BLOCKED, reason="the sandbox does not start: exit code 1")
    said = why(blocked, died("bwrap: pivot_root: Operation not permitted"))
    assert said.fingerprint == "pivot-root-refused"


def test_facts_of_the_machine_make_it_more_specific() -> None:
    blocked = record(Verdict.BLOCKED, reason="the sandbox does not start")
    seen = died("bwrap: setting up uid map: Permission denied")
    assert why(blocked, seen).fingerprint == "uid-map-refused"
    facts = {"sysctls": {"kernel.apparmor_restrict_unprivileged_userns": "1"}}
    assert why(blocked, seen, **facts).fingerprint == "uid-map-refused-by-apparmor"


def test_a_denial_is_explained_by_what_the_program_said() -> None:
    act = "sqlite.granted/insert"
    done = ActResult(act=act, ok=False, errno="SQLITE_CANTOPEN", detail="unable to open database file")
    rows = (row(act=act, held=False, direction="denied", reason="", saw="it failed"),)
    red = record(direction="denied", evidence=rows, promise="sqlite.granted")
    assert why(red, observation(rows={act: done})).fingerprint == "sqlite-cannot-open"


@pytest.mark.parametrize(
    ("case", "cause"), [("protected", "landlock-protects-no-names"), ("terminal", "landlock-has-no-namespaces")]
)
def test_a_leak_is_explained_by_its_case(case: str, cause: str) -> None:
    rows = (row(held=False, direction="leak"),)
    red = record(direction="leak", evidence=rows, promise="process.terminal-out-of-reach")
    red = msgspec.structs.replace(red, key=msgspec.structs.replace(red.key, case=case))
    assert why(red, observation(), codex="0.99.0").fingerprint == cause


def test_an_errno_of_the_harness_is_no_finding_about_codex() -> None:
    reason = "the folders of a call could not be removed; why w3/f: Operation not permitted"
    broken = record(Verdict.BROKEN, reason=reason)
    assert why(broken, observation()).fingerprint == ""
    assert why(broken).cause == HARNESS.cause


def test_the_errno_that_was_promised_explains_nothing() -> None:
    """The claim says EROFS; what was seen is something else."""
    rows = (row(claim="it is refused (EROFS or EACCES)", saw="ENOENT at open", reason="ENOENT", held=False),)
    red = record(direction="wrong-claim", evidence=rows, reason="promised: it is refused (EROFS or EACCES)")
    assert why(red, observation()).fingerprint == ""


def test_output_of_a_canary_is_no_finding_about_the_real_codex() -> None:
    told = "the good canary did not pass: EAI_AGAIN at getaddrinfo (Temporary failure in name resolution)"
    rows = (row(act="good", saw=told, control=told, held=False, control_held=False),)
    broken = record(Verdict.BROKEN, evidence=rows, reason=f"the control failed: {told}", promise="trust.canaries")
    said = why(broken, observation())
    assert (said.fingerprint, said.cause) == ("", HARNESS.cause)


def test_a_row_that_held_explains_nothing() -> None:
    rows = (row(saw="EROFS at open", reason="EROFS"), row(saw="odd", reason="", held=False, direction="wrong-claim"))
    assert why(record(direction="wrong-claim", evidence=rows), observation()).fingerprint == ""


def test_a_warning_on_stderr_is_not_the_cause_of_a_violation() -> None:
    rows = (row(saw="odd", held=False, direction="wrong-claim"),)
    said = why(record(direction="wrong-claim", evidence=rows), observation(stderr=WARNING))
    assert (said.fingerprint, said.quote) == ("", "odd")
    assert "no fingerprint fits" in said.cause


def test_output_of_codex_counts_if_the_probe_says_nothing() -> None:
    rows = (row(saw="exit code 1", held=False, direction="denied"),)
    seen = observation(stderr="sandbox blocked creation of protected workspace metadata path /w/.git\n")
    assert why(record(direction="denied", evidence=rows), seen).fingerprint == "protected-name-blocked"


def test_bare_errno_words_beside_the_probe_do_not_count() -> None:
    rows = (row(saw="odd", held=False, direction="wrong-claim"),)
    seen = observation(stderr="cat: x: Permission denied\n")
    assert why(record(direction="wrong-claim", evidence=rows), seen).fingerprint == ""


def test_a_leak_under_a_sandbox_says_that_nothing_here_explains_it() -> None:
    rows = (row(saw="worked; changed, seen from outside: @OUTSIDE@/x", held=False, direction="leak"),)
    said = why(record(direction="leak", evidence=rows), observation())
    assert said.fingerprint == "sandbox-let-it-through"
    assert "@OUTSIDE@/x" in said.quote


def test_a_leak_that_is_known_of_the_release_says_so() -> None:
    rows = (row(saw="worked", held=False, direction="leak"),)
    red = record(direction="leak", evidence=rows, promise="protected.existing-in-workspace")
    assert why(red, observation(), codex="0.99.0").fingerprint == "landlock-protects-no-names"
    assert why(red, observation(), codex="0.163.0").fingerprint == "sandbox-let-it-through"
    missing = record(direction="leak", evidence=rows, promise="protected.missing-in-root")
    assert why(missing, observation(), codex="0.121.0").fingerprint == "missing-names-not-protected"


def test_no_sandbox_although_asked_is_a_cause_of_its_own() -> None:
    red = record(promise="start.sandbox-is-on", direction="leak", evidence=(row(held=False, direction="leak"),))
    assert why(red, BARE).fingerprint == "no-sandbox-was-on"
    blocked = record(Verdict.BLOCKED, reason="no sandbox was on: a write went through")
    assert why(blocked, BARE).fingerprint == "no-sandbox-was-on"


def test_a_sandbox_that_is_there_and_keeps_nothing_is_not_called_none() -> None:
    """A bwrap that only starts its command, or mounts everything for writing: the kernel still shows what Codex did."""
    rows = (row(held=False, direction="leak"),)
    red = record(promise="start.sandbox-is-on", direction="leak", evidence=rows)
    filtered = reading(namespaces=OUTSIDE, filters=1)
    for seen in (reading(), filtered):
        assert why(red, observation(readings=(seen,))).fingerprint == "half-a-sandbox-was-on"
    assert why(red, BARE).fingerprint == "no-sandbox-was-on"
    blocked = record(Verdict.BLOCKED, reason="no sandbox was on: a write went through")
    assert why(blocked, observation(readings=(filtered,))).fingerprint == "half-a-sandbox-was-on"


def test_litter_is_explained_by_the_release_that_leaves_it() -> None:
    rows = (row(act="", saw="left behind: @WORKSPACE@/.codex", held=False, direction="litter"),)
    red = record(direction="litter", evidence=rows, promise="filesystem.nothing-left")
    assert why(red, observation(), codex="0.121.0").fingerprint == "workspace-codex-file-left"
    assert why(red, observation(), codex="0.169.0").fingerprint == "mount-points-left"


def test_an_undetermined_result_says_nothing_about_codex() -> None:
    said = why(record(Verdict.BROKEN, reason="the scenario was skipped"))
    assert said.fingerprint == ""
    assert "nothing about Codex" in said.cause


def test_a_failed_control_is_explained_by_the_control() -> None:
    rows = (row(control="open: No space left on device", control_held=False, saw="EROFS at open", reason="EROFS"),)
    assert why(record(Verdict.BROKEN, evidence=rows), observation()).fingerprint == "no-space"


def test_fingerprints_of_ones_own_are_used() -> None:
    blocked = record(Verdict.BLOCKED, reason="the sandbox does not start")
    said = diagnose(blocked, (died("bwrap: pivot_root: Operation not permitted"),), {}, fingerprints=())
    assert said is not None
    assert said.fingerprint == ""


def test_a_call_that_ran_bare_beside_a_confined_battery_says_that_no_sandbox_was_on() -> None:
    red = record(direction="leak", evidence=(row(),), reason="no sandbox was on in this call, although it was")
    assert why(red, BARE).fingerprint == "no-sandbox-was-on"


def test_a_call_that_took_too_long_says_how_to_tell_a_slow_machine_from_a_codex_that_hangs() -> None:
    rows = (row(saw="the probe did not get to it: timeout", reason="", held=False, direction="denied"),)
    red = record(direction="denied", evidence=rows)
    said = why(red, observation(ended="timeout", ready=False))
    assert "--codex-timeout-scale" in said.remedy
    assert why(red, observation(id="another", ended="timeout")).remedy != said.remedy


def test_a_codex_that_was_killed_before_its_command_spoke_is_not_called_unknown() -> None:
    rows = (row(saw="signal 137, before the command said a word", reason="", held=False, direction="wrong-claim"),)
    red = record(direction="wrong-claim", evidence=rows)
    probe = ("codex", "sandbox", "--", "probe.py", "n0")
    assert "SIGKILL" in why(red, observation(ended="signal", code=137, ready=False, argv=probe)).cause
    assert "SIGKILL" not in why(red, observation(ended="signal", code=137, ready=False)).cause
    assert "SIGKILL" not in why(red, observation(ended="signal", code=137, argv=probe)).cause


def test_a_leak_on_a_machine_with_a_configuration_of_its_own_is_not_called_a_hole() -> None:
    red = record(direction="leak", evidence=(row(held=False, direction="leak", saw="worked"),))
    assert why(red, observation(), etc_codex={}).fingerprint == "sandbox-let-it-through"
    said = why(red, observation(), etc_codex={"/etc/codex/config.toml": "67e1"})
    assert "/etc/codex" in said.cause
    assert "/etc/codex/config.toml" in said.remedy
    assert "hole" not in said.remedy
