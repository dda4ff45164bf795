"""Fake worlds: the mutants that go wrong about the world of a call: names, links, variables, repositories, memory.

Their flaws are in guest/world_flaws.py and guest/restraint.py.
"""

from typing import Final

from pytest_codexsandbox.model.policy import READ_ONLY, WORKSPACE_WRITE
from pytest_codexsandbox.selftest.fake import mutant

ODD: Final = "filesystem.odd-names-are-kept-apart"
WORLDS: Final = (
    mutant(
        "odd-folder-unconfined",
        "has no sandbox where the working folder has an odd name",
        ODD,
        flaws=("odd:unconfined",),
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
        flaws=("memory:trusts",),
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
        flaws=("variables:obeyed",),
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
