"""Git folders that are not simply `.git`: linked worktrees, submodules, bare repositories, a link in place of .git."""

from pytest_codexsandbox.api import WRITE_REFUSALS, Trial, promise
from pytest_codexsandbox.model.act import Act, Call, Given
from pytest_codexsandbox.model.policy import WORKSPACE_WRITE

SECURITY = "https://developers.openai.com/codex/agent-approvals-security#protected-paths-in-writable-roots"
HEAD = "ref: refs/heads/main\n"
LAID = "# the user's\n"
TREE = "@WORLD@/tree"  # a bare clone in .bare, and a linked worktree beside it
WORKTREE = f"{TREE}/main"
GITDIR = f"{TREE}/.bare/worktrees/main"
SUPER = "@WORLD@/super"
MODULE = f"{SUPER}/.git/modules/part"
REFUSES = (1, 101)  # how Codex ends that runs no command: an error, in some releases a panic
GIT_LINK = "@WORKSPACE@/.git"
BEHIND = "@WORKSPACE@/real-git/config"
PROTECTED = {
    "worktree-pointer": f"{WORKTREE}/.git",
    "worktree-head": f"{GITDIR}/HEAD",
    "worktree-commondir": f"{GITDIR}/commondir",
    "common-hook": f"{TREE}/.bare/hooks/post-checkout",
    "common-config": f"{TREE}/.bare/config",
    "submodule-pointer": f"{SUPER}/part/.git",
    "submodule-config": f"{MODULE}/config",
    "submodule-hook": f"{MODULE}/hooks/post-checkout",
}
CONTENT = {
    "worktree-pointer": f"gitdir: {GITDIR}\n",
    "worktree-head": HEAD,
    "worktree-commondir": "../..\n",
    "submodule-pointer": "gitdir: ../.git/modules/part\n",
}


def file(path: str, content: str = LAID) -> Given:
    return Given(kind="file", path=path, content=content)


REPOSITORIES = (
    file(f"{TREE}/.bare/HEAD", HEAD),
    Given(kind="dir", path=f"{TREE}/.bare/objects"),
    Given(kind="dir", path=f"{TREE}/.bare/refs"),
    file(f"{GITDIR}/gitdir", f"{WORKTREE}/.git\n"),
    file(f"{SUPER}/.git/HEAD", HEAD),
    file(f"{MODULE}/HEAD", HEAD),
    *(file(path, CONTENT.get(case, LAID)) for case, path in PROTECTED.items()),
)


@promise(
    "protected.git-folders-of-worktrees-and-submodules",
    kind="boundary",
    severity="critical",
    source=SECURITY,
    policies=(WORKSPACE_WRITE,),
    acts={
        case: Act(verb="write", path=path, params={"data": "let through"}, given=REPOSITORIES)
        for case, path in PROTECTED.items()
    },
    call=Call(cwd=WORKTREE, roots=(TREE, SUPER, f"{SUPER}/part"), at_every_door=True),
    cases=tuple(PROTECTED),
)
def test_the_git_folders_of_worktrees_and_submodules_stay_read_only(trial: Trial) -> None:
    """Hooks and settings that git obeys stay read-only where a `.git` file leads to them.

    The working folder is a linked worktree. Its git folder, and the common one with hooks and config, lie in a granted
    root under other names. A submodule's git folder lies in its superproject's .git.

    Source: Codex documentation, protected paths: the resolved Git directory of a pointer file is protected as well.
    Control: the same writes without a sandbox, each seen from outside.
    """
    trial.refused(trial.case)


@promise(
    "protected.bare-repository-is-writable",
    kind="claim",
    severity="low",
    source=SECURITY,
    policies=(WORKSPACE_WRITE,),
    acts={
        case: Act(
            verb="write",
            path=f"@WORKSPACE@/bare.git/{path}",
            params={"data": "written"},
            given=(file("@WORKSPACE@/bare.git/HEAD", HEAD), file(f"@WORKSPACE@/bare.git/{path}")),
        )
        for case, path in {"hook": "hooks/post-receive", "config": "config"}.items()
    },
)
def test_a_bare_repository_in_the_workspace_can_be_written(trial: Trial) -> None:
    """A bare repository in the workspace is not protected: a command can change its hooks and its config.

    Source: Codex documentation, protected paths in writable roots: they are named as <writable_root>/.git and so on.
    Control: the same writes without a sandbox, each seen from outside.
    """
    trial.allowed("hook")
    trial.allowed("config")


def kept_or_refused(trial: Trial) -> None:
    """Adds a row that holds if the act was refused, or if Codex ran no command and named the link as the reason.

    It is about the last start. The first one, in the same world without the link, must have run its command.
    """
    last = trial.copies() - 1
    plain, seen = trial.observed(0), trial.observed(last)
    row, control = trial.row("through", last), trial.control_row("through", last)
    named = bool(seen.world) and str(seen.world and seen.world.fill(GIT_LINK)) in seen.stderr
    refuses = not seen.ready and seen.ended == "exit" and seen.code in REFUSES and named
    refused = seen.ready and not row.ok and row.errno in WRITE_REFUSALS
    before, after = (trial.look(BEHIND, act="through", before=one, copy=last) for one in (True, False))
    links = [look(GIT_LINK, act="through", before=True, copy=last) for look in (trial.look, trial.control_look)]
    kept = after.same_as(before) and after.kind == "file"
    outside = trial.control_look(BEHIND, act="through", copy=last)
    trial.says(
        "through",
        claim="the write is refused, or Codex runs no command and names the link",
        saw=("Codex ran no command and named the link" if refuses else row.errno or row.detail or "the write worked")
        + f"; the file was {'kept' if kept else 'changed'}",
        held=(refused or refuses) and kept,
        control=f"{control.errno or 'the write worked'}; the file has {outside.size} bytes; without the link Codex "
        + ("ran the command" if plain.ready else "ran no command"),
        control_held=control.ok
        and "let through" in outside.text
        and plain.ready
        and all(link.kind == "symlink" for link in links),
        reason=row.errno,
        direction="leak" if not kept else "wrong-claim" if seen.ready else "denied",
        copy=last,
    )


@promise(
    "protected.git-folder-behind-a-link",
    kind="boundary",
    severity="high",
    needs="sandbox-or-refusal",
    source="https://github.com/openai/codex/blob/main/codex-rs/linux-sandbox/src/bwrap.rs",
    policies=(WORKSPACE_WRITE,),
    acts={
        "through": Act(
            verb="write",
            path=f"{GIT_LINK}/config",
            params={"data": "let through"},
            given=(
                file("@WORKSPACE@/real-git/HEAD", HEAD),
                file(BEHIND),
                Given(kind="symlink", path=GIT_LINK, content="real-git"),
            ),
            looks=(BEHIND, GIT_LINK),
        ),
    },
    call=Call(starts=2, later=(GIT_LINK,)),
)
def test_a_git_folder_behind_a_link_is_not_changed(trial: Trial) -> None:
    """A command cannot change what a .git that is a link leads to. Codex may also run no command there, and name the
    link.

    Releases from 0.115 on run none: what is mounted over a link does not hold, since the command could change the link.
    Codex is called twice in one world: first without the link, where it must run the command.

    Source: codex-linux-sandbox refuses to enforce a read-only path that crosses a writable link.
    Control: without a sandbox the same write changes the file behind the link.
    """
    kept_or_refused(trial)
