"""SIGTERM ends a run as Ctrl-C does: environments are closed, the journal gets its last lines."""

import signal
import threading
from types import FrameType


def end_politely() -> None:
    """Only where nobody else handles it, and only where Python lets us."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _as_interrupt)


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt(f"signal {number}")
