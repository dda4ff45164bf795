"""Environment opening: one environment from its start to its end, started in the background if it is needed next."""

import threading
from contextlib import ExitStack
from pathlib import Path

from pytest_codexsandbox.errors import EnvironmentLost, HarnessError
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.protocols import Backend, Environment, Notify, Subject


class EnvironmentOpening:
    """Opens one environment. `say` takes messages about what the backend waits for. `environment` is set by
    `result`."""

    def __init__(self, backend: Backend, spec: EnvironmentSpec, folder: Path, cache: Path, say: Notify) -> None:
        self._backend, self._spec, self._folder, self._cache, self._say = backend, spec, folder, cache, say
        self._stack = ExitStack()
        self._thread: threading.Thread | None = None
        self._made: Environment | None = None
        self._fault: BaseException | None = None
        self.environment: Environment | None = None

    def begin(self, programs: tuple[Subject, ...]) -> None:
        self._thread = threading.Thread(target=self.open, args=(programs,), name=f"opening {self._spec.id}")
        self._thread.start()

    def open(self, programs: tuple[Subject, ...]) -> None:
        opening = self._backend.open(self._spec, self._folder, cache=self._cache, brought=programs, say=self._say)
        try:
            self._made = self._stack.enter_context(opening)
        except BaseException as fault:  # noqa: BLE001  (raised in the thread that asks for it)
            self._fault = fault

    def result(self) -> Environment:
        if self._thread is not None:
            self._thread.join()
        if self._fault is not None:
            raise self._fault
        assert self._made is not None
        self.environment = self._made
        return self._made

    def ended_meanwhile(self) -> str:
        """Returns why an environment that was started ahead has ended before anything ran in it, or ""."""
        if self._thread is None or self._made is None:
            return ""
        try:
            self._made.state()
        except EnvironmentLost as fault:
            return fault.why or fault.what
        except (HarnessError, TimeoutError):  # the first call meets it
            pass
        return ""

    def end(self) -> None:
        if self._thread is not None:
            self._thread.join()
        self._stack.close()
