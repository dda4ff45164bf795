"""Process scope: what the agent does when it may not signal a probe that waits for a signal."""

import errno
import os

import pytest

from pytest_codexsandbox.guest import process_scope
from pytest_codexsandbox.guest.event_loop import Loop
from pytest_codexsandbox.guest.process_scope import Scopes

NOBODY = 2**22 + 1  # above every process number


@pytest.mark.parametrize(("number", "says"), [(errno.EPERM, True), (errno.ESRCH, False)], ids=["refused", "gone"])
def test_a_probe_that_cannot_be_signalled_ends_no_agent(
    monkeypatch: pytest.MonkeyPatch, number: int, *, says: bool
) -> None:
    sent = []

    def kill(pid: int, what: int) -> None:
        sent.append((pid, what))
        raise OSError(number, os.strerror(number))

    scope = Scopes(Loop(), "test").new({}, b"")
    with monkeypatch.context() as patch:
        patch.setattr(os, "kill", kill)
        scope._let_go(NOBODY, by_signal=True)
        scope._let_go(NOBODY, by_signal=False)
        scope._let_go(0, by_signal=True)
    assert sent == [(NOBODY, process_scope._GO)]
    told = f"codexsandbox: no signal to the waiting probe {NOBODY}: {os.strerror(errno.EPERM)}\n"
    assert scope.err.kept.decode() == (told if says else "")
