"""Suite protocols: the interface that a suite implements, and what it may use of a plan and of a run."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar

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

_NOT_SAID: Final = SandboxState(state="unknown", why="the suite gives no reason")
Side = tuple[str, str]
"""A door and a policy: a column of a cell."""


class SuiteScope(Protocol):
    """Describes to a suite the request that a plan is made for."""

    @property
    def doors(self) -> Sequence[str]:
        """Returns the doors of the matrix file."""

    @property
    def policies(self) -> Sequence[str]:
        """Returns the policies of the matrix file."""

    @property
    def generators(self) -> Sequence[str]:
        """Returns the requested generators, as typed."""


@dataclass(eq=False, repr=False)
class SuiteTrial:
    """Collects the evidence of one test, for the judge. Subclass it, with the methods that your scenarios call."""

    key: Key
    promise: Promise
    _: KW_ONLY
    rows: list[Evidence] = field(default_factory=list)
    seen: tuple[Observation, ...] = ()
    """Calls of Codex that the rows refer to."""
    control: tuple[Observation, ...] = ()
    """The same calls without a sandbox."""
    started: SandboxState = _NOT_SAID
    """A suite that needs a sandbox must say that it was on: otherwise its promises with needs="sandbox" are broken."""
    asks_for_sandbox: bool = True
    """False: the key asks for no sandbox. If none was on, evidence that holds is `unconfined`."""
    unconfined_words: str = "no sandbox, as asked"
    """The reason that makes `unconfined` no error."""
    shows_home: bool = False
    """True: reports show the user's home where evidence names it."""
    skipped: list[str] = field(default_factory=list)
    """Reasons that the test measured nothing. Without a row, the result is n/a with the first of them."""
    left_out: list[str] = field(default_factory=list)
    """Acts that added no row, and the reasons. Without any row, the reason of the result names them."""
    blocked_by: str = ""
    """The promise that must hold before this one can be measured. Without a row, the result is blocked."""
    is_judged: bool = False
    """The harness sets it: the result is made, and what is added later counts for nothing."""

    @property
    def policy(self) -> str:
        return self.key.policy

    @property
    def case(self) -> str:
        return self.key.case


T = TypeVar("T", bound=SuiteTrial)


class SuiteRun(Protocol):
    """Serves a suite in a process that runs its tests. Environments and Codex binaries are opened when first
    requested."""

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
        """Returns the facts of the cell's environment. Starts the environment if it is not open."""

    def subject(self, cell: Cell) -> Subject:
        """Returns the cell's Codex with its path inside the cell's environment."""

    def door(self, name: str) -> Door: ...
    def environment_id(self, cell: Cell) -> str:
        """Returns the id of the cell's environment in the journal."""

    def subject_id(self, cell: Cell) -> str:
        """Returns the id of the cell's Codex in the journal."""

    def call(self, key: Key, command: Command, *, control: bool = False) -> Observation:
        """Runs a command in the environment of the key's cell. Adds its line to the journal, so that evidence can name
        it. HOME, CODEX_HOME and TMPDIR are fresh folders of the run, unless `command.env` sets them. `control`: the
        call is not a call of Codex, and its time does not count as Codex's."""

    def emit(self, line: Line) -> None:
        """Adds a line to the journal, such as the `CallLine` of a call that evidence names."""

    def spend(self, seconds: float) -> None:
        """Adds to the time in Codex that the run reports."""

    def mark_lost(self, cell: Cell, why: str) -> EnvironmentLost:
        """Gives up the environment and returns the error to raise. The next test gets a new environment."""


class SuiteRunner(Generic[T]):
    """Runs the tests of a suite in one process. Subclass it: `open_trial` must be written."""

    @abstractmethod
    def open_trial(self, key: Key) -> T:
        """Returns the trial that the test of a key gets. NotApplicable: the promise cannot be measured there.
        LostCapability: the user's own build lacks what the release before it could do. HarnessError: no result is
        possible."""

    def prefetch(self, key: Key) -> bool:
        """Begins what the trial of a coming key needs, without waiting for it. Returns whether the caller may go on to
        the next key."""
        return True

    def config_writer(self, cell: Cell, policy: str) -> WriteConfig | None:
        """Returns the function that writes Codex's configuration in a cell; None: this suite brings none."""
        return None

    def repro(self, trial: T, record: Record) -> str:
        """Returns a shell script that reproduces a result; "" where there is none."""
        return ""

    def leave(self, spec: EnvironmentSpec) -> None:
        """Ends what the suite runs in an environment, before the environment ends."""
        return

    def close(self) -> None:
        """Ends everything that the suite started."""
        return


class Suite(Generic[T]):
    """Suite of promises. Subclass it: `folder`, `sides` and `open` must be written, all other members have a default.

    An entry point of `codexsandbox.suites` names the class. The harness creates it without arguments, once for each
    process. All methods but `open` are planning: they start nothing, and every process of a run must get the same
    answer.
    """

    traits: SuiteTraits
    fixture: str
    """Fixture that the suite's tests request; no other suite uses the same name."""
    doors: tuple[str, ...] = ()
    """Names of columns that are no entry points of `codexsandbox.doors`."""

    @abstractmethod
    def folder(self) -> Path:
        """Returns the folder of the suite's scenario files. Where several suites share a folder, each has the promises
        that name it."""

    @abstractmethod
    def sides(self, scope: SuiteScope, cell: Cell) -> Sequence[Side]:
        """Returns the doors and policies under which the suite's promises are measured in a cell; () for none."""

    @abstractmethod
    def open(self, run: SuiteRun) -> SuiteRunner[T]:
        """Returns the runner of the suite's tests. Starts nothing before the first trial is opened."""

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
        """Returns why a planned key is n/a, as known from data alone; "" if it can be measured."""
        return ""

    def complete(self, scope: SuiteScope, plan: Plan, promises: Sequence[Promise]) -> Plan:
        """Returns the plan with what a reader of the journal must know. `promises`: all promises of the suite."""
        return plan
