"""What an environment answered itself: it is said with the cause, and it decides between causes with the same words."""

import pytest

from pytest_codexsandbox.diagnosis.explain import diagnose
from pytest_codexsandbox.diagnosis.match import match
from pytest_codexsandbox.diagnosis.sandbox_state import assess
from pytest_codexsandbox.diagnosis.syscall_causes import KERNEL_SAYS, STEPS, refused, told_of, with_measured
from pytest_codexsandbox.model.record import Diagnosis
from tests.unit.diagnosis.builders import control, died, record

USUAL = dict(KERNEL_SAYS.values()) | {name: "ok" for name in STEPS if name not in ("seccomp", "mount-setattr")}
NOTHING = "Checked directly, this environment refuses nothing that a sandbox needs."
MAP_DENIED = "bwrap: setting up uid map: Permission denied"
MAP_REFUSED = "bwrap: setting up uid map: Operation not permitted"
NEWADDR = "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted"
NO_NAMESPACE = "bwrap: No permissions to create new namespace, likely because the kernel does not allow it"
NESTING = "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)"
NO_PROC = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted"
SLAVE_DENIED = "bwrap: Failed to make / slave: Permission denied"


def answered(**changes: str) -> dict[str, str]:
    answers = USUAL | {name.replace("_", "-"): answer for name, answer in changes.items()}
    return {f"answers.{name}": answer for name, answer in answers.items()}


def test_a_cause_and_what_was_measured_are_two_sentences() -> None:
    told = {
        with_measured(Diagnosis(fingerprint="x", cause=cause), answered()).cause for cause in ("A cause", "A cause.")
    }
    assert told == {f"A cause. {NOTHING}"}


def test_a_missing_answer_gives_no_cause() -> None:
    diagnosis = Diagnosis(fingerprint="x", cause="A cause.")
    assert with_measured(diagnosis, {}) == diagnosis
    assert told_of({"seccomp": "2"}) == ""


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, NOTHING),
        (
            {"clone_userns": "EPERM", "userns": "EPERM", "uid_map": "EPERM", "mntns": "EPERM", "mount_slave": "EPERM"},
            "Checked directly, this environment refuses a user namespace (EPERM, by a filter of system calls).",
        ),
        (
            {"landlock": "ENOSYS"},
            "Checked directly, this environment refuses Landlock, by which Codex before 0.115 confines (ENOSYS).",
        ),
        (
            {"unshare": "EPERM", "userns": "EPERM"},
            "Checked directly, this environment refuses a user namespace by unshare(2), though not by clone(2) "
            "(EPERM, by a filter of system calls).",
        ),
        ({"userns": "ENOSPC"}, "Checked directly, this environment refuses a user namespace (ENOSPC)."),
        ({"uid_map": "EPERM"}, "Checked directly, this environment refuses its uid_map (EPERM)."),
        (
            {"seccomp": "EPERM", "proc": "EPERM"},
            "Checked directly, this environment refuses a fresh /proc (EPERM), "
            "a filter of system calls (EPERM, by a filter of system calls).",
        ),
    ],
)
def test_the_first_refusal_of_a_chain_is_the_cause_with_its_origin(changes: dict[str, str], told: str) -> None:
    assert told_of(answered(**changes)) == told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("ok", "and the bwrap on PATH starts there by itself."),
        (MAP_DENIED, f"the bwrap on PATH says by itself: {MAP_DENIED}."),
    ],
)
def test_without_a_refusal_bubblewrap_alone_decides_the_layer(said: str, told: str) -> None:
    assert told_of(answered() | {"bare.bwrap-net": said}).endswith(told)
    refusing = answered(userns="EPERM") | {"bare.bwrap-net": said}
    assert "by itself" not in told_of(refusing)


def test_a_refusal_that_only_follows_from_another_is_no_cause() -> None:
    found = answered(userns="EPERM", mntns="EPERM", mount_slave="EPERM", netns="EPERM", loopback="EPERM", proc="EPERM")
    assert list(refused(found)) == [("userns", "EPERM")]


@pytest.mark.parametrize(
    ("text", "facts", "fingerprint"),
    [
        (MAP_REFUSED, {"caps": "KILL", "uid": "0"} | answered(uid_map="EPERM"), "uid-map-needs-setfcap"),
        (MAP_REFUSED, {"caps": "KILL SETFCAP", "uid": "0"} | answered(uid_map="EPERM"), "uid-map-failed"),
        (MAP_REFUSED, {"caps": "KILL", "uid": "1000"} | answered(uid_map="EPERM"), "uid-map-failed"),
        (MAP_REFUSED, {"uid": "0"} | answered(uid_map="EPERM", open_beside="EPERM"), "uid-map-refused-by-filter"),
        (MAP_DENIED, answered(uid_map="EACCES", open_beside="EACCES"), "uid-map-refused-by-filter"),
        (MAP_DENIED, answered(uid_map="EACCES"), "uid-map-refused"),
        (MAP_DENIED, {"bwrap.mode": "711", "uid": "1000"} | answered(), "uid-map-bwrap-unreadable"),
        (MAP_DENIED, {"bwrap.mode": "711", "uid": "0"} | answered(), "uid-map-refused"),
        (MAP_DENIED, {"bwrap.mode": "755", "uid": "1000"} | answered(), "uid-map-refused"),
        (NEWADDR, answered(loopback="EPERM", netlink_send="EPERM"), "loopback-newaddr-refused-by-filter"),
        (NEWADDR, answered(loopback="EPERM"), "loopback-newaddr-refused"),
        (NO_NAMESPACE, {"seccomp": "2"} | answered(clone_userns="EPERM"), "userns-refused-by-outer-filter"),
        (NO_NAMESPACE, {"seccomp": "2"} | answered(userns="EPERM"), "userns-not-permitted"),  # the filter let it pass
        (NO_NAMESPACE, {"kernel.unprivileged_userns_clone": "0"} | answered(userns="EPERM"), "userns-sysctl-off"),
        (NO_NAMESPACE, {"kernel.unprivileged_userns_clone": "0"} | answered(), "userns-not-permitted"),
        (NESTING, answered(clone_userns="ENOSPC", userns="ENOSPC"), "userns-limit-by-filter"),
        (NESTING, {"user.max_user_namespaces": "0"} | answered(userns="ENOSPC"), "userns-limit-zero"),
        (NESTING, {"user.max_user_namespaces": "96365"} | answered(userns="ENOSPC"), "userns-limit"),
        (NO_PROC, {"masked": "/proc/acpi"} | answered(proc="EPERM"), "proc-mount-refused"),
        (NO_PROC, {"masked": ""} | answered(proc="EPERM", mount_proc="EPERM"), "proc-mount-refused-by-filter"),
        (SLAVE_DENIED, {"apparmor_profile": "docker-default (enforce)"}, "mount-refused-by-apparmor"),
        (SLAVE_DENIED, {"apparmor_profile": ""}, "mount-failed"),  # nobody enforces AppArmor there
    ],
)
def test_the_same_words_have_the_cause_that_the_answers_allow(
    text: str, facts: dict[str, str], fingerprint: str
) -> None:
    found = match(text, facts=facts)
    assert (found.fingerprint if found else "") == fingerprint


def test_a_start_that_failed_says_what_was_measured_where_it_failed() -> None:
    facts = answered(loopback="EPERM", netlink_send="EPERM")
    told = "refuses an address for its loopback, by netlink (EPERM, by a filter of system calls)."
    found = assess(died(NEWADDR), control(), sandboxed=True, facts=facts).diagnosis
    assert found is not None and found.cause.endswith(told)
    explained = diagnose(
        record(promise="start.sandbox-is-on", direction="denied", reason=NEWADDR), [died(NEWADDR)], {"answers": USUAL}
    )
    assert explained is not None and explained.cause.endswith(NOTHING)


def test_answers_that_do_not_concern_the_start_give_no_cause() -> None:
    seen = record(promise="filesystem.outside-refused", direction="denied", reason="x")
    found = diagnose(seen, [died(NEWADDR)], {"answers": USUAL})
    assert found is not None and "Checked directly" not in found.cause


def test_mount_setattr_is_a_cause_only_if_refused_and_needed() -> None:
    """bubblewrap 0.13 calls it. Where the kernel has none (ENOSYS) bubblewrap goes another way."""
    assert "mount_setattr(2)" in told_of(answered(mount_setattr="EPERM"))
    assert "(EPERM, by a filter" in told_of(answered(mount_setattr="EPERM"))
    assert "mount_setattr" not in told_of(answered(mount_setattr="ENOSYS"))
    assert "mount_setattr" not in told_of(answered(mount_setattr="EPERM", userns="EPERM"))
