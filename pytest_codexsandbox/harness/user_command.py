"""User command: compares a command of a user's own test with its control, the same command outside the sandbox.

The control decides what a failure means. A command that fails outside in the same way says nothing about the sandbox. A
command that works only outside was denied. Everything else has no direction: the test knows what it expects.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.diagnosis.builtin_causes import TEST_IS_WRONG
from pytest_codexsandbox.harness.act_effects import differs, ending
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.record import Basis, Evidence, Record
from pytest_codexsandbox.model.verdict import Direction, Verdict

ACT: Final = "user/run"
FAILS_OUTSIDE: Final = "fails-outside-too"  # reason of a row; the same word is the id of its cause
_REFUSALS: Final = (  # EPERM, EACCES, EROFS, ENETUNREACH, and a name server that cannot be reached
    "operation not permitted",
    "permission denied",
    "read-only file system",
    "network is unreachable",
    "could not resolve host",
    "temporary failure in name resolution",
    "unable to open database file",
)
NO_CONTROL: Final = "none: `control=False`, so the command did not run outside the sandbox"


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """The result of comparing one run with its control."""

    shown: str
    held: bool  # False: nothing in this run can be attributed to the sandbox
    direction: Direction = ""
    reason: str = ""


def promise_of_test(id: str, *, source: str = "", policies: tuple[str, ...] = (), title: str = "") -> Promise:
    """Returns the promise of a user's own test. All of them need a sandbox, and nothing else of the environment."""
    return Promise(
        id=id, kind="capability", severity="medium", needs="sandbox", source=source, policies=policies, title=title
    )


def compared(seen: Observation, control: Observation | None) -> Compared:
    """Compares a run in the sandbox with the same command outside. `control` None: the command did not run outside."""
    if control is None:
        return Compared(shown=NO_CONTROL, held=True)
    how = _end(control)
    if control.error:
        return Compared(shown=f"outside the sandbox the same command could not be run: {how}", held=False)
    if _fails(seen) and _fails(control) and _alike(seen, control):
        shown = f"outside the sandbox the same command fails too ({how}): it is not the sandbox"
        return Compared(shown=shown, held=False, reason=FAILS_OUTSIDE)
    denied = (_fails(seen) and not _fails(control)) or bool(_changed(control) - _changed(seen))
    shown = f"outside the sandbox the same command ended with {how}"
    return Compared(shown=shown, held=True, direction="denied" if denied else "")


def failed_by_itself(
    rows: Sequence[Evidence], outside: Mapping[str, Compared], *, title: str, message: str
) -> tuple[Evidence, ...]:
    """Returns the row of a test that fails by its own assertion. Its control is that of the last run before it."""
    if not rows or not all(row.control_held for row in rows[-2:]):
        return ()
    found = outside[rows[-1].call]
    if found.reason and not all(one.reason for one in outside.values()):
        found = msgspec.structs.replace(found, held=True, reason="")  # another run of this test may have failed
    own = msgspec.structs.replace(
        rows[-1],
        claim=title,
        saw=_first_words(message),
        held=False,
        control=found.shown,
        control_held=found.held,
        direction=found.direction,
        reason=found.reason,
    )
    return (own,)


def wrong_test(key: Key, reason: str, next_step: str) -> Record:
    """Returns the record of a test that cannot be run as it is written."""
    found = TEST_IS_WRONG if not next_step else msgspec.structs.replace(TEST_IS_WRONG, remedy=f"Type {next_step}")
    return Record(key=key, verdict=Verdict.BROKEN, reason=reason, diagnosis=found, basis=Basis(how="fault"))


def never_ran(key: Key, message: str) -> Record:
    if message:
        return wrong_test(key, f"the test failed before it called codex_sandbox.run(): {_first_words(message)}", "")
    reason = "the test never called codex_sandbox.run(): it proves nothing"
    return wrong_test(key, reason, 'seen = codex_sandbox.run("true")')


def _first_words(message: str) -> str:
    """Returns the first line of a message; with the next one where the first holds only the name of the exception."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1]) or "the test failed"


def by_itself(seen: Observation) -> bool:
    return seen.ended in ("exit", "signal")


def _fails(seen: Observation) -> bool:
    return (seen.ended, seen.code) != ("exit", 0)


def _alike(seen: Observation, control: Observation) -> bool:
    """Checks whether both ended alike, no refusal was named inside alone, and nothing that the test looked at changed
    inside. So a leak is never taken for an error of the test."""
    ends = [(one.ended, one.code if by_itself(one) else 0) for one in (seen, control)]
    return ends[0] == ends[1] and _refusals(seen) <= _refusals(control) and not _changed(seen)


def _refusals(seen: Observation) -> set[str]:
    """Returns the refusals in the output. Exit code 1 is common: two failures with it are alike only if the sandbox
    refused nothing."""
    said = f"{seen.stdout}\n{seen.stderr}".lower()
    return {word for word in _REFUSALS if word in said}


def _changed(seen: Observation) -> set[str]:
    return {key for key in seen.before if key.startswith(f"{ACT}|") and differs(seen, key)}


def _end(seen: Observation) -> str:
    """Describes the end of a call. A program that was stopped at the time limit has no end of its own."""
    return "the time limit" if seen.ended == "timeout" else ending(seen)
