"""Writable roots: what they grant, and what a root that is no ordinary folder does to the call."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, Call, Given
from pytest_codexsandbox.model.policy import NETWORK, NO_TMP, READ_ONLY, ROOTS, WORKSPACE_WRITE

CONFIG = "https://developers.openai.com/codex/config-reference#sandbox_workspace_write.writable_roots"
WORK = Act(verb="write", path="@WORKSPACE@/@NAME@", params={"data": "still works"})
IN_ROOT = {
    "file": Act(verb="write", path="@ROOT0@/@NAME@", params={"data": "granted"}),
    "folder": Act(verb="mkdir", path="@ROOT0@/@NAME@"),
}


def ends_well(trial: Trial) -> None:
    seen, control = trial.observed(), trial.controlled()
    said = [line for line in seen.stderr.splitlines() if line.strip()]
    trial.says(
        "work",
        claim="the call ends with 0",
        saw=f"{seen.ended} {seen.code} {' '.join(said[:2])[:500]}".strip(),
        held=seen.ended == "exit" and seen.code == 0 and seen.finished,
        control=f"{control.ended} {control.code}",
        control_held=control.ended == "exit" and control.code == 0,
        direction="denied",
    )


@promise(
    "filesystem.root-writable",
    kind="capability",
    severity="high",
    source=CONFIG,
    policies=(ROOTS,),
    acts=IN_ROOT,
)
def test_a_granted_root_is_writable(trial: Trial) -> None:
    """A folder named in writable_roots can be written, and what is written there is really there.

    Source: configuration reference: additional writable roots in workspace-write.
    Control: the same deeds without a sandbox, seen from outside.
    """
    trial.allowed("file")
    trial.allowed("folder")


@promise(
    "filesystem.root-not-granted-refused",
    kind="boundary",
    severity="critical",
    source=CONFIG,
    policies=(READ_ONLY, WORKSPACE_WRITE, NETWORK, NO_TMP),
    acts=IN_ROOT,
)
def test_the_same_folder_is_refused_where_it_is_not_granted(trial: Trial) -> None:
    """The folder that another policy grants is outside where writable_roots does not name it.

    Source: configuration reference: only additional writable roots are added.
    Control: the same deeds without a sandbox, seen from outside.
    """
    trial.refused("file")
    trial.refused("folder")


@promise(
    "filesystem.sibling-of-root-refused",
    kind="boundary",
    severity="critical",
    source=CONFIG,
    policies=(ROOTS,),
    acts={
        "sibling": Act(verb="write", path="@SIBLING@/@NAME@", params={"data": "let through"}),
        "same-beginning": Act(
            verb="write",
            path="@ROOT0@-beside/@NAME@",
            params={"data": "let through"},
            given=(Given(kind="dir", path="@ROOT0@-beside"),),
        ),
    },
)
def test_a_folder_beside_a_granted_root_stays_refused(trial: Trial) -> None:
    """A grant widens nothing: the folder beside a root, and one whose name begins as the root's does, are outside.

    Source: configuration reference: a root is the folder that is named.
    Control: the same writes without a sandbox, each seen from outside.
    """
    trial.refused("sibling")
    trial.refused("same-beginning")


@promise(
    "filesystem.root-missing-is-harmless",
    kind="capability",
    severity="medium",
    source="https://github.com/openai/codex/pull/14890",
    policies=(WORKSPACE_WRITE,),
    acts={"work": WORK, "make-it": Act(verb="mkdir", path="@WORLD@/not-there")},
    call=Call(roots=("@WORLD@/not-there",)),
)
def test_a_root_that_does_not_exist_neither_stops_the_call_nor_can_be_made(trial: Trial) -> None:
    """With a writable root that does not exist the command still runs, and cannot make that folder itself.

    Source: openai/codex#14890: missing writable roots are skipped.
    Control: without a sandbox the same write works, and the same folder can be made.
    """
    trial.allowed("work")
    ends_well(trial)
    trial.refused("make-it")


@promise(
    "filesystem.root-missing-in-workspace-is-harmless",
    kind="capability",
    severity="medium",
    source="https://github.com/openai/codex/pull/14890",
    policies=(WORKSPACE_WRITE,),
    acts={"work": WORK, "make-it": Act(verb="mkdir", path="@WORKSPACE@/yet-to-be-made")},
    call=Call(roots=("@WORKSPACE@/yet-to-be-made",)),
)
def test_a_root_in_the_workspace_that_does_not_exist_yet_stops_nothing(trial: Trial) -> None:
    """With a writable root that lies in the workspace and does not exist yet (a `build` folder of a fresh clone) the
    command still runs, and can make that folder as it can make any other there.

    Source: openai/codex#14890: missing writable roots are skipped.
    Control: without a sandbox the same write works, and the same folder can be made.
    """
    trial.allowed("work")
    ends_well(trial)
    trial.allowed("make-it")


@promise(
    "filesystem.root-may-be-a-file",
    kind="capability",
    severity="medium",
    source=CONFIG,
    policies=(WORKSPACE_WRITE,),
    acts={
        "file": Act(
            verb="append",
            path="@OUTSIDE@/granted-file",
            params={"data": " and written inside"},
            given=(Given(kind="file", path="@OUTSIDE@/granted-file", content="laid before"),),
        ),
        "beside": Act(verb="write", path="@OUTSIDE@/@NAME@", params={"data": "let through"}),
    },
    call=Call(roots=("@OUTSIDE@/granted-file",)),
)
def test_a_root_may_be_a_single_file(trial: Trial) -> None:
    """A file named in writable_roots can be written, and nothing beside it.

    Source: configuration reference: writable_roots are paths; who needs one file granted names that file.
    Control: without a sandbox both writes work and are seen from outside.
    """
    trial.allowed("file")
    trial.refused("beside")


@promise(
    "filesystem.root-may-be-relative",
    kind="capability",
    severity="low",
    source=CONFIG,
    policies=(WORKSPACE_WRITE,),
    acts={
        "inside": Act(
            verb="write",
            path="@WORLD@/relative-root/@NAME@",
            params={"data": "granted"},
            given=(Given(kind="dir", path="@WORLD@/relative-root"),),
        ),
        "beside": Act(verb="write", path="@WORLD@/@NAME@", params={"data": "let through"}),
    },
    call=Call(roots=("../relative-root",)),
)
def test_a_relative_root_is_read_from_the_working_directory(trial: Trial) -> None:
    """A relative path among the command line's writable_roots means the folder seen from the working directory.

    Source: configuration reference; measured: paths of `-c` options are resolved against the working directory.
    Control: without a sandbox both writes work and are seen from outside.
    """
    trial.allowed("inside")
    trial.refused("beside")


@promise(
    "filesystem.root-not-the-users-is-harmless",
    kind="capability",
    severity="medium",
    source=CONFIG,
    policies=(WORKSPACE_WRITE,),
    acts={
        "work": WORK,
        "locked": Act(
            verb="write",
            path="@WORLD@/locked/@NAME@",
            params={"data": "let through"},
            given=(Given(kind="dir", path="@WORLD@/locked", mode=0o555),),
        ),
    },
    call=Call(roots=("@WORLD@/locked",)),
    requires=("user:ordinary",),
)
def test_a_root_that_the_user_cannot_write_neither_stops_the_call_nor_becomes_writable(trial: Trial) -> None:
    """A writable root lifts no file permissions: the command runs, and that folder stays as closed as it is outside.

    Source: configuration reference: a root is a grant of the sandbox, not of the file system.
    Control: without a sandbox the same write is refused by the folder's mode, and the workspace can be written.
    """
    locked, control = trial.row("locked"), trial.control_row("locked")
    after = trial.look("@WORLD@/locked/@NAME@", act="locked")
    trial.allowed("work")
    ends_well(trial)
    trial.says(
        "locked",
        claim="the closed folder refuses the write, as it does outside",
        saw=f"{locked.errno or locked.detail or 'worked'}; outside {after.kind}",
        held=locked.errno in ("EACCES", "EROFS") and after.kind == "missing",
        control=control.errno or "worked",
        control_held=control.errno == "EACCES",
        reason=locked.errno,
        direction="leak" if locked.ok else "denied",
    )
