"""Parallel build: makes several images at once and each base once: one base's variants in turn, different bases
together.
"""

import os
import queue
import threading
from collections.abc import Callable, Iterable
from typing import Final

from pytest_codexsandbox.environments.container.provision import image_request
from pytest_codexsandbox.environments.container.provision.image_request import ImageRequest
from pytest_codexsandbox.errors import CodexSandboxError, HarnessError

MOST: Final = 4
Make = Callable[[ImageRequest], str]


def make_all(
    wants: Iterable[ImageRequest], make: Callable[[], Make], *, jobs: int = 0
) -> dict[ImageRequest, str | CodexSandboxError]:
    """Makes images in parallel. Returns the id of each, or its error. `make` gives each thread its own client of an
    engine.
    """
    rows: dict[str, list[ImageRequest]] = {}
    for want in dict.fromkeys(wants):
        rows.setdefault(image_request.base_digest(want.image), []).append(want)
    waiting: queue.SimpleQueue[list[ImageRequest]] = queue.SimpleQueue()
    for row in rows.values():
        waiting.put(row)
    found: dict[ImageRequest, str | CodexSandboxError] = {}
    count = min(len(rows), jobs or min(MOST, os.cpu_count() or 1))
    # Daemons: an interrupt does not wait for downloads; processes that the threads started end with them.
    threads = [threading.Thread(target=_work, args=(waiting, make, found), daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {want: found[want] for row in rows.values() for want in row}


def _work(
    waiting: "queue.SimpleQueue[list[ImageRequest]]",
    make: Callable[[], Make],
    found: dict[ImageRequest, str | CodexSandboxError],
) -> None:
    while True:
        try:
            row = waiting.get_nowait()
        except queue.Empty:
            return
        for want in row:
            found[want] = _tried(make, want)


def _tried(make: Callable[[], Make], want: ImageRequest) -> str | CodexSandboxError:
    try:
        return make()(want)
    except CodexSandboxError as problem:
        return problem
    except Exception as problem:  # noqa: BLE001  (raised in the caller's own thread)
        return HarnessError(f"the image {want.what} was not built", why=f"{type(problem).__name__}: {problem}")
