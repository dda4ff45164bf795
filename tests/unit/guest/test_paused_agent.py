"""An agent that is frozen with all that it has started (a paused container) takes no time limit for used up."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from pytest_codexsandbox.guest import event_loop
from pytest_codexsandbox.guest.event_loop import PULSE, Loop
from pytest_codexsandbox.guest.process_scope import ProcessScope, Scopes

LIMIT = 20.0
NOBODY = 2**22 + 1  # above every process number


class Clock:
    """Time passes only in a wait: as long as that may last, and `frozen` seconds more the next time."""

    def __init__(self) -> None:
        self.passed, self.frozen = 1000.0, 0.0

    def monotonic(self) -> float:
        return self.passed

    def select(self, longest: float) -> list[Any]:
        self.passed += longest + self.frozen
        self.frozen = 0.0
        return []


class Started(ProcessScope):
    """Of a process that never ends by itself."""

    def _popen(self, stdin: int, stdout: int, stderr: int, setup: Callable[[], None] | None) -> None:
        self.pid = NOBODY


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(event_loop, "time", made)
    return made


@pytest.fixture
def loop(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Loop:
    made = Loop()
    monkeypatch.setattr(made._selector, "select", clock.select)
    return made


def begun(loop: Loop) -> ProcessScope:
    command = {
        "argv": ["sleeper"],
        "cwd": "/",
        "env": {},
        "timeout": LIMIT,
        "output_limit": 1,
        "probe_nonce": "",
        "interrupt_after": 0.0,
        "why": "",
    }
    scope = Scopes(loop, "test").new(command, b"", Started)
    assert scope.start() == ""
    return scope


def run(loop: Loop, clock: Clock, seconds: float) -> None:
    until = clock.passed + seconds
    while clock.passed < until:
        loop.turn(3600.0)


def ended(scope: ProcessScope) -> bool:
    return scope._timed_out


def test_a_limit_that_has_passed_is_one(loop: Loop, clock: Clock) -> None:
    scope = begun(loop)
    run(loop, clock, LIMIT - 2)
    assert not ended(scope)
    run(loop, clock, 3)
    assert ended(scope)


def test_a_limit_that_passed_while_everything_stood_still_has_not_begun_to_pass(loop: Loop, clock: Clock) -> None:
    scope = begun(loop)
    run(loop, clock, 5)
    clock.frozen = 10 * LIMIT
    run(loop, clock, 10 * LIMIT)
    assert not ended(scope)
    run(loop, clock, LIMIT - 5 - 2 * PULSE)
    assert not ended(scope)
    run(loop, clock, 3 * PULSE)
    assert ended(scope)


def test_a_small_delay_is_slow_and_not_frozen(loop: Loop, clock: Clock) -> None:
    """Else a busy machine would give a Codex that hangs as long as it is busy."""
    scope = begun(loop)
    for _ in range(int(LIMIT)):
        clock.frozen = 0.2
        loop.turn(3600.0)
    assert ended(scope)


def test_without_a_running_act_no_process_is_woken(loop: Loop, clock: Clock) -> None:
    began = clock.passed
    loop.turn(3600.0)
    assert clock.passed - began == 3600.0
    scope = begun(loop)
    began = clock.passed
    loop.turn(3600.0)
    assert clock.passed - began == PULSE
    scope._scopes.over(scope)
    scope._timers[0].cancel()
    run(loop, clock, LIMIT)
    began = clock.passed
    loop.turn(3600.0)
    assert clock.passed - began == 3600.0


def test_the_real_clock_is_that_of_the_kernel() -> None:
    assert abs(Loop().now() - time.monotonic()) < 60
