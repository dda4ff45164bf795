"""Background call: runs the next call of Codex while pytest runs the tests of the call before it."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class BackgroundCall(Generic[T]):
    """Runs a call in its own thread, starting at once. `fetch` raises the error of the call.

    `spec_id`: the environment in which the call runs.
    """

    def __init__(self, spec_id: str, key: object, work: Callable[[], T]) -> None:
        self.spec_id, self.key, self._work = spec_id, key, work
        self._result: T | None = None
        self._fault: BaseException | None = None
        # A daemon: a run that cannot wait for it (a second Ctrl-C) ends nevertheless, and the agent with it.
        self._thread = threading.Thread(target=self._perform, name=f"call in {spec_id}", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        self._thread.join()

    def fetch(self) -> T:
        self.wait()
        if self._fault is not None:
            raise self._fault
        return self._result  # type: ignore[return-value]

    def _perform(self) -> None:
        try:
            self._result = self._work()
        except BaseException as fault:  # noqa: BLE001  (raised in the thread that fetches the result)
            self._fault = fault
