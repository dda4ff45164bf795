"""Folders that everybody shares: /tmp, $TMPDIR, /dev/shm."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, Call, Given
from pytest_codexsandbox.model.policy import FULL_ACCESS, NETWORK, NO_TMP, READ_ONLY, ROOTS, SANDBOXED, WORKSPACE_WRITE

CONFIG = "https://developers.openai.com/codex/config-reference"
SOURCE = "https://github.com/openai/codex/tree/main/codex-rs/linux-sandbox"
WITH_TMP = (WORKSPACE_WRITE, ROOTS, NETWORK, FULL_ACCESS)
WITHOUT_TMP = (READ_ONLY, NO_TMP)
IN_TMP = {
    "file": Act(verb="write", path="@TMP@/@NAME@", params={"data": "temporary"}),
    "folder": Act(verb="mkdir", path="@TMP@/@NAME@"),
}
IN_TMPDIR = {
    "file": Act(verb="write", path="@TMPDIR@/@NAME@", params={"data": "temporary"}),
    "folder": Act(verb="mkdir", path="@TMPDIR@/@NAME@"),
}


@promise(
    "filesystem.slash-tmp-writable",
    kind="capability",
    severity="medium",
    source=f"{CONFIG}#sandbox_workspace_write.exclude_slash_tmp",
    policies=WITH_TMP,
    acts=IN_TMP,
)
def test_slash_tmp_is_writable_unless_it_is_excluded(trial: Trial) -> None:
    """Under workspace-write a command can make files and folders in /tmp, and they are the machine's.

    Source: configuration reference: exclude_slash_tmp takes /tmp out of the writable roots; the default leaves it in.
    Control: the same deeds without a sandbox, seen from outside.
    """
    trial.allowed("file")
    trial.allowed("folder")


@promise(
    "filesystem.slash-tmp-refused",
    kind="boundary",
    severity="high",
    source=f"{CONFIG}#sandbox_workspace_write.exclude_slash_tmp",
    policies=WITHOUT_TMP,
    acts=IN_TMP,
)
def test_slash_tmp_is_refused_when_excluded_and_under_read_only(trial: Trial) -> None:
    """With exclude_slash_tmp, and under read-only, nothing can be made in /tmp.

    Source: configuration reference: exclude_slash_tmp takes /tmp out of the writable roots.
    Control: the same deeds without a sandbox, seen from outside.
    """
    trial.refused("file")
    trial.refused("folder")


@promise(
    "filesystem.tmpdir-writable",
    kind="capability",
    severity="medium",
    source=f"{CONFIG}#sandbox_workspace_write.exclude_tmpdir_env_var",
    policies=WITH_TMP,
    acts=IN_TMPDIR,
)
def test_tmpdir_is_writable_unless_it_is_excluded(trial: Trial) -> None:
    """Under workspace-write a command can make files and folders where $TMPDIR points.

    Source: configuration reference: exclude_tmpdir_env_var takes $TMPDIR out; the default leaves it in.
    Control: the same deeds without a sandbox, seen from outside.
    """
    trial.allowed("file")
    trial.allowed("folder")


@promise(
    "filesystem.tmpdir-refused",
    kind="boundary",
    severity="high",
    source=f"{CONFIG}#sandbox_workspace_write.exclude_tmpdir_env_var",
    policies=WITHOUT_TMP,
    acts=IN_TMPDIR,
)
def test_tmpdir_is_refused_when_excluded_and_under_read_only(trial: Trial) -> None:
    """With exclude_tmpdir_env_var, and under read-only, nothing can be made where $TMPDIR points.

    Source: configuration reference: exclude_tmpdir_env_var takes $TMPDIR out of the writable roots.
    Control: the same deeds without a sandbox, seen from outside.
    """
    trial.refused("file")
    trial.refused("folder")


EACH = {"tmp": IN_TMP["file"], "tmpdir": IN_TMPDIR["file"]}


@promise(
    "filesystem.exclude-slash-tmp-alone",
    kind="boundary",
    severity="medium",
    source=f"{CONFIG}#sandbox_workspace_write.exclude_slash_tmp",
    policies=(WORKSPACE_WRITE,),
    acts=EACH,
    call=Call(excludes=("slash-tmp",)),
)
def test_excluding_slash_tmp_leaves_tmpdir_writable(trial: Trial) -> None:
    """With exclude_slash_tmp alone nothing can be written in /tmp, and $TMPDIR, which lies elsewhere, can be written.

    Source: configuration reference: each of the two keys takes out one folder.
    Control: both writes without a sandbox, seen from outside.
    """
    trial.refused("tmp")
    trial.allowed("tmpdir")


@promise(
    "filesystem.exclude-tmpdir-alone",
    kind="boundary",
    severity="medium",
    source=f"{CONFIG}#sandbox_workspace_write.exclude_tmpdir_env_var",
    policies=(WORKSPACE_WRITE,),
    acts=EACH,
    call=Call(excludes=("tmpdir",)),
)
def test_excluding_tmpdir_leaves_slash_tmp_writable(trial: Trial) -> None:
    """With exclude_tmpdir_env_var alone nothing can be written where $TMPDIR points, and /tmp can be written.

    Source: configuration reference: each of the two keys takes out one folder.
    Control: both writes without a sandbox, seen from outside.
    """
    trial.refused("tmpdir")
    trial.allowed("tmp")


def unchanged_outside(trial: Trial, act: str) -> None:
    """Whatever the act did inside: the machine's file is as it was, and the control changed its own."""
    row, control = trial.row(act), trial.control_row(act)
    before, after = trial.look("@SHM@/@NAME@", act=act, before=True), trial.look("@SHM@/@NAME@", act=act)
    plain = trial.control_look("@SHM@/@NAME@", act=act)
    trial.says(
        act,
        claim="the machine's /dev/shm is as it was",
        saw=f"inside {row.errno or row.detail or 'worked'}; outside {after.kind} of {after.size} bytes",
        held=bool(row.ok or row.errno) and after.same_as(before) and after.kind != "unreadable",
        control=f"{control.errno or 'worked'}; {plain.kind} of {plain.size} bytes",
        control_held=control.ok and plain.kind == "file" and "let through" in plain.text,
        reason=row.errno,
        direction="leak",
    )


@promise(
    "filesystem.shm-is-not-shared",
    kind="boundary",
    severity="high",
    source=f"{SOURCE}/README.md",
    policies=SANDBOXED,
    acts={
        "new": Act(verb="write", path="@SHM@/@NAME@", params={"data": "let through"}),
        "laid": Act(
            verb="append",
            path="@SHM@/@NAME@",
            params={"data": " let through"},
            given=(Given(kind="file", path="@SHM@/@NAME@", content="laid before"),),
        ),
    },
)
def test_nothing_reaches_the_machines_shared_memory(trial: Trial) -> None:
    """A command's changes in /dev/shm stay inside: the machine's shared memory neither gains a name nor changes.

    Source: codex-linux-sandbox: `--dev /dev` gives a /dev of its own (earlier releases: Landlock refuses it).
    Control: the same writes without a sandbox change the machine's /dev/shm.
    """
    unchanged_outside(trial, "new")
    unchanged_outside(trial, "laid")
