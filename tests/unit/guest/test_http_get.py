"""The request of a boot check: each failure is named by the step and the error that caused it."""

import errno
import socket
import ssl

import pytest

from pytest_codexsandbox.guest.http_get import failure


def test_a_certificate_that_is_refused_is_no_eperm() -> None:
    problem = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")
    assert problem.errno == errno.EPERM
    assert failure(problem)["error"] == "TLS"


@pytest.mark.parametrize(
    ("problem", "stage", "error"),
    [
        (PermissionError(errno.EPERM, "Operation not permitted"), "connect", "EPERM"),
        (socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"), "resolve", "EAI_AGAIN"),
        (TimeoutError("timed out"), "connect", "ETIMEDOUT"),
    ],
)
def test_a_failure_is_named_by_its_step_and_its_error(problem: OSError, stage: str, error: str) -> None:
    found = failure(problem)
    assert (found["stage"], found["error"]) == (stage, error)
