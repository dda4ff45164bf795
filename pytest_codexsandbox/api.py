"""Scenario API: the decorator `promise` attaches the data of a promise to its test.

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
from pytest_codexsandbox.model.promise import REFUSABLE, Kind, Needs, Over, Promise, Severity
from pytest_codexsandbox.model.suite_traits import SANDBOX
from pytest_codexsandbox.model.verdict import Direction

ATTRIBUTE: Final = "__codex_promise__"
WRITE_REFUSALS: Final = ("EROFS", "EACCES")  # bubblewrap's read-only mount, Landlock's denial
F = TypeVar("F", bound=Callable[..., None])


class Trial(Protocol):
    """One promise under one (cell, door, policy): every act inside the sandbox and in the control, each also seen from
    outside."""

    policy: str
    case: str

    # ---- evidence: each method adds a row; none raises when the promise does not hold
    def refused(
        self, act: str, *, errno: tuple[str, ...] = WRITE_REFUSALS, claim: str = "", unless: tuple[str, ...] = ()
    ) -> None:
        """Adds a row that holds if the act failed inside with one of `errno` and nothing changed outside. Control: the
        same act without a sandbox worked, and its effect was seen outside. `unless`: errnos of the control that show
        that the machine does not offer the act; then no row is added, unless the act worked inside. The control of
        another row names each act that was left out, and why."""

    def allowed(self, act: str, *, effect: str = "", claim: str = "") -> None:
        """Adds a row that holds if the act worked inside and its effect was seen outside. The effect is a change of
        `effect`, else of the act's path, or the arrival at a listener. A reading act must return the value that the
        control read."""

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
        copy: int = 0,
    ) -> None:
        """Adds a row with these values, for findings that `refused` and `allowed` cannot express."""

    def confined(self, *, act: str = "", made: str = "") -> None:
        """Adds a row about a call with a command of its own. It holds if the command made nothing outside, and ran: it
        made the path `made` of `act` in the workspace; without `made`, its error output names its file outside.
        Control: the same command without a sandbox made each file."""

    def clean(self, *, claim: str = "") -> None:
        """Adds a row that holds if the call left no name in workspace, roots, outside, home or /tmp that no act
        explains. Control: the search finds a file put into each of these places after the call, in the sandbox's world
        and in the control's."""

    def standing_evidence(self) -> None:
        """Adds the rows that the harness itself found. Only for the topics start and trust."""

    def leave_out(self, why: str) -> None:
        """Adds no row: it names an act that the machine does not offer, and why, in the control of another row. If all
        acts are left out, the result is broken with these reasons."""

    # ---- observations, without a row of evidence
    def row(self, act: str, copy: int = 0) -> ActResult: ...
    def control_row(self, act: str, copy: int = 0) -> ActResult: ...
    def values(self, act: str) -> dict[str, Any]:
        """Returns the JSON object that the act read; {} if it is none: a forger may print anything."""

    def control_values(self, act: str) -> dict[str, Any]: ...
    def look(self, path: str, *, act: str = "", before: bool = False, copy: int = 0) -> PathState: ...
    def control_look(self, path: str, *, act: str = "", before: bool = False, copy: int = 0) -> PathState: ...
    def observed(self, copy: int = 0) -> Observation: ...
    def controlled(self, copy: int = 0) -> Observation: ...
    def copies(self) -> int: ...
    def network(self) -> bool:
        """Checks whether the policy grants network."""


class GeneratorTrial(Protocol):
    """One promise about a generator: three runs on one user's files, and how the real Codex reads the result.

    Each method adds rows of evidence, each with its own control. A check that does not apply to this generator is n/a,
    with the reason.
    """

    case: str

    def holds(self) -> None:
        """Adds the findings of this promise's check (generators/checks). Control: the check sees an error put into this
        file."""

    def loads(self) -> None:
        """Checks whether the real Codex starts a thread with the file. Control: it refuses the same file with a torn
        line appended."""

    def claims(self) -> None:
        """Checks whether the real Codex says that it will enforce the requested policy. Control: for another policy it
        reports another."""

    def enforces(self) -> None:
        """Checks whether Codex enforces the policy in a process that was started after the file was written. Control:
        the same acts unconfined."""

    def replaces_at_once(self) -> None:
        """Checks that no reader sees half a file. Control: a writer that takes its time is seen."""

    def survives(self) -> None:
        """Checks that a run is right again after another program (the case) wrote the same file."""

    def keeps_theirs(self) -> None:
        """Checks that the generator removes nothing that the user or the other program wrote."""

    def migrates(self) -> None:
        """Checks that a file in an older shape (the case) gets the same result as an empty file, and keeps the user's
        words."""

    def loses_nothing_together(self) -> None:
        """Checks two different requests at once: the file is whole, and holds the result of one of them or of both."""

    def survives_being_killed(self) -> None:
        """Kills the generator at each call that changes a file. Checks that the old file or the new one exists, and
        loads."""

    def standing_evidence(self) -> None:
        """Adds the rows about the confinement and about the generators with known answers. Only for the topic trust."""


def generator_promise(
    id: str, *, severity: Severity, source: str, over: Over, requires: tuple[str, ...] = ()
) -> Callable[[F], F]:
    """Declares what the decorated test promises about a program that writes Codex's configuration. `over`: its
    cases."""
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
    needs: Needs = "sandbox",
    source: str,
    policies: tuple[str, ...],
    acts: Mapping[str, Act] | None = None,
    call: Call | None = None,
    requires: tuple[str, ...] = (),
    cases: tuple[str, ...] = ("",),
    over: Over = "",
    suite: str = SANDBOX,
) -> Callable[[F], F]:
    """Declares what the decorated test promises. Starts nothing; planning reads the declaration."""
    if not is_promise(id):
        raise InputError(f"{id!r} is not a promise id", why="`topic.what-is-promised`, lower-case")
    if needs == REFUSABLE and (call is None or call.starts < 2 or not call.later):
        raise InputError(f"{id} lets Codex refuse", why=f"needs={REFUSABLE!r} wants a call with `starts` and `later`")

    def put(function: F) -> F:
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
            needs=needs,
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
