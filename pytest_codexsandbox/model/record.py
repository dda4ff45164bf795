"""Record: what a scenario leaves behind: evidence rows, a verdict, a diagnosis. JSON from birth; a pytest report
carries it."""

from typing import Final, Literal

import msgspec

from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.verdict import Direction, Verdict

OUTLIVES: Final = "outlives-the-call"  # the reason of a row about processes that a call left; no deviation covers it


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One claim of a scenario about one act. It holds only if the control held and the effect was as promised."""

    claim: str  # what was promised, in the user's words
    act: str  # the promise's id where the row is about the whole call or file
    nonce: str
    call: str  # id of the Observation
    control: str  # what the control showed; "" = there was none
    control_held: bool
    saw: str  # what was seen, effect from outside included
    held: bool
    reason: str = ""  # errno, or SQLite's text
    direction: Direction = ""  # when not held
    diff: str = ""  # of files, where the claim is about one


class RemedyHere(msgspec.Struct, frozen=True, kw_only=True):
    """One remedy, with what is known about it in the environment of a record."""

    name: str
    turns: str  # green | not proved | no sandbox | no better
    proof: str  # where it was shown, and where not
    price: str


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    fingerprint: str  # "" = no fingerprint fits: then `cause` says so
    cause: str
    remedy: str = ""
    ways: tuple[str, ...] = ()  # of doing it: each with its price, and whether it was shown to help
    remedies: tuple[RemedyHere, ...] = ()  # the same ones in the same order; empty in journals of earlier versions
    link: str = ""
    quote: str = ""  # the words that it was recognised by
    verdict: str = "undecided"  # sandbox | not-sandbox | undecided


class Started(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of the sandbox that the judge was given. The texts that explain it are in the record's reason."""

    state: Literal["on", "off", "failed", "unknown"]
    call: str = ""  # the call that shows it; "" where no call does
    another: str = ""  # as in SandboxState, and the same for the other members
    without_say: str = ""
    alone: bool = False
    doubt: str = ""


class Basis(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Holds all that decided the verdict, beside the rows of evidence: a reader of the journal can judge again.

    | how       | the verdict is                                                     |
    |-----------|--------------------------------------------------------------------|
    | judged    | the judge's: from the members below, the rows and the calls        |
    | fault     | broken: the machine failed, or the test could not be run           |
    | ruled-out | n/a: the plan, the binary or the environment rules the promise out |
    | lost      | violates: a build lost what the release before it could do         |
    """

    how: Literal["judged", "fault", "ruled-out", "lost"]
    promise: str = ""  # that the judge was asked about
    outcome: Literal["", "passed", "failed", "skipped", "error"] = ""  # pytest's
    message: str = ""  # of a test that did not pass
    started: Started | None = None
    asks_for_sandbox: bool = True
    unconfined_words: str = ""
    skipped: tuple[str, ...] = ()  # why nothing was measured
    blocked_by: str = ""  # the promise without which this one could not be asked


class Record(msgspec.Struct, frozen=True, kw_only=True):
    key: Key
    verdict: Verdict
    attempt: int = 1
    direction: Direction = ""
    reason: str = ""  # one line: why this verdict
    evidence: tuple[Evidence, ...] = ()
    diagnosis: Diagnosis | None = None
    environment: str = ""  # ids of other journal lines
    subject: str = ""
    calls: tuple[str, ...] = ()
    blocked_by: str = ""  # the start record's promise id
    deviation: str = ""  # id of the expectation that covers it
    seconds: float = 0.0
    suite: str = "shipped"
    requirement: str = ""
    provenance: str = "host"
    synthetic: bool = False
    arch: str = ""
    worker: str = ""
    repro: str = ""  # a script that shows it again, below the run's folder
    basis: Basis | None = None  # None in journals of earlier versions: they cannot be judged again

    @property
    def deciding(self) -> Evidence | None:
        """Returns the row that a violation comes from: the first in the worst direction."""
        rows = [row for row in self.evidence if row.control_held and not row.held]
        return next((row for row in rows if row.direction == self.direction), rows[0] if rows else None)
