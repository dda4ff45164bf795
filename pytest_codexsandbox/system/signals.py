"""Signals: SIGTERM ends a run as Ctrl-C does. Environments are closed, and the journal gets its last lines."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


def sigterm_as_interrupt() -> None:
    """Makes SIGTERM raise KeyboardInterrupt: only in the main thread, and only where no other handler is set."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _as_interrupt)


@contextmanager
def ended_politely() -> Iterator[None]:
    """Makes SIGTERM an interrupt during a block, and restores the earlier handler afterwards."""
    before = signal.getsignal(signal.SIGTERM)
    sigterm_as_interrupt()
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is not before:
            signal.signal(signal.SIGTERM, before)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignores Ctrl-C and SIGTERM during a block: the files of a run have to say the same at its end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt(f"signal {number}")
