"""The environments of one worker: each started when it is first needed, or one ahead of that; ended when it is done.

What does not start is not tried again for every promise. When several in a row do not start, the cause is not theirs:
the rest is not tried at all, and each of their cells says so with the words of the last one.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from pytest_codexsandbox.errors import CodexSandboxError, ConfigMismatch, EnvironmentLost, HarnessError, Unavailable
from pytest_codexsandbox.harness.backends import BackendFault, told_as_theirs
from pytest_codexsandbox.harness.background_call import BackgroundCall
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.protocols import Backend, Environment, Notify, Subject, silent
from pytest_codexsandbox.registry import load_plugin

IN_A_ROW: Final = 3  # environments that do not start, after which no other is tried
AGAIN: Final = 2  # how often one that was lost in the middle is started anew
Programs = Callable[[EnvironmentSpec], Sequence[Subject]]


class EnvironmentPool:
    """`opened` is told of each environment when it stands. Not for threads, but for those that it starts itself."""

    def __init__(
        self,
        folder: Path,
        cache: Path,
        *,
        programs: Programs,
        opened: Callable[[EnvironmentSpec, Environment], None],
        say: Notify = silent,
    ) -> None:
        self._folder, self._cache, self._say = folder, cache, say
        self._programs, self._opened = programs, opened
        self._backends: dict[str, Backend] = {}
        self._open: dict[str, _Opening] = {}
        self._faults: dict[str, CodexSandboxError] = {}
        self._lost: dict[str, int] = {}
        self._ends: dict[str, int] = {}
        self.errand: PooledCall | None = None  # at most one, whichever environment it is in
        self._in_a_row: list[CodexSandboxError] = []

    def get(self, spec: EnvironmentSpec) -> Environment:
        """To look at its words. Who wants to run something in it asks for it `free`."""
        fault = self._faults.get(spec.id)
        if fault is not None:
            raise fault.with_traceback(None)  # else it would grow by every frame that it passes, each time
        opening = self._open.get(spec.id) or self._begin(spec, ahead=False)
        return opening.environment or self._await(spec, opening)

    def acquire(self, spec: EnvironmentSpec) -> Environment:
        """The same, when nothing is on an errand there: two calls at once would disturb each other."""
        if self.errand is not None:
            self.errand.wait()
        return self.get(spec)

    def is_open(self, spec: EnvironmentSpec) -> bool:
        opening = self._open.get(spec.id)
        return opening is not None and opening.environment is not None

    def generation(self, spec: EnvironmentSpec) -> int:
        """How many of it have ended: by this number two of them are told apart."""
        return self._ends.get(spec.id, 0)

    def ahead(self, spec: EnvironmentSpec) -> None:
        """It will be needed next: begin now, beside what runs."""
        if spec.id not in self._open and spec.id not in self._faults and len(self._in_a_row) < IN_A_ROW:
            self._begin(spec, ahead=True)

    def done(self, spec_id: str) -> None:
        """Nobody will ask for it again; if somebody does, it is started anew. What is on an errand there is broken off:
        the environment's end ends it. One that cannot be ended (its engine is gone) does not end the run: what it
        leaves is found by the audit."""
        opening = self._open.pop(spec_id, None)
        if opening is not None:
            self._ends[spec_id] = self._ends.get(spec_id, 0) + 1
            self._end(spec_id, opening)
        if self.errand is not None and self.errand.spec_id == spec_id:
            self.errand.wait()
            self.errand = None

    def lose(self, spec: EnvironmentSpec, why: str) -> None:
        """It died in the middle of a call. Others that need it get a new one, but not for ever."""
        self.done(spec.id)
        self._lost[spec.id] = self._lost.get(spec.id, 0) + 1
        if self._lost[spec.id] > AGAIN:
            self._faults[spec.id] = HarnessError(
                f"this environment was lost {self._lost[spec.id]} times: it is not started again",
                where=spec.id,
                why=why,
            )

    def close(self) -> None:
        """All ends are tried."""
        with ExitStack() as stack:
            for spec_id in list(self._open):
                stack.callback(self.done, spec_id)

    def leaks(self) -> tuple[str, ...]:
        """What the environments of this worker have left, asked after they have ended."""
        return tuple(leak for name, backend in self._backends.items() for leak in _audited(name, backend))

    # ---- inside
    def _end(self, spec_id: str, opening: "_Opening") -> None:
        """An end that fails is no fault of the environments that are still to come. Whether it left anything (an engine
        that was restarted ends its containers itself) the audit knows."""
        try:
            opening.end()
        except CodexSandboxError as fault:
            self._say(f"{spec_id} was not ended as it should be: {fault.what}: {fault.why or fault.where}")

    def _begin(self, spec: EnvironmentSpec, *, ahead: bool) -> "_Opening":
        if len(self._in_a_row) >= IN_A_ROW:
            last = self._in_a_row[-1]
            raise self._keep(
                spec,
                HarnessError(
                    f"not tried: {IN_A_ROW} environments in a row did not start",
                    why=str(last),
                    next_step="see what the engine says above; codexsandbox doctor",
                ),
            )
        backend = self._backends.get(spec.backend)
        if backend is None:
            backend = self._backends[spec.backend] = load_plugin("backends", spec.backend)()
        opening = self._open[spec.id] = _Opening(
            backend, spec, self._folder / _folder_name(spec), self._cache, self._say
        )
        programs = tuple(self._programs(spec))
        if ahead:
            opening.begin(programs)
        else:
            opening.open(programs)
        return opening

    def _await(self, spec: EnvironmentSpec, opening: "_Opening") -> Environment:
        try:
            environment = opening.result()
        except CodexSandboxError as fault:
            self._open.pop(spec.id).end()
            if isinstance(fault, ConfigMismatch):  # it stood: the engine is not at fault
                self._in_a_row.clear()
            elif not isinstance(
                fault, Unavailable
            ):  # a thing that cannot be had says nothing about the next environment
                self._in_a_row.append(fault)
            raise self._keep(spec, fault) from None
        self._in_a_row.clear()
        if why := opening.ended_meanwhile():
            self._say(f"{spec.id} ended before anything ran in it ({why}): another one is started")
            self.lose(spec, why)
            return self.get(spec)
        self._opened(spec, environment)
        return environment

    def _keep(self, spec: EnvironmentSpec, fault: CodexSandboxError) -> CodexSandboxError:
        self._faults[spec.id] = fault
        return fault


class PooledCall(BackgroundCall[Any]):
    def __init__(self, spec: EnvironmentSpec, key: object, work: Callable[[], Any]) -> None:
        self.spec_id = spec.id
        super().__init__(key, work, name=f"errand in {spec.id}")


class _Opening:
    """One environment, from the wish for it to its end."""

    def __init__(self, backend: Backend, spec: EnvironmentSpec, folder: Path, cache: Path, say: Notify) -> None:
        self._backend, self._spec, self._folder, self._cache, self._say = backend, spec, folder, cache, say
        self._stack = ExitStack()
        self._thread: threading.Thread | None = None
        self._made: Environment | None = None
        self._fault: BaseException | None = None
        self.environment: Environment | None = None  # once it was asked for

    def begin(self, programs: tuple[Subject, ...]) -> None:
        self._thread = threading.Thread(target=self.open, args=(programs,), name=f"opening {self._spec.id}")
        self._thread.start()

    def open(self, programs: tuple[Subject, ...]) -> None:
        opening = self._backend.open(self._spec, self._folder, cache=self._cache, brought=programs, say=self._say)
        try:
            self._made = self._stack.enter_context(opening)
        except BaseException as fault:  # noqa: BLE001  (told to who asks for it, in his own thread)
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


def _folder_name(spec: EnvironmentSpec) -> str:
    return "e-" + spec.id.replace("~", "-")[:80]


def _audited(name: str, backend: Backend) -> tuple[str, ...]:
    """Returns what a backend has left; that it cannot tell is a leak as well."""
    try:
        with told_as_theirs(name):
            return tuple(backend.audit())
    except BackendFault as fault:
        return (f"{fault.what} when it was asked what is left ({fault.where}): {fault.why}",)
