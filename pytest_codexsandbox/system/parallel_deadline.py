"""Parallel deadline: runs several queries at once and stops waiting for all of them at one time limit."""

import queue
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


def ask_all(questions: Mapping[K, Callable[[], T]], seconds: float) -> dict[K, T | Exception]:
    """Returns each query's result or exception. A missing key had no result in time; its daemon thread goes on, and the
    process does not wait for that thread when it ends."""
    answers: queue.SimpleQueue[tuple[K, T | Exception]] = queue.SimpleQueue()
    for key, ask in questions.items():
        threading.Thread(target=_ask, args=(key, ask, answers), daemon=True).start()
    limit = time.monotonic() + seconds
    found: dict[K, T | Exception] = {}
    while len(found) < len(questions):
        try:
            key, answer = answers.get(timeout=max(0.0, limit - time.monotonic()))
        except queue.Empty:
            break
        found[key] = answer
    return found


def _ask(key: K, ask: Callable[[], T], answers: "queue.SimpleQueue[tuple[K, T | Exception]]") -> None:
    try:
        answers.put((key, ask()))
    except Exception as problem:  # noqa: BLE001  (returned to the caller)
        answers.put((key, problem))
