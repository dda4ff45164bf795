"""Fake worlds: the mutants that go wrong about the world of a call: names, links, variables, repositories, memory.

Their flaws are in guest/world_flaws.py and guest/restraint.py.
"""

from typing import Final

from pytest_codexsandbox.model.policy import READ_ONLY, WORKSPACE_WRITE
from pytest_codexsandbox.selftest.fake import mutant

ODD: Final = "filesystem.odd-names-are-kept-apart"
# What a Codex that forgets a part of its sandbox in one situation lets through, beside the write outside.
OPENED: Final = (
    ("opens-tcp", "leaves IPv4 open", "socket:INET"),
    ("opens-unix", "lets unix sockets be reached", "unix:connect"),
    ("forgets-git", "forgets to protect .git", "forgets:.git"),
)
SITUATIONS: Final = (
    ("odd-folder", "odd", "where the working folder has an odd name", ODD),
    ("second-call", "second", "from the second call in one CODEX_HOME on", "process.second-call-confined"),
    ("variables", "variables", "where a variable says so", "process.hostile-variables-widen-nothing"),
    ("null-stdin", "stdin-null", "where stdin is /dev/null", "process.null-stdin-is-confined"),
    ("closed-stdin", "stdin-closed", "where stdin is closed", "process.closed-stdin-is-confined"),
    ("terminal", "stdin-terminal", "where stdin is a terminal", "process.terminal-out-of-reach"),
)
WORLDS: Final = (
    *(
        mutant(f"{name}-{leak}", f"{wrong} {where}", promise, flaws=(f"when:{situation}:{flaw}",))
        for name, situation, where, promise in SITUATIONS
        for leak, wrong, flaw in OPENED
    ),
    mutant(
        "odd-folder-unconfined",
        "has no sandbox where the working folder has an odd name",
        ODD,
        flaws=("when:odd:unconfined",),
        under=(READ_ONLY, WORKSPACE_WRITE),
    ),
    mutant(
        "odd-root-widened", "grants the parent of a root with a space in its name", ODD, flaws=("odd:root-widened",)
    ),
    mutant(
        "linked-folder-widened",
        "grants the parent of a working folder that is reached through a link",
        ODD,
        flaws=("linked:widened",),
    ),
    mutant("odd-folder-lost", "starts in / where the working folder has an odd name", ODD, flaws=("odd:lost",)),
    mutant(
        "second-call-unconfined",
        "has no sandbox from the second call in one CODEX_HOME on",
        "process.second-call-confined",
        flaws=("when:second:unconfined",),
    ),
    mutant(
        "tmp-git-unguarded",
        "lets .git, .codex and .agents be made in the temporary folders",
        "protected.missing-in-tmpdir",
        "protected.missing-in-slash-tmp",
        flaws=("forgets:missing-tmp", "forgets:existing-tmp"),
    ),
    mutant("aws-unguarded", "forgets to protect .aws", "protected.aws-folder", flaws=("forgets:.aws",)),
    mutant(
        "forgets-common-dir",
        "protects a worktree's git folder and not the common one",
        "protected.git-folders-of-worktrees-and-submodules",
        flaws=("forgets:common-dir",),
    ),
    mutant(
        "forgets-git-link",
        "protects a .git that is a link and not what it leads to",
        "protected.git-folder-behind-a-link",
        flaws=("forgets:git-link",),
    ),
    mutant(
        "dies-of-git-link",
        "runs no command where .git is a link, and does not say why",
        "protected.git-folder-behind-a-link",
        flaws=("git-link:dies",),
    ),
    mutant(
        "protects-bare-repositories",
        "protects bare repositories of the workspace",
        "protected.bare-repository-is-writable",
        flaws=("metadata:bare",),
    ),
    mutant(
        "runs-hostile-git",
        "calls git in the workspace without a sandbox",
        "protected.hostile-repository-runs-nothing",
        flaws=("git:called",),
    ),
    mutant(
        "obeys-variables",
        "has no sandbox where a variable of the caller says so",
        "process.hostile-variables-widen-nothing",
        flaws=("when:variables:unconfined",),
    ),
    mutant(
        "starts-no-program",
        "lets the command start no other program",
        "process.hostile-variables-widen-nothing",
        "protected.hostile-repository-runs-nothing",
        flaws=("programs:denied",),
    ),
    mutant(
        "loses-secret-names",
        "drops variables whose names look like secrets",
        "process.secrets-of-the-caller",
        flaws=("environment:secrets-lost",),
    ),
    mutant(
        "adds-a-secret",
        "gives the command Codex's own token as a variable",
        "process.secrets-of-the-caller",
        "process.no-variable-added",
        flaws=("environment:token",),
    ),
    mutant(
        "adds-a-pager",
        "gives the command the pager and the shell's variables of another door",
        "process.no-variable-added",
        flaws=("environment:pager",),
    ),
    mutant(
        "cuts-stderr",
        "passes on the first 64 KiB of the error output only",
        "process.error-output-is-intact",
        flaws=("stderr:cut",),
    ),
    mutant(
        "replaces-bytes",
        "replaces bytes of arguments that are not UTF-8",
        "process.arguments-of-any-bytes",
        flaws=("words:utf-8",),
    ),
)
