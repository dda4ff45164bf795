"""A call performed beside the tests of the call before it: pytest works on results while Codex works again."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class BackgroundCall(Generic[T]):
    """Begun at once, in a thread of its own. What it raises is raised where its result is fetched."""

    def __init__(self, key: object, work: Callable[[], T], *, name: str) -> None:
        self.key, self._work = key, work
        self._result: T | None = None
        self._fault: BaseException | None = None
        # A daemon: a run that cannot wait for it (a second Ctrl-C) ends nevertheless, and the agent with it.
        self._thread = threading.Thread(target=self._perform, name=name, daemon=True)
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
        except BaseException as fault:  # noqa: BLE001  (told to who asks for it, in his own thread)
            self._fault = fault
