"""Git folders that are not simply `.git`: linked worktrees, submodules, bare repositories, a link in place of .git."""

from pytest_codexsandbox.api import Trial, promise
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
