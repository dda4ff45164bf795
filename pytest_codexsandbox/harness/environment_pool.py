"""Environment pool: the environments of one worker. Each is started when it is first needed, or one ahead of that.

An environment that does not start is not tried again for every promise. When several in a row do not start, the cause
lies elsewhere: no other environment is tried, and each of their cells reports the last error.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from pytest_codexsandbox.errors import CodexSandboxError, ConfigMismatch, EnvironmentLost, HarnessError, Unavailable
from pytest_codexsandbox.harness.backends import BackendFault, told_as_theirs
from pytest_codexsandbox.harness.background_call import BackgroundCall
from pytest_codexsandbox.harness.codex_programs import CodexPrograms
from pytest_codexsandbox.harness.environment_opening import EnvironmentOpening
from pytest_codexsandbox.harness.event_sink import EventSink
from pytest_codexsandbox.model.bwrap_used import BwrapUsed, used
from pytest_codexsandbox.model.cell import EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.journal_lines import EnvironmentLine
from pytest_codexsandbox.model.machine import CHANGED, differences
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.protocols import Backend, Environment, Subject
from pytest_codexsandbox.registry import load_plugin

IN_A_ROW: Final = 3  # environments that do not start, after which no other is tried
AGAIN: Final = 2  # how often an environment that was lost during a call is started again
_FILES: Final = ("found", "brought", "compiled-in")  # kinds of bubblewrap that identify the program


class MachineGuard:
    """Compares the machine of each environment with its first state. A change ends what can be measured there.

    A bubblewrap that is installed during a run, or a sysctl that is switched, makes another sandbox. Earlier results
    hold for the machine as it was. Later results are broken, with the reason. Safe in the thread that performs a call:
    it only reads, and keeps the first error of each environment.
    """

    def __init__(self) -> None:
        self._first: dict[str, Mapping[str, Any]] = {}
        self._faults: dict[str, HarnessError] = {}
        self._bwraps: dict[tuple[str, str], BwrapUsed] = {}
        self._facts: dict[str, dict[str, Any]] = {}

    def opened(self, environment: Environment) -> None:
        """Compares an environment that was started anew with the one before it."""
        spec, facts = environment.spec.id, environment.facts()
        self._compare(spec, self._first.setdefault(spec, facts), facts)

    def need(self, spec_id: str) -> None:
        """Raises HarnessError where this environment is known to have changed."""
        fault = self._faults.get(spec_id)
        if fault is not None:
            raise fault.with_traceback(None)

    def look(self, environment: Environment) -> None:
        """Raises HarnessError where the environment differs from its state when it was opened."""
        spec = environment.spec.id
        self.need(spec)
        self._compare(spec, self._first.setdefault(spec, environment.facts()), environment.state())
        self.need(spec)

    def set_up(self, spec_id: str, subject: SubjectSpec, door: str, seen: Iterable[Observation]) -> None:
        """Raises HarnessError where a battery's sandbox was set up by another program than the first of this Codex at
        this door. Cells with a generator are exempt: a generator may give Codex an environment with another program."""
        who = f"Codex {subject.label} at the door {door}"
        for one in [used(call.readings) for call in seen] if not subject.generator else ():
            if one is None or one.kind not in _FILES:
                continue
            first = self._bwraps.setdefault((spec_id, who), one)
            if (first.kind, first.path, first.sha256) != (one.kind, one.path, one.sha256):
                self._keep(
                    spec_id,
                    (f"sandboxes of {who} were set up by {first.description}, and now by {one.description}",),
                    {},
                )
        self.need(spec_id)

    def news(self, spec_id: str) -> dict[str, Any]:
        """Returns the facts of an environment that has changed, once, for the journal."""
        return self._facts.pop(spec_id, {})

    def _compare(self, spec: str, first: Mapping[str, Any], now: Mapping[str, Any]) -> None:
        if changes := differences(first, now):
            self._keep(spec, changes, now)

    def _keep(self, spec: str, changes: Sequence[str], now: Mapping[str, Any]) -> None:
        if spec in self._faults:
            return
        self._facts[spec] = {**self._first.get(spec, {}), **now, CHANGED: list(changes)}
        self._faults[spec] = HarnessError(
            "this machine changed during the run",
            where=spec,
            why="; ".join(changes),
            next_step="leave it alone until the run has ended, and run again",
        )


class EnvironmentPool:
    """Opens environments with `programs` brought into each, and reports each to `events`. Not thread-safe, except for
    the threads that the pool starts itself."""

    def __init__(self, folder: Path, cache: Path, *, programs: CodexPrograms, events: EventSink) -> None:
        self._folder, self._cache = folder, cache
        self._programs, self._events = programs, events
        self.background: BackgroundCall[tuple[Observation, ...]] | None = None  # at most one, wherever it runs
        self._backends: dict[str, Backend] = {}
        self._open: dict[str, EnvironmentOpening] = {}
        self._entered: dict[tuple[str, str], tuple[Environment, Subject, Subject]] = {}
        self._facts: dict[str, dict[str, Any]] = {}
        self._machine = MachineGuard()
        self._errors: dict[str, CodexSandboxError] = {}
        self._lost: dict[str, int] = {}
        self._ends: dict[str, int] = {}
        self._in_a_row: list[CodexSandboxError] = []

    # ---- opening
    def get(self, spec: EnvironmentSpec) -> Environment:
        """Returns the environment to read its properties. To run something in it, use `acquire`."""
        error = self._errors.get(spec.id)
        if error is not None:
            raise error.with_traceback(None)  # else its traceback would grow with each raise
        opening = self._open.get(spec.id) or self._begin(spec, ahead=False)
        return opening.environment or self._await(spec, opening)

    def acquire(self, spec: EnvironmentSpec) -> Environment:
        """Waits for the background call, then returns the environment: two calls at once would disturb each other."""
        if self.background is not None:
            self.background.wait()
        return self.get(spec)

    def enter(self, spec: EnvironmentSpec, subject: Subject) -> tuple[Environment, Subject]:
        """Returns the environment, free for a call, and the Codex with its path inside."""
        environment = self.acquire(spec)
        key = (spec.id, subject.spec.label)
        of_environment, of_subject, inside = self._entered.get(key, (None, None, subject))
        if of_environment is not environment or of_subject is not subject:
            inside = subject.inside(environment)
            self._entered[key] = environment, subject, inside
        return environment, inside

    def is_open(self, spec: EnvironmentSpec) -> bool:
        opening = self._open.get(spec.id)
        return opening is not None and opening.environment is not None

    def prefetch(self, spec: EnvironmentSpec) -> None:
        """Starts the environment in the background, because it is needed next."""
        if spec.id not in self._open and spec.id not in self._errors and len(self._in_a_row) < IN_A_ROW:
            self._begin(spec, ahead=True)

    def facts(self, spec: EnvironmentSpec) -> dict[str, Any]:
        """Returns the facts of the environment as first read. After a new start they are the same."""
        if spec.id not in self._facts:
            self._facts[spec.id] = dict(self.get(spec).facts())
        return self._facts[spec.id]

    def generation(self, spec: EnvironmentSpec) -> int:
        """Returns how often the environment has ended. A loss during a call counts too."""
        return self._ends.get(spec.id, 0)

    # ---- the machine, which must stay as it was when the environment was opened
    def check(self, spec: EnvironmentSpec) -> None:
        """Raises HarnessError where the machine has changed."""
        try:
            self._machine.look(self.get(spec))
        finally:
            self.report_change(spec)

    def check_known(self, spec: EnvironmentSpec) -> None:
        """Raises HarnessError where the machine is known to have changed."""
        self._machine.need(spec.id)

    def check_after(self, environment: Environment, seen: Sequence[Observation]) -> None:
        """Raises HarnessError where the machine changed while these calls ran. Safe in any thread: it reports
        nothing."""
        if not any(one.ended == "lost" for one in seen):  # the environment is gone
            self._machine.look(environment)

    def check_battery(
        self, spec: EnvironmentSpec, subject: SubjectSpec, door: str, seen: Sequence[Observation]
    ) -> None:
        """Raises HarnessError where another program set up these sandboxes than the ones before."""
        try:
            self._machine.set_up(spec.id, subject, door, seen)
        finally:
            self.report_change(spec)

    def report_change(self, spec: EnvironmentSpec) -> None:
        """Reports the facts of a changed machine to the journal, once."""
        if facts := self._machine.news(spec.id):
            self._report(spec, facts)

    # ---- the end
    def end(self, spec_id: str) -> None:
        """Ends the environment; it is started again when it is needed. A background call there is broken off.

        An environment that cannot be ended (its engine is gone) does not end the run: the audit finds what it leaves.
        """
        opening = self._open.pop(spec_id, None)
        if opening is not None:
            self._ends[spec_id] = self._ends.get(spec_id, 0) + 1
            self._close(spec_id, opening)
        if self.background is not None and self.background.spec_id == spec_id:
            self.background.wait()
            self.background = None

    def lose(self, spec: EnvironmentSpec, why: str) -> EnvironmentLost:
        """Ends an environment that died during a call, and returns the error of that call. Later calls get a new
        environment, until it was lost too often."""
        self.end(spec.id)
        self._lost[spec.id] = self._lost.get(spec.id, 0) + 1
        if self._lost[spec.id] > AGAIN:
            self._errors[spec.id] = HarnessError(
                f"this environment was lost {self._lost[spec.id]} times: it is not started again",
                where=spec.id,
                why=why,
            )
        return EnvironmentLost("the environment was lost while this ran", where=spec.id, why=why)

    def close(self) -> None:
        """Tries to end every environment."""
        with ExitStack() as stack:
            for spec_id in list(self._open):
                stack.callback(self.end, spec_id)

    def leaks(self) -> tuple[str, ...]:
        """Returns what the environments of this worker left behind. Call it after they have ended."""
        return tuple(leak for name, backend in self._backends.items() for leak in _audited(name, backend))

    # ---- inside
    def _begin(self, spec: EnvironmentSpec, *, ahead: bool) -> EnvironmentOpening:
        if len(self._in_a_row) >= IN_A_ROW:
            raise self._keep(spec, self._not_tried())
        opening = self._open[spec.id] = EnvironmentOpening(
            self._backend(spec.backend), spec, self._folder / _folder_name(spec), self._cache, self._events.say
        )
        programs = self._programs.needed_in(spec)
        if ahead:
            opening.begin(programs)
        else:
            opening.open(programs)
        return opening

    def _backend(self, name: str) -> Backend:
        if name not in self._backends:
            self._backends[name] = load_plugin("backends", name)()
        return self._backends[name]

    def _not_tried(self) -> HarnessError:
        return HarnessError(
            f"not tried: {IN_A_ROW} environments in a row did not start",
            why=str(self._in_a_row[-1]),
            next_step="see what the engine says above; codexsandbox doctor",
        )

    def _await(self, spec: EnvironmentSpec, opening: EnvironmentOpening) -> Environment:
        try:
            environment = opening.result()
        except CodexSandboxError as error:
            self._open.pop(spec.id).end()
            self._count(error)
            raise self._keep(spec, error) from None
        self._in_a_row.clear()
        if why := opening.ended_meanwhile():
            self._events.say(f"{spec.id} ended before anything ran in it ({why}): another one is started")
            self.lose(spec, why)
            return self.get(spec)
        self._report(spec, dict(environment.facts()))
        self._machine.opened(environment)
        return environment

    def _count(self, error: CodexSandboxError) -> None:
        """Counts the error as a sign of a broken engine, unless it says nothing about the next environment."""
        if isinstance(error, ConfigMismatch):  # it was open: the engine is not at fault
            self._in_a_row.clear()
        elif not isinstance(error, Unavailable):
            self._in_a_row.append(error)

    def _keep(self, spec: EnvironmentSpec, error: CodexSandboxError) -> CodexSandboxError:
        self._errors[spec.id] = error
        return error

    def _report(self, spec: EnvironmentSpec, facts: dict[str, Any]) -> None:
        events = self._events
        events.emit(EnvironmentLine(id=events.id_of(spec.id), spec=spec.id, facts=facts, worker=events.worker))

    def _close(self, spec_id: str, opening: EnvironmentOpening) -> None:
        """Closes an environment. A failure is reported and not raised: it is no error of the environments still to
        come. The audit knows whether anything is left: an engine that was restarted ends its containers itself."""
        try:
            opening.end()
        except CodexSandboxError as error:
            self._events.say(f"{spec_id} was not closed cleanly: {error.what}: {error.why or error.where}")


def _folder_name(spec: EnvironmentSpec) -> str:
    return "e-" + spec.id.replace("~", "-")[:80]


def _audited(name: str, backend: Backend) -> tuple[str, ...]:
    """Returns what a backend left behind. A backend that fails to answer counts as a leak."""
    try:
        with told_as_theirs(name):
            return tuple(backend.audit())
    except BackendFault as fault:
        return (f"{fault.what} during the search for leftovers ({fault.where}): {fault.why}",)
