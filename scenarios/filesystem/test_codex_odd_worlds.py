"""Odd worlds: folders with odd names, reached through links, nested, overlapping, and many."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, Call, Given
from pytest_codexsandbox.model.boundary_acts import REFUSALS, WALLS
from pytest_codexsandbox.model.policy import READ_ONLY, SANDBOXED

CONFIG = "https://developers.openai.com/codex/config-reference#sandbox_workspace_write.writable_roots"
ODD = "-odd 'one' \"two\" [x] 100% #1 \\n ü\nlast line"
WORKSPACE = f"@WORLD@/{ODD}"
LINK = "@WORLD@/-link to it"  # the working folder is reached through this link
ROOT = f"@WORLD@/root {ODD}"
NESTED = f"{ROOT}/-nested ü"
INSIDE = f"{WORKSPACE}/part of it"  # granted a second time
LINKED_ROOT = "@WORLD@/linked root"
TARGET = "@WORLD@/target of a root"
MANY = tuple(f"@WORLD@/many/root {number}" for number in range(36))
ROOTS = (ROOT, NESTED, INSIDE, LINKED_ROOT, *MANY)
NAME = "@NAME@"
PLACES = {
    "workspace": WORKSPACE,
    "inside": INSIDE,
    "root": ROOT,
    "nested": NESTED,
    "linked-root": TARGET,
    "first-of-many": MANY[0],
    "last-of-many": MANY[-1],
}
CLOSED = {
    "parent": "@WORLD@",
    "beside-workspace": f"{WORKSPACE}-beside",
    "cut-workspace": "@WORLD@/-odd",  # the name up to its first space
    "beside-root": f"{ROOT}-beside",
    "cut-root": "@WORLD@/root",
    "beside-many": "@WORLD@/many/root",
    "among-many": "@WORLD@/many",
}
METADATA = {
    f"{name}-of-{place}": f"{PLACES[place]}/.{name}/kept"
    for name in ("git", "codex")
    for place in ("workspace", "root")
}
FOLDERS = (*(f for f in PLACES.values()), *MANY, *(f for f in CLOSED.values() if f != "@WORLD@"))


def written(path: str, *given: Given) -> Act:
    return Act(verb="write", path=path, params={"data": "written"}, given=given)


LAID = (
    *(Given(kind="dir", path=folder) for folder in dict.fromkeys(FOLDERS)),
    Given(kind="symlink", path=LINK, content=WORKSPACE),
    Given(kind="symlink", path=LINKED_ROOT, content=TARGET),
)
ACTS = {
    "process": Act(verb="process", given=LAID),
    **{case: written(f"{folder}/{NAME}") for case, folder in (PLACES | CLOSED).items()},
    **{case: written(path, Given(kind="file", path=path, content="the user's")) for case, path in METADATA.items()},
    **WALLS["network"],
}
CASES = ("starts-there", "granted", "refused", "protected", "network")


def starts_there(trial: Trial) -> None:
    """Adds a row that holds if the command starts in the folder that the link leads to."""
    sides = ((trial.values("process"), trial.observed()), (trial.control_values("process"), trial.controlled()))
    folders = [
        (found.get("cwd", "not known"), seen.world.fill(WORKSPACE) if seen.world else "") for found, seen in sides
    ]
    (inside, wanted), (outside, wanted_outside) = folders
    trial.says(
        "process",
        claim="the command starts in the working folder",
        saw=f"it started in {inside!r}",
        held=inside == wanted,
        control=f"it started in {outside!r}",
        control_held=outside == wanted_outside,
        direction="denied",
    )


def kept_apart(trial: Trial) -> None:
    """Adds the rows of the case. Under read-only a granted folder is refused as the others are."""
    if trial.case == "starts-there":
        starts_there(trial)
    for act in PLACES if trial.case == "granted" else ():
        (trial.refused if trial.policy == READ_ONLY else trial.allowed)(act)
    for act in CLOSED if trial.case == "refused" else METADATA if trial.case == "protected" else ():
        trial.refused(act)
    for act in WALLS["network"] if trial.case == "network" else ():
        trial.allowed(act) if trial.network() else trial.refused(act, errno=REFUSALS["network"])


@promise(
    "filesystem.odd-names-are-kept-apart",
    kind="capability",
    severity="critical",
    source=CONFIG,
    policies=SANDBOXED,
    acts=ACTS,
    call=Call(cwd=LINK, roots=ROOTS, env={"PWD": LINK}, timeout=40.0, at_every_door=True),
    cases=CASES,
)
def test_folders_with_odd_names_are_granted_and_nothing_beside_them(trial: Trial) -> None:
    """Spaces, quotes, brackets, newlines and a leading dash in names widen nothing and lose nothing.

    The working folder is reached through a link. 40 roots are granted: nested, overlapping, through a link. Writes
    work in them, and not in their parents, in folders whose names begin as theirs do, and in their .git and .codex.
    No name opens the network.

    Source: configuration reference: a root is the folder that is named.
    Control: the same writes and connections without a sandbox, each seen from outside.
    """
    kept_apart(trial)
