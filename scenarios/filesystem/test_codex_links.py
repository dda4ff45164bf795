"""Ways around a boundary that is drawn by paths: links and renames."""

from pytest_codexsandbox.api import WRITE_REFUSALS, Trial, promise
from pytest_codexsandbox.model.act import Act, Given
from pytest_codexsandbox.model.policy import ROOTS, SANDBOXED, WRITING

SECURITY = "https://developers.openai.com/codex/agent-approvals-security"
README = "https://github.com/openai/codex/blob/main/codex-rs/linux-sandbox/README.md"
HERE, THERE = "@WORKSPACE@/@NAME@", "@OUTSIDE@/@NAME@"
A_FILE_THERE = Given(kind="file", path=THERE, content="laid before")
ACROSS = ("EXDEV", "EROFS", "EACCES", "EPERM")  # another mount, a read-only one, Landlock


@promise(
    "filesystem.symlink-escape-refused",
    kind="boundary",
    severity="critical",
    source=f"{README}#current-behavior",
    policies=SANDBOXED,
    acts={
        "existing": Act(
            verb="append",
            path=HERE,
            params={"data": " let through"},
            given=(A_FILE_THERE, Given(kind="symlink", path=HERE, content=THERE)),
            looks=(THERE,),
        ),
        "dangling": Act(
            verb="write",
            path=HERE,
            params={"data": "let through"},
            given=(Given(kind="symlink", path=HERE, content=THERE),),
            looks=(THERE,),
        ),
    },
)
def test_a_symlink_in_the_workspace_does_not_lead_out(trial: Trial) -> None:
    """A write through a symlink of the workspace is judged by where the link ends, existing or not.

    Source: codex-linux-sandbox: only the writable roots are mounted writable.
    Control: the same writes without a sandbox arrive in the file outside.
    """
    trial.refused("existing")
    trial.refused("dangling")


@promise(
    "filesystem.symlinked-folder-escape-refused",
    kind="boundary",
    severity="critical",
    source=f"{README}#current-behavior",
    policies=SANDBOXED,
    acts={
        "through": Act(
            verb="write",
            path=f"{HERE}/inside",
            params={"data": "let through"},
            given=(Given(kind="dir", path=THERE), Given(kind="symlink", path=HERE, content=THERE)),
            looks=(f"{THERE}/inside",),
        )
    },
)
def test_a_symlinked_folder_in_the_workspace_does_not_lead_out(trial: Trial) -> None:
    """A write below a folder symlink of the workspace is judged by where the link ends.

    Source: codex-linux-sandbox: only the writable roots are mounted writable.
    Control: the same write without a sandbox arrives in the folder outside.
    """
    trial.refused("through")


@promise(
    "filesystem.made-symlink-escape-refused",
    kind="boundary",
    severity="critical",
    source=f"{README}#current-behavior",
    policies=WRITING,
    acts={
        "make": Act(verb="symlink", path="@WORKSPACE@/made-inside", params={"to": "@OUTSIDE@/made-inside"}),
        "through": Act(
            verb="write",
            path="@WORKSPACE@/made-inside",
            params={"data": "let through"},
            looks=("@OUTSIDE@/made-inside",),
        ),
    },
)
def test_a_symlink_that_the_command_makes_does_not_lead_out(trial: Trial) -> None:
    """A command may make a symlink that points outside; writing through it is still refused.

    Source: codex-linux-sandbox: only the writable roots are mounted writable.
    Control: without a sandbox the same link is made and the same write arrives outside.
    """
    row, control = trial.row("through"), trial.control_row("through")
    there = trial.look("@OUTSIDE@/made-inside", act="through")
    plain = trial.control_look("@OUTSIDE@/made-inside", act="through")
    trial.allowed("make")
    trial.says(
        "through",
        claim="the write through it is refused (EROFS or EACCES), and nothing is made outside",
        saw=f"{row.errno or row.detail or 'worked'}; outside {there.kind}",
        held=row.errno in WRITE_REFUSALS and there.kind == "missing",
        control=f"{control.errno or 'worked'}; outside {plain.kind}",
        control_held=control.ok and plain.kind == "file",
        reason=row.errno,
        direction="leak",
    )


@promise(
    "filesystem.hard-link-from-outside-refused",
    kind="boundary",
    severity="critical",
    source=f"{README}#current-behavior",
    policies=SANDBOXED,
    acts={
        "in": Act(verb="link", path=THERE, params={"to": HERE}, given=(A_FILE_THERE,)),
        "out": Act(
            verb="link", path=HERE, params={"to": THERE}, given=(Given(kind="file", path=HERE, content="ours"),)
        ),
    },
)
def test_no_hard_link_can_be_made_across_the_boundary(trial: Trial) -> None:
    """A command cannot hard-link a file outside into the workspace (to write it there), nor the other way round.

    Source: codex-linux-sandbox: roots are mounts of their own, and no hard link crosses a mount.
    Control: the same links without a sandbox, each seen from outside.
    """
    trial.refused("in", errno=ACROSS)
    trial.refused("out", errno=ACROSS)


@promise(
    "filesystem.hard-link-laid-before-writes-through",
    kind="claim",
    severity="low",
    source=f"{README}#current-behavior",
    policies=WRITING,
    acts={
        "through": Act(
            verb="append",
            path=HERE,
            params={"data": " through the link"},
            given=(A_FILE_THERE, Given(kind="hardlink", path=HERE, content=THERE)),
            looks=(THERE,),
        )
    },
)
def test_a_hard_link_made_before_the_call_writes_through(trial: Trial) -> None:
    """The boundary is drawn by paths: a file that was hard-linked into the workspace before is writable there.

    Source: codex-linux-sandbox: writable roots are bind mounts; it follows, and is written down here as it is.
    Control: the same write without a sandbox changes the file outside too.
    """
    trial.allowed("through", effect=THERE)


@promise(
    "filesystem.rename-across-refused",
    kind="boundary",
    severity="critical",
    source=f"{README}#current-behavior",
    policies=SANDBOXED,
    acts={
        "out": Act(
            verb="rename", path=HERE, params={"to": THERE}, given=(Given(kind="file", path=HERE, content="ours"),)
        ),
        "in": Act(verb="rename", path=THERE, params={"to": HERE}, given=(A_FILE_THERE,)),
        "over": Act(
            verb="rename",
            path=HERE,
            params={"to": THERE},
            given=(A_FILE_THERE, Given(kind="file", path=HERE, content="ours")),
        ),
    },
)
def test_nothing_can_be_renamed_across_the_boundary(trial: Trial) -> None:
    """No file can be moved out of the workspace, into it from outside, or over a file outside.

    Source: codex-linux-sandbox: only the writable roots are mounted writable.
    Control: the same renames without a sandbox, each seen from outside.
    """
    trial.refused("out", errno=ACROSS)
    trial.refused("in", errno=ACROSS)
    trial.refused("over", errno=ACROSS)


@promise(
    "filesystem.rename-between-roots",
    kind="claim",
    severity="low",
    source=f"{SECURITY}#sandbox-and-approvals",
    policies=(ROOTS,),
    acts={
        "between": Act(
            verb="rename",
            path=HERE,
            params={"to": "@ROOT0@/@NAME@"},
            given=(Given(kind="file", path=HERE, content="ours"),),
        )
    },
)
def test_a_rename_between_two_writable_roots_works_or_says_another_device(trial: Trial) -> None:
    """From the workspace to a granted root a rename works, or fails with EXDEV, on which programs copy instead.

    Source: codex-linux-sandbox: each root is a mount; rename(2) across mounts is EXDEV.
    Control: the same rename without a sandbox moves the file.
    """
    row, control = trial.row("between"), trial.control_row("between")
    here, there = trial.look(HERE), trial.look("@ROOT0@/@NAME@")
    moved = row.ok and here.kind == "missing" and (there.kind, there.text) == ("file", "ours")
    stayed = row.errno == "EXDEV" and (here.kind, here.text) == ("file", "ours") and there.kind == "missing"
    trial.says(
        "between",
        claim="the file is moved, or stays where it was and the error is EXDEV; either way it is whole",
        saw=f"{row.errno or 'moved' if row.ok or row.errno else row.detail}; here {here.kind}, there {there.kind}",
        held=moved or stayed,
        control=f"{control.errno or 'moved'}; there {trial.control_look('@ROOT0@/@NAME@').kind}",
        control_held=control.ok and trial.control_look("@ROOT0@/@NAME@").kind == "file",
        reason=row.errno,
        direction="denied",
    )
