"""Folders that steer tools (.git, .codex, .agents) stay read-only inside folders that are writable."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, Call, Given
from pytest_codexsandbox.model.policy import ROOTS, WORKSPACE_WRITE, WRITING

SECURITY = "https://developers.openai.com/codex/agent-approvals-security#protected-paths-in-writable-roots"
CASES = ("git", "codex", "agents")
# A mount point is busy, a read-only mount refuses, a placeholder that is shown in the place of a missing one exists.
REFUSALS = ("EROFS", "EACCES", "EPERM", "EBUSY", "EEXIST")


def kept_in(folder: str, case: str) -> tuple[Given, ...]:
    return (
        Given(kind="dir", path=f"{folder}/.{case}"),
        Given(kind="file", path=f"{folder}/.{case}/kept", content="the user's"),
    )


def overwriting(folder: str) -> dict[str, Act]:
    return {
        case: Act(
            verb="write",
            path=f"{folder}/.{case}/kept",
            params={"data": "let through"},
            given=kept_in(folder, case),
        )
        for case in CASES
    }


def adding(folder: str) -> dict[str, Act]:
    return {
        f"{case}-new": Act(
            verb="create", path=f"{folder}/.{case}/@NAME@", params={"data": "new"}, given=kept_in(folder, case)
        )
        for case in CASES
    }


def making(folder: str) -> dict[str, Act]:
    return {case: Act(verb="mkdir", path=f"{folder}/.{case}") for case in CASES}


def nothing_made(trial: Trial, folder: str) -> None:
    """The mkdir is refused and no folder is there; a placeholder that Codex itself forgets is another finding."""
    row, control = trial.row(trial.case), trial.control_row(trial.case)
    after = trial.look(f"{folder}/.{trial.case}", act=trial.case)
    plain = trial.control_look(f"{folder}/.{trial.case}", act=trial.case)
    trial.says(
        trial.case,
        claim=f"mkdir is refused ({' or '.join(REFUSALS)}) and no folder is there afterwards",
        saw=f"{row.errno or row.detail or 'worked'}; outside {after.kind}",
        held=row.errno in REFUSALS and after.kind not in ("dir", "unreadable"),
        control=f"{control.errno or 'worked'}; outside {plain.kind}",
        control_held=control.ok and plain.kind == "dir",
        reason=row.errno,
        direction="leak",
    )


@promise(
    "protected.existing-in-workspace",
    kind="boundary",
    severity="critical",
    source=SECURITY,
    policies=WRITING,
    acts=overwriting("@WORKSPACE@") | adding("@WORKSPACE@"),
    cases=CASES,
)
def test_git_codex_and_agents_of_the_workspace_stay_read_only(trial: Trial) -> None:
    """Files in the workspace's .git, .codex and .agents cannot be overwritten, and none can be added.

    Source: Codex documentation, protected paths in writable roots.
    Control: the same writes without a sandbox, each seen from outside.
    """
    trial.refused(trial.case)
    trial.refused(f"{trial.case}-new")


@promise(
    "protected.existing-in-root",
    kind="boundary",
    severity="critical",
    source=SECURITY,
    policies=(ROOTS,),
    acts=overwriting("@ROOT0@") | adding("@ROOT0@"),
    call=Call(),
    cases=CASES,
)
def test_git_codex_and_agents_of_a_granted_root_stay_read_only(trial: Trial) -> None:
    """Files in the .git, .codex and .agents of an extra writable root cannot be changed either.

    Source: Codex documentation, protected paths in writable roots.
    Control: the same writes without a sandbox, each seen from outside.
    """
    trial.refused(trial.case)
    trial.refused(f"{trial.case}-new")


@promise(
    "protected.missing-in-workspace",
    kind="boundary",
    severity="high",
    source="https://github.com/openai/codex/pull/15067",
    policies=(WORKSPACE_WRITE,),
    acts=making("@WORKSPACE@"),
    call=Call(),
    cases=CASES,
)
def test_git_codex_and_agents_cannot_be_made_in_a_workspace_without_them(trial: Trial) -> None:
    """A command cannot make a .git, .codex or .agents, for others to trust, in a workspace that has none.

    Source: openai/codex#15067: the first creation of .codex is protected as well.
    Control: the same mkdir without a sandbox, seen from outside.
    """
    nothing_made(trial, "@WORKSPACE@")


@promise(
    "protected.missing-in-root",
    kind="boundary",
    severity="high",
    source="https://github.com/openai/codex/pull/15067",
    policies=(ROOTS,),
    acts=making("@ROOT0@"),
    cases=CASES,
)
def test_git_codex_and_agents_cannot_be_made_in_a_granted_root_without_them(trial: Trial) -> None:
    """A command cannot make a .git, .codex or .agents in an extra writable root that has none.

    Source: openai/codex#15067: the first creation of .codex is protected as well.
    Control: the same mkdir without a sandbox, seen from outside.
    """
    nothing_made(trial, "@ROOT0@")


@promise(
    "protected.rename-refused",
    kind="boundary",
    severity="critical",
    source=SECURITY,
    policies=(WORKSPACE_WRITE,),
    acts={
        case: Act(
            verb="rename",
            path=f"@WORKSPACE@/.{case}",
            params={"to": "@WORKSPACE@/@NAME@"},
            given=kept_in("@WORKSPACE@", case),
        )
        for case in CASES
    },
    call=Call(),  # without a sandbox these renames would take from the other promises what they write to
    cases=CASES,
)
def test_git_codex_and_agents_cannot_be_renamed_out_of_the_way(trial: Trial) -> None:
    """A command cannot rename .git, .codex or .agents, to put its own in their place.

    Source: Codex documentation, protected paths in writable roots.
    Control: the same renames without a sandbox, each seen from outside.
    """
    trial.refused(trial.case, errno=REFUSALS)


@promise(
    "protected.nested-is-writable",
    kind="claim",
    severity="low",
    source=SECURITY,
    policies=WRITING,
    acts={
        case: Act(
            verb="mkdir",
            path=f"@WORKSPACE@/@NAME@/.{case}",
            given=(Given(kind="dir", path="@WORKSPACE@/@NAME@"),),
        )
        for case in CASES
    },
    cases=CASES,
)
def test_only_the_top_level_of_a_root_is_protected(trial: Trial) -> None:
    """In a folder below the workspace .git, .codex and .agents can be made: a nested checkout works, and is unguarded.

    Source: Codex documentation, protected paths in writable roots: they are named as <writable_root>/.git and so on.
    Control: the same mkdir without a sandbox, seen from outside.
    """
    trial.allowed(trial.case)


@promise(
    "protected.git-file-and-its-target",
    kind="boundary",
    severity="high",
    source=SECURITY,
    policies=(WORKSPACE_WRITE,),
    acts={
        "pointer": Act(
            verb="write",
            path="@WORKSPACE@/.git",
            params={"data": "gitdir: elsewhere"},
            given=(
                Given(kind="dir", path="@WORKSPACE@/real-git"),
                Given(kind="file", path="@WORKSPACE@/real-git/HEAD", content="ref: refs/heads/main\n"),
                Given(kind="file", path="@WORKSPACE@/.git", content="gitdir: @WORKSPACE@/real-git\n"),
            ),
        ),
        "target": Act(verb="write", path="@WORKSPACE@/real-git/HEAD", params={"data": "let through"}),
    },
    call=Call(),
)
def test_a_git_file_and_the_folder_it_points_to_stay_read_only(trial: Trial) -> None:
    """A .git that is a file (a worktree, a submodule) is read-only, and so is the git folder that it names.

    Source: Codex documentation, protected paths: the resolved Git directory of a pointer file is protected as well.
    Control: the same writes without a sandbox, each seen from outside.
    """
    trial.refused("pointer")
    trial.refused("target")
