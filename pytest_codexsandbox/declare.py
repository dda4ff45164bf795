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

from pytest_codexsandbox.errors import WrongInput
from pytest_codexsandbox.model.act import Act, Call, DoneAct, Look
from pytest_codexsandbox.model.ids import is_promise
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.promise import Kind, Promise, Severity
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
        self, act: str, *, claim: str, saw: str, held: bool, control: str, control_held: bool, reason: str = "",
        direction: Direction = "wrong-claim",
    ) -> None:  # fmt: skip
        """The general row, for what the two above cannot say."""

    def clean(self, *, claim: str = "") -> None:
        """The call left no name behind in workspace, roots, outside, home or /tmp that no act explains. Control: the
        search finds what was put into each of these places after the call, in the sandbox's world and in its own."""

    def standing_evidence(self) -> None:
        """For the topics start and trust only: the rows that the harness itself found."""

    # ---- what there is to look at
    def row(self, act: str, copy: int = 0) -> DoneAct: ...
    def control_row(self, act: str, copy: int = 0) -> DoneAct: ...
    def look(self, path: str, *, act: str = "", before: bool = False, copy: int = 0) -> Look: ...
    def control_look(self, path: str, *, act: str = "", before: bool = False, copy: int = 0) -> Look: ...
    def observed(self, copy: int = 0) -> Observation: ...
    def controlled(self, copy: int = 0) -> Observation: ...
    def copies(self) -> int: ...
    def network(self) -> bool:
        """Whether the policy grants network."""


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
) -> Callable[[F], F]:
    """Declare what the decorated test promises. Nothing starts; planning reads it."""
    if not is_promise(id):
        raise WrongInput(f"{id!r} is not a promise id", why="`topic.what-is-promised`, lower-case")

    def put(function: F) -> F:
        words: Any = {"needs": needs}
        declared = Promise(
            id=id, kind=kind, severity=severity, source=source, policies=policies, acts=dict(acts or {}), call=call,
            requires=requires, cases=cases, title=sentence(function.__name__), summary=first_paragraph(function),
            **words,
        )  # fmt: skip
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
