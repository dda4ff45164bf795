"""Suite protocols: what a suite implements, and what it may use of a plan and of a run."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from pytest_codexsandbox.errors import EnvironmentLost
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.journal_lines import Line
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Evidence, Record
from pytest_codexsandbox.model.sandbox_state import SandboxState
from pytest_codexsandbox.model.suite_traits import SuiteTraits
from pytest_codexsandbox.protocols import Door, Environment, Subject, WriteConfig

Side = tuple[str, str]
"""A door and a policy: a column of a cell."""


class SuiteScope(Protocol):
    """Tells a suite what a plan is made for."""

    @property
    def doors(self) -> Sequence[str]:
        """The doors of the matrix file."""

    @property
    def policies(self) -> Sequence[str]:
        """The policies of the matrix file."""

    @property
    def generators(self) -> Sequence[str]:
        """The generators that are asked for, as typed."""


class SuiteTrial:
    """Collects the evidence of one test, for the judge. Subclass it, with the methods that your scenarios call."""

    def __init__(self, key: Key, promise: Promise) -> None:
        self.key, self.promise = key, promise
        self.policy, self.case = key.policy, key.case
        self.rows: list[Evidence] = []
        self.seen: tuple[Observation, ...] = ()  # calls of Codex that the rows speak of, and
        self.control: tuple[Observation, ...] = ()  # the same without a sandbox
        # A suite that needs a sandbox must say that it was on: otherwise its promises with needs="sandbox" are broken.
        self.started = SandboxState(state="unknown", why="the suite does not say")

    @property
    def asks_for_sandbox(self) -> bool:
        """Checks whether a sandbox is asked for. Where none is and none was on, evidence that holds is `unconfined`."""
        return True

    @property
    def unconfined_words(self) -> str:
        """Returns why `unconfined` is no fault."""
        return "no sandbox, as asked"

    @property
    def shows_home(self) -> bool:
        """Checks whether reports show the user's home where evidence names it."""
        return False

    def unasked(self, outcome: str) -> Record | None:
        """Returns the record of a test that could ask nothing; None: the judge decides."""
        return None


T = TypeVar("T", bound=SuiteTrial)


class SuiteRun(Protocol):
    """Serves a suite in a process that runs its tests. Environments and Codexes are made when first asked for."""

    @property
    def plan(self) -> Plan: ...
    @property
    def folder(self) -> Path:
        """Returns a folder of this worker where suites may write; it need not exist."""

    @property
    def timeout_scale(self) -> float:
        """Returns the factor for every time limit."""

    def cell(self, key: Key) -> Cell: ...
    def promise(self, key: Key) -> Promise: ...
    def environment(self, cell: Cell) -> Environment: ...
    def facts(self, cell: Cell) -> Mapping[str, Any]:
        """Returns the facts of the cell's environment, and starts it if need be."""

    def subject(self, cell: Cell) -> Subject:
        """Returns the cell's Codex, as it is called in the cell's environment."""

    def door(self, name: str) -> Door: ...
    def environment_id(self, cell: Cell) -> str:
        """Returns what a line of the journal calls the cell's environment, and"""

    def subject_id(self, cell: Cell) -> str:
        """its Codex."""

    def call(self, key: Key, command: Command, *, control: bool = False) -> Observation:
        """Runs a command in the environment of the key's cell. Adds its line to the journal, so that evidence can name
        it. `control`: it is no call of Codex, and its time is not counted as Codex's."""

    def emit(self, line: Line) -> None:
        """Adds a line to the journal, such as the `CallLine` of a call that evidence names."""

    def spend(self, seconds: float) -> None:
        """Adds to the time in Codex that the run reports."""

    def mark_lost(self, cell: Cell, why: str) -> EnvironmentLost:
        """Gives the environment up, and returns what to raise: the next test gets a new one."""


class SuiteRunner(Generic[T]):
    """Runs the tests of a suite in one process. Subclass it: `open_trial` must be written."""

    @abstractmethod
    def open_trial(self, key: Key) -> T:
        """Returns what the test of a key gets. NotApplicable: the promise cannot be asked there. LostCapability: a
        build of the user's cannot do what the release before it could. HarnessError: nothing can be told."""

    def prefetch(self, key: Key) -> bool:
        """Begins what the trial of a coming key needs, without waiting for it. Returns whether the key after it may be
        looked at."""
        return True

    def config_writer(self, cell: Cell, policy: str) -> WriteConfig | None:
        """Returns what writes Codex's configuration in a cell; None: the suite brings nothing that does."""
        return None

    def repro(self, trial: T, record: Record) -> str:
        """Returns a shell script that shows a result again; "" where there is none."""
        return ""

    def leave(self, spec: EnvironmentSpec) -> None:
        """Ends what the suite runs in an environment, before that ends."""
        return

    def close(self) -> None:
        """Ends what the suite started."""
        return


class Suite(Generic[T]):
    """Asks promises. Subclass it: `folder`, `sides` and `open` must be written, everything else has a default.

    An entry point of `codexsandbox.suites` names the class. It is made without arguments, once for each process. All
    but `open` is planning: it starts nothing, and every process of a run must get the same answer.
    """

    traits: SuiteTraits
    fixture: str
    """The fixture that its tests ask for; no other suite's is called so."""
    doors: tuple[str, ...] = ()
    """Doors that are no entry points of `codexsandbox.doors`: names of columns."""

    @abstractmethod
    def folder(self) -> Path:
        """Returns the folder of its scenario files. Of several suites in one folder each has the promises that name
        it."""

    @abstractmethod
    def sides(self, scope: SuiteScope, cell: Cell) -> Sequence[Side]:
        """Returns the doors and policies that its promises are asked for in a cell; () for none."""

    @abstractmethod
    def open(self, run: SuiteRun) -> SuiteRunner[T]:
        """Returns what runs its tests. It starts nothing before the first trial is opened."""

    def is_asked(self, scope: SuiteScope) -> bool:
        """Checks whether the suite has a part in this plan."""
        return True

    def cases(self, scope: SuiteScope, promise: Promise, cell: Cell) -> Sequence[str]:
        """Returns the cases of a promise in a cell; a promise without cases has the case ""."""
        return promise.cases

    def why_not(self, scope: SuiteScope, promise: Promise, cell: Cell, door: str) -> str:
        """Returns why a promise is not planned at a door; "" if it is."""
        return ""

    def ruled_out(self, scope: SuiteScope, key: Key, promise: Promise, cell: Cell) -> str:
        """Returns why a planned key is n/a, known from data alone; "" if it can be asked."""
        return ""

    def complete(self, scope: SuiteScope, plan: Plan, promises: Sequence[Promise]) -> Plan:
        """Adds what a reader of the journal must know. `promises`: all that the suite has."""
        return plan
