"""Files in .git, .codex and .agents that programs run or obey outside the sandbox: each way to change one."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, Call, Given
from pytest_codexsandbox.model.policy import ROOTS, WORKSPACE_WRITE

SECURITY = "https://developers.openai.com/codex/agent-approvals-security#protected-paths-in-writable-roots"
REFUSALS = ("EROFS", "EACCES", "EPERM", "EXDEV", "EBUSY")  # EXDEV: to another mount, and from one
FILES = {
    "git-hook": ".git/hooks/pre-commit",
    "git-config": ".git/config",
    "git-attributes": ".git/info/attributes",
    "git-packed-refs": ".git/packed-refs",
    "git-ref": ".git/refs/heads/main",
    "git-submodule-config": ".git/modules/part/config",
    "codex-config": ".codex/config.toml",
    "codex-rules": ".codex/rules/default.rules",
    "agents-skill": ".agents/skills/build/SKILL.md",
}
HOOKS = ".git/hooks"
LAID = "# the user's\n"
WAYS = ("append", "chmod", "create", "hard-link-in", "make-folder", "rename-away", "rename-over", "unlink")


def overwriting(folder: str) -> dict[str, Act]:
    return {
        case: Act(
            verb="write",
            path=f"{folder}/{path}",
            params={"data": "let through"},
            given=(Given(kind="file", path=f"{folder}/{path}", content=LAID),),
        )
        for case, path in FILES.items()
    }


def ways(folder: str) -> dict[str, Act]:
    """Returns one act for each way. Each has a hook of its own, so that no control disturbs another one."""

    def hook(name: str) -> str:
        return f"{folder}/{HOOKS}/{name}"

    def laid(path: str) -> Given:
        return Given(kind="file", path=path, content=LAID)

    own = f"{folder}/@NAME@"
    return {
        "append": Act(verb="append", path=hook("a"), params={"data": "let through"}, given=(laid(hook("a")),)),
        "chmod": Act(verb="chmod", path=hook("b"), params={"mode": "0755"}, given=(laid(hook("b")),)),
        "create": Act(verb="create", path=hook("@NAME@"), params={"data": "new"}, given=(laid(hook("kept")),)),
        "hard-link-in": Act(
            verb="link", path=own, params={"to": hook("@NAME@")}, given=(laid(own), laid(hook("kept")))
        ),
        "make-folder": Act(verb="mkdir", path=hook("@NAME@"), given=(laid(hook("kept")),)),
        "rename-away": Act(verb="rename", path=hook("c"), params={"to": own}, given=(laid(hook("c")),)),
        "rename-over": Act(verb="rename", path=own, params={"to": hook("d")}, given=(laid(own), laid(hook("d")))),
        "unlink": Act(verb="unlink", path=hook("e"), given=(laid(hook("e")),)),
    }


@promise(
    "protected.tool-files-in-workspace",
    kind="boundary",
    severity="critical",
    source=SECURITY,
    policies=(WORKSPACE_WRITE,),
    acts=overwriting("@WORKSPACE@"),
    cases=tuple(FILES),
)
def test_the_files_that_tools_obey_stay_in_the_workspace(trial: Trial) -> None:
    """Git's hooks, settings and references, Codex's settings and rules, and skills cannot be overwritten.

    They lie up to three folders deep, and programs outside the sandbox run or obey them.

    Source: Codex documentation, protected paths in writable roots.
    Control: the same write without a sandbox, seen from outside.
    """
    trial.refused(trial.case)


@promise(
    "protected.tool-files-in-root",
    kind="boundary",
    severity="critical",
    source=SECURITY,
    policies=(ROOTS,),
    acts=overwriting("@ROOT0@"),
    call=Call(),  # the battery of this policy asks what can be made in a root that has none of these folders
    cases=tuple(FILES),
)
def test_the_files_that_tools_obey_stay_in_a_granted_root(trial: Trial) -> None:
    """The same files cannot be overwritten in an extra writable root.

    Source: Codex documentation, protected paths in writable roots.
    Control: the same write without a sandbox, seen from outside.
    """
    trial.refused(trial.case)


@promise(
    "protected.no-way-to-change-a-hook",
    kind="boundary",
    severity="critical",
    source=SECURITY,
    policies=(WORKSPACE_WRITE,),
    acts=ways("@WORKSPACE@"),
    cases=WAYS,
)
def test_no_operation_changes_a_hook_of_git(trial: Trial) -> None:
    """In .git/hooks nothing can be added, extended, deleted, renamed or linked, and no mode can be changed.

    Source: Codex documentation, protected paths in writable roots.
    Control: the same operation without a sandbox, seen from outside.
    """
    trial.refused(trial.case, errno=REFUSALS)
