"""What a scenario file imports: `promise` puts the data of a promise on its test.

@promise("filesystem.outside-refused", kind="boundary", severity="critical", needs="sandbox",
         source="…", policies=SANDBOXED, acts={"write": Act(verb="write", path="@OUTSIDE@/@NAME@")})
def test_codex_refuses_a_write_outside_the_workspace(trial: Trial) -> None:
    \"\"\"Nothing outside the workspace can be written. Control: the same write without a sandbox.\"\"\"
    trial.refused("write")
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeVar

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.model import generator_suite
from pytest_codexsandbox.model.act import Act, ActResult, Call, PathState
from pytest_codexsandbox.model.ids import is_promise
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.promise import Kind, Over, Promise, Severity
from pytest_codexsandbox.model.suite_traits import SANDBOX
from pytest_codexsandbox.model.verdict import Direction

ATTRIBUTE: Final = "__codex_promise__"
WRITE_REFUSALS: Final = ("EROFS", "EACCES")  # bubblewrap's read-only mount, Landlock's denial
F = TypeVar("F", bound=Callable[..., None])


class Trial(Protocol):
    """One promise under one (cell, door, policy): both sides of every act, seen from inside and from outside."""

    policy: str
    case: str

    # ---- evidence: every one of these adds a row; none of them raises when the promise does not hold
    def refused(self, act: str, *, errno: tuple[str, ...] = WRITE_REFUSALS, claim: str = "") -> None:
        """Inside it failed with one of `errno` and nothing changed outside; the control did it, and it showed."""

    def allowed(self, act: str, *, effect: str = "", claim: str = "") -> None:
        """Inside it worked, and outside the change (of `effect`, else of the act's path) or the arrival was seen;
        reading acts: the value is what the control read."""

    def says(
        self,
        act: str,
        *,
        claim: str,
        saw: str,
        held: bool,
        control: str,
        control_held: bool,
        reason: str = "",
        direction: Direction = "wrong-claim",
    ) -> None:
        """The general row, for what the two above cannot say."""

    def clean(self, *, claim: str = "") -> None:
        """The call left no name behind in workspace, roots, outside, home or /tmp that no act explains. Control: the
        search finds what was put into each of these places after the call, in the sandbox's world and in its own."""

    def standing_evidence(self) -> None:
        """For the topics start and trust only: the rows that the harness itself found."""

    # ---- what there is to look at
    def row(self, act: str, copy: int = 0) -> ActResult: ...
    def control_row(self, act: str, copy: int = 0) -> ActResult: ...
    def look(self, path: str, *, act: str = "", before: bool = False, copy: int = 0) -> PathState: ...
    def control_look(self, path: str, *, act: str = "", before: bool = False, copy: int = 0) -> PathState: ...
    def observed(self, copy: int = 0) -> Observation: ...
    def controlled(self, copy: int = 0) -> Observation: ...
    def copies(self) -> int: ...
    def network(self) -> bool:
        """Whether the policy grants network."""


class GeneratorTrial(Protocol):
    """One promise about a generator: what it did to one user's files, three times, and what the real Codex makes of it.

    Every method adds rows of evidence, each with its own control; what cannot be asked of this generator is n/a, and
    says why.
    """

    case: str

    def holds(self) -> None:
        """What the check of this promise finds (generators/checks). Control: it sees a fault put into this file."""

    def loads(self) -> None:
        """The real Codex starts a thread with the file. Control: it refuses the same file with a torn line behind."""

    def claims(self) -> None:
        """The real Codex says that it will enforce what was asked for. Control: with another policy it says another."""

    def enforces(self) -> None:
        """And does, in a process that was started after the file was written. Control: the same acts unconfined."""

    def replaces_at_once(self) -> None:
        """No reader sees half a file. Control: a writer that takes its time is seen."""

    def survives(self) -> None:
        """After another program wrote the same file (the case), the next run is right again."""

    def keeps_theirs(self) -> None:
        """And takes nothing away that the user or the other program wrote."""

    def migrates(self) -> None:
        """A file in an older shape (the case) becomes what an empty one becomes, and the user's words stay."""

    def loses_nothing_together(self) -> None:
        """Two different requests at once: the file is that of one of them or of both, and whole."""

    def survives_being_killed(self) -> None:
        """Killed at each call that changes a file: the old one or the new one is there, and it loads."""

    def standing_evidence(self) -> None:
        """For the topic trust only: the confinement, and the generators whose answer is known."""


def generator_promise(
    id: str, *, severity: Severity, source: str, over: Over, requires: tuple[str, ...] = ()
) -> Callable[[F], F]:
    """Declare what the decorated test promises of whatever writes Codex's configuration. `over`: its cases."""
    return promise(
        id,
        kind="generator",
        severity=severity,
        needs="nothing",
        source=source,
        policies=(generator_suite.AS_ASKED,),
        over=over,
        requires=requires,
        suite=generator_suite.NAME,
    )


def promise(
    id: str,
    *,
    kind: Kind,
    severity: Severity,
    needs: str = "sandbox",
    source: str,
    policies: tuple[str, ...],
    acts: Mapping[str, Act] | None = None,
    call: Call | None = None,
    requires: tuple[str, ...] = (),
    cases: tuple[str, ...] = ("",),
    over: Over = "",
    suite: str = SANDBOX,
) -> Callable[[F], F]:
    """Declare what the decorated test promises. Nothing starts; planning reads it."""
    if not is_promise(id):
        raise InputError(f"{id!r} is not a promise id", why="`topic.what-is-promised`, lower-case")

    def put(function: F) -> F:
        words: Any = {"needs": needs}
        declared = Promise(
            id=id,
            kind=kind,
            severity=severity,
            source=source,
            policies=policies,
            acts=dict(acts or {}),
            call=call,
            requires=requires,
            cases=cases,
            over=over,
            suite=suite,
            title=sentence(function.__name__),
            summary=first_paragraph(function),
            **words,
        )
        setattr(function, ATTRIBUTE, declared)
        return function

    return put


def declared(function: object) -> Promise | None:
    found = getattr(function, ATTRIBUTE, None)
    return found if isinstance(found, Promise) else None


def sentence(name: str) -> str:
    return name.removeprefix("test_").replace("_", " ")


def first_paragraph(function: object) -> str:
    return " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
