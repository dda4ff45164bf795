"""Door fakes: which subjects are run through every door, and the subjects that are run through one door alone."""

from typing import Final

from pytest_codexsandbox.selftest.fake import mutant

# Run through every door: all ways of giving no honest answer, and a few mutants of each topic.
AT_EVERY_DOOR: Final = (
    "good",
    "allow-all",
    "exit-0",
    "exit-1",
    "silent",
    "hang",
    "garbage",
    "wrong-nonce",
    "prose",
    "crash",
    "liar",
    "late",
    "half",
    "twice",
    "deny-all",
    "read-only-writes",
    "full-access-denies",
    "lets-outside",
    "ignores-roots",
    "ignores-exclude-slash-tmp",
    "forgets-git",
    "believes-the-project",
    "believes-the-projects-network",
    "sqlite-outside",
    "leaks-inet",
    "network-on-denies",
    "fails-always",
    "shows-everybody",
    "flag-missing",
)
# Run through one door alone. Confined at every other one: one door's start says nothing about another's.
AT_ONE_DOOR: Final = {
    door: (
        mutant(
            f"open-{door}",
            f"has no sandbox at the door {door}",
            "start.sandbox-is-on",
            "filesystem.outside-create-refused",
            flaws=(f"unconfined:{door}",),
        ),
        *more,
    )
    for door, more in (
        ("app-server", ()),
        (
            "exec",
            (
                mutant(
                    "open-snapshot",
                    "starts the user's shell without a sandbox, beside the command",
                    "process.shell-of-codex-is-confined",
                    flaws=("snapshot:open",),
                ),
            ),
        ),
    )
}
