"""Policy acts: the acts that show which policy is in force, and what each act must do under a given policy. Pure."""

from typing import Final

from pytest_codexsandbox.generators.effective_policy import lies_in
from pytest_codexsandbox.model.act import Act, Given
from pytest_codexsandbox.model.generator import ExpectedPolicy
from pytest_codexsandbox.model.generator_suite import AS_ASKED, NAME
from pytest_codexsandbox.model.promise import Promise

INSERT: Final = ["INSERT INTO t VALUES('written inside')"]
ROOT: Final = "@ROOT0@"
SIBLING: Final = "@SIBLING@"
HOME: Final = "@HOME@"
WORLD: Final = "@WORLD@"  # a user's root may be a folder that contains all other folders of a call
BOARD: Final = f"{ROOT}/@NAME@.db"
BESIDE: Final = f"{SIBLING}/@NAME@.db"


def _write(place: str) -> Act:
    return Act(verb="write", path=f"{place}/@NAME@", params={"data": "let through"})


def _insert(database: str) -> Act:
    given = (Given(kind="sqlite-wal", path=database),)
    return Act(verb="sqlite", path=database, params={"sql": INSERT}, given=given, looks=(f"{database}#rows",))


ACTS: Final[dict[str, Act]] = {
    "workspace": _write("@WORKSPACE@"),
    "root": _write(ROOT),
    "board": _insert(BOARD),
    "sibling": _write(SIBLING),
    "sibling-board": _insert(BESIDE),
    "home": _write(HOME),
    "http": Act(verb="http", params={"port": "@HTTP@", "token": "@NAME@"}),
}
PROMISE: Final = Promise(
    id="effective.does-what-was-asked",
    kind="generator",
    severity="critical",
    needs="nothing",
    source="",
    policies=(AS_ASKED,),
    suite=NAME,
    acts=ACTS,
)
CLAIMS: Final = {
    "workspace": "a write into the workspace", "root": "a write into the granted folder",
    "board": "a SQLite database in the granted folder", "sibling": "a write beside the granted folder",
    "sibling-board": "a SQLite database beside the granted folder", "home": "a write into the home",
    "http": "a request over the network",
}  # fmt: skip


def grants_everything(expect: ExpectedPolicy) -> bool:
    """Checks whether the whole machine was requested. Then no write can show that a sandbox is on."""
    return any(root in ("/", WORLD) for root in expect.roots or ())


def permitted(expect: ExpectedPolicy) -> dict[str, bool]:
    """Returns act → whether it must succeed. Acts that no request decides are left out. A folder inside a requested one
    counts as requested, also if that is the home or the whole machine."""
    everything = expect.sandbox == "danger-full-access"
    writes = expect.sandbox == "workspace-write"
    roots = tuple("/" if root == WORLD else root for root in expect.roots or ())

    def granted(folder: str) -> bool:
        return everything or (writes and lies_in(folder, roots))

    network = {} if expect.network is None and not everything else {"http": everything or bool(expect.network)}
    if writes and expect.roots is None:  # the grants of the user's own file are unknown
        return {"workspace": True, **network}
    return {
        "workspace": everything or writes,
        "root": granted(ROOT),
        "board": granted(ROOT),
        "sibling": granted(SIBLING),
        "sibling-board": granted(SIBLING),
        "home": granted(HOME),
        **network,
    }
