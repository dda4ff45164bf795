"""Judging a boot check: one finding and one exit code for every combination of start and requests."""

import pytest

from pytest_codexsandbox.diagnosis import boot
from pytest_codexsandbox.diagnosis.boot import BootAnswer, judge_boot
from pytest_codexsandbox.model.policy import FULL_ACCESS, NETWORK, READ_ONLY, WORKSPACE_WRITE
from pytest_codexsandbox.model.record import Diagnosis
from pytest_codexsandbox.model.sandbox_state import SandboxState

URL = "http://127.0.0.1:8080/health"
ON, OFF = (
    SandboxState(state="on", why="refused, and the kernel shows it", by="bwrap"),
    SandboxState(state="off", why="no mark"),
)
GOOD = BootAnswer(known=True, status=200)
NOT_PERMITTED = BootAnswer(known=True, stage="connect", error="EPERM", text="Operation not permitted")
NO_NAME = BootAnswer(known=True, stage="resolve", error="EAI_AGAIN", text="Temporary failure in name resolution")
REFUSED = BootAnswer(known=True, stage="connect", error="ECONNREFUSED", text="Connection refused")
NONE = BootAnswer()


@pytest.mark.parametrize(
    ("policy", "inside", "outside", "code"),
    [
        (NETWORK, GOOD, GOOD, boot.OK),
        (NETWORK, GOOD, REFUSED, boot.OK),  # a service that came up between the two calls
        (NETWORK, NOT_PERMITTED, GOOD, boot.REFUSED),
        (NETWORK, BootAnswer(known=True, status=403), GOOD, boot.REFUSED),
        (NETWORK, NO_NAME, GOOD, boot.NOT_RESOLVED),
        (NETWORK, REFUSED, REFUSED, boot.FAILS_OUTSIDE),
        (NETWORK, BootAnswer(known=True, status=500), BootAnswer(known=True, status=500), boot.FAILS_OUTSIDE),
        (NETWORK, NONE, GOOD, boot.UNKNOWN),
        (NETWORK, NOT_PERMITTED, NONE, boot.UNKNOWN),
        (WORKSPACE_WRITE, NOT_PERMITTED, GOOD, boot.REFUSED),
        (WORKSPACE_WRITE, NO_NAME, GOOD, boot.NOT_RESOLVED),
    ],
)
def test_two_requests_have_one_code(policy: str, inside: BootAnswer, outside: BootAnswer, code: int) -> None:
    found = judge_boot(ON, policy=policy, url=URL, inside=inside, outside=outside)
    assert found.code == code
    assert URL in found.what
    assert bool(found.cause and found.fix) == (code != boot.OK)


def test_a_start_without_a_request_is_one_line() -> None:
    assert judge_boot(ON, policy=WORKSPACE_WRITE).code == boot.OK


def test_a_sandbox_that_does_not_start_has_its_own_code_cause_and_fix() -> None:
    known = Diagnosis(fingerprint="uid-map-refused", cause="the kernel refuses", remedy="sysctl -w this=1")
    failed = SandboxState(state="failed", why="bwrap: setting up uid map: Permission denied", diagnosis=known)
    found = judge_boot(failed, policy=NETWORK, url=URL, inside=GOOD, outside=GOOD)
    assert (found.code, found.cause, found.fix) == (boot.NO_START, "the kernel refuses", "sysctl -w this=1")
    assert found.fingerprint == "uid-map-refused"


def test_a_good_answer_without_a_sandbox_is_not_ok() -> None:
    assert judge_boot(OFF, policy=NETWORK, url=URL, inside=GOOD, outside=GOOD).code == boot.NOT_ON


def test_an_unknown_start_is_not_ok_for_any_request() -> None:
    unknown = SandboxState(state="unknown", why="the control failed")
    assert judge_boot(unknown, policy=NETWORK, url=URL, inside=GOOD, outside=GOOD).code == boot.UNKNOWN


def test_full_access_that_was_asked_for_is_ok_and_is_not_called_a_sandbox() -> None:
    found = judge_boot(OFF, policy=FULL_ACCESS, url=URL, inside=GOOD, outside=GOOD)
    assert found.code == boot.OK
    assert "full access" in found.what
    assert judge_boot(ON, policy=FULL_ACCESS).code == boot.NOT_ON


def test_every_code_is_explained() -> None:
    codes = {boot.OK, boot.UNKNOWN, boot.NO_START, boot.NOT_ON, boot.REFUSED, boot.NOT_RESOLVED, boot.FAILS_OUTSIDE}
    assert set(boot.CODES) == codes


@pytest.mark.parametrize("policy", [WORKSPACE_WRITE, NETWORK])
@pytest.mark.parametrize("inside", [NOT_PERMITTED, NO_NAME, BootAnswer(known=True, status=403)])
def test_a_fix_has_no_unfilled_placeholder(policy: str, inside: BootAnswer) -> None:
    found = judge_boot(ON, policy=policy, url=URL, inside=inside, outside=GOOD)
    assert "{" not in found.fix + found.cause


def test_a_policy_without_network_names_the_policy_with_it() -> None:
    found = judge_boot(ON, policy=WORKSPACE_WRITE, url=URL, inside=NOT_PERMITTED, outside=GOOD)
    assert found.fix.endswith(f"--policy {NETWORK}")


def test_a_certificate_that_is_not_trusted_asks_for_its_authority() -> None:
    untrusted = BootAnswer(
        known=True, stage="connect", error="TLS", text="[SSL: CERTIFICATE_VERIFY_FAILED] verify failed"
    )
    found = judge_boot(ON, policy=NETWORK, url=URL, inside=untrusted, outside=untrusted)
    assert "SSL_CERT_FILE" in found.fix


@pytest.mark.parametrize(
    ("policy", "writes", "code"),
    [
        (WORKSPACE_WRITE, True, boot.OK),
        (WORKSPACE_WRITE, False, boot.NOT_ON),
        (WORKSPACE_WRITE, None, boot.OK),
        (READ_ONLY, False, boot.OK),
        (READ_ONLY, True, boot.NOT_ON),
    ],
)
def test_a_sandbox_in_another_mode_is_not_the_policy_that_was_asked_for(
    policy: str, writes: bool | None, code: int
) -> None:
    assert judge_boot(ON, policy=policy, writes=writes).code == code
