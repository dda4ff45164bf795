"""The acts that show which policy is in force, whatever it is, and what each of them must do under one. Pure."""

from typing import Final

from pytest_codexsandbox.model.act import Act, Given
from pytest_codexsandbox.model.generator import Expect
from pytest_codexsandbox.model.policy import AS_ASKED
from pytest_codexsandbox.model.promise import Promise

INSERT: Final = ["INSERT INTO t VALUES('written inside')"]
ROOT: Final = "@ROOT0@"
_HOLD_ALL: Final = ("/", "@WORLD@")  # roots of a user's, in which every folder of a call lies
BOARD: Final = f"{ROOT}/@NAME@.db"
BESIDE: Final = "@SIBLING@/@NAME@.db"


def _write(place: str) -> Act:
    return Act(verb="write", path=f"{place}/@NAME@", params={"data": "let through"})


def _insert(database: str) -> Act:
    given = (Given(kind="sqlite-wal", path=database),)
    return Act(verb="sqlite", path=database, params={"sql": INSERT}, given=given, looks=(f"{database}#rows",))


ACTS: Final[dict[str, Act]] = {
    "workspace": _write("@WORKSPACE@"),
    "root": _write(ROOT),
    "board": _insert(BOARD),
    "sibling": _write("@SIBLING@"),
    "sibling-board": _insert(BESIDE),
    "home": _write("@HOME@"),
    "http": Act(verb="http", params={"port": "@HTTP@", "token": "@NAME@"}),
}
PROMISE: Final = Promise(
    id="effective.does-what-was-asked", kind="generator", severity="critical", needs="nothing", source="",
    policies=(AS_ASKED,), acts=ACTS,
)  # fmt: skip
CLAIMS: Final = {
    "workspace": "a write into the workspace", "root": "a write into the granted folder",
    "board": "a SQLite database in the granted folder", "sibling": "a write beside the granted folder",
    "sibling-board": "a SQLite database beside the granted folder", "home": "a write into the home",
    "http": "a request over the network",
}  # fmt: skip


def permitted(expect: Expect) -> dict[str, bool]:
    """Act → whether it must work; what nobody has said anything about is left out."""
    everything = expect.sandbox == "danger-full-access"
    writes = expect.sandbox == "workspace-write"
    network = {} if expect.network is None and not everything else {"http": everything or bool(expect.network)}
    places = {"root": ROOT, "board": ROOT, "sibling": "@SIBLING@", "sibling-board": "@SIBLING@", "home": "@HOME@"}
    unsaid = writes and expect.roots is None
    granted = {*(expect.roots or ())} if writes else set()
    there = {act: everything or not granted.isdisjoint((place, *_HOLD_ALL)) for act, place in places.items()}
    return {"workspace": everything or writes, **({} if unsaid else there), **network}
