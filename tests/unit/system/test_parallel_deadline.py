"""Several questions within one limit, of which some are never answered."""

import os
import signal
import threading
import time

import pytest

from pytest_codexsandbox.system.parallel_deadline import ask_all

LONG = 60.0


def test_a_refusal_is_an_answer() -> None:
    def refuses() -> str:
        raise ValueError("no")

    found = ask_all({"a": lambda: "yes", "b": refuses}, LONG)
    assert found["a"] == "yes"
    assert isinstance(found["b"], ValueError)


def test_a_server_without_an_answer_is_missing() -> None:
    never = threading.Event()
    begun = time.monotonic()
    assert ask_all({"a": never.wait}, 0.2) == {}
    assert time.monotonic() - begun < LONG
    never.set()


def test_all_are_asked_at_once_and_none_waits_for_the_limit() -> None:
    together = threading.Barrier(8)
    assert len(ask_all({number: lambda: together.wait(LONG) for number in range(8)}, LONG)) == 8
    assert ask_all({}, LONG) == {}


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals reach the first thread")
def test_a_person_who_interrupts_is_heard_at_once() -> None:
    never = threading.Event()
    # A shell that starts pytest in the background has it ignore SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupts() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        never.wait()

    begun = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            ask_all({"a": interrupts}, 10 * LONG)
    finally:
        signal.signal(signal.SIGINT, before)
        never.set()
    assert time.monotonic() - begun < LONG
