"""The door `sandbox`: `codex sandbox -- COMMAND`, in the three shapes that it has had.

    0.40 … 0.64     codex [-c …] debug landlock [--full-auto] -- COMMAND
    0.65 … 0.133    codex [-c …] sandbox linux [--full-auto] -- COMMAND
    0.134 …         codex [-c …] sandbox -- COMMAND

Up to 0.125 workspace-write is asked for by `--full-auto`, later by an override of `sandbox_mode`. Overrides stand
before the subcommand, where every release reads them. Which shape a binary has is probed from it (Capabilities).
"""

from collections.abc import Iterator, Sequence
from typing import Final

from pytest_codexsandbox.doors.support.call_settings import details_of, surroundings
from pytest_codexsandbox.doors.support.codex_door import CodexDoor
from pytest_codexsandbox.doors.support.codex_options import no_settings, settings_of
from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.model.act import Call
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.policy import Policy
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.protocols import Subject

SUBCOMMAND: Final = {
    "sandbox": ("sandbox",),
    "sandbox-linux": ("sandbox", "linux"),
    "debug-landlock": ("debug", "landlock"),
}


class SandboxDoor(CodexDoor):
    name = "sandbox"
    asks_own_calls = True
    probes_full_access = True
    default_for = ("commands",)

    def command(self, subject: Subject, policy: Policy, world: World, inner: Sequence[str], call: Call) -> Command:
        able = subject.capabilities
        check_offered(able, policy)
        overrides = tuple(word for override in overrides_of(able, policy, world, call) for word in ("-c", override))
        full_auto = policy.mode == "workspace-write" and able.workspace_write == "full-auto"
        return _command(subject, overrides, ("--full-auto",) if full_auto else (), world, inner, call, why=policy.id)

    def asked(
        self, subject: Subject, words: Sequence[str], world: World, inner: Sequence[str], call: Call, *, why: str
    ) -> Command:
        """Returns the command with these settings. It ignores a file's `sandbox_mode`, as Codex documents."""
        missing = self.lacks(subject.capabilities)
        if missing:
            raise Unavailable(missing)
        words = settings_of(words, door=self.name)
        return _command(subject, words, (), world, inner, call, why=why)

    def refuses(self, words: Sequence[str]) -> str:
        return no_settings(words, door=self.name)

    def lacks(self, able: Capabilities) -> str:
        return (
            ""
            if able.sandbox in SUBCOMMAND
            else f"Codex {able.version} has no command that runs a program in the sandbox"
        )


def _command(
    subject: Subject,
    words: Sequence[str],
    flags: Sequence[str],
    world: World,
    inner: Sequence[str],
    call: Call,
    *,
    why: str,
) -> Command:
    return Command(
        argv=(subject.binary, *words, *SUBCOMMAND[subject.capabilities.sandbox], *flags, "--", *inner),
        cwd=world.fill(call.cwd),
        env=surroundings(world, call),
        stdin=call.stdin,
        timeout=call.timeout,
        interrupt_after=call.interrupt_after,
        launch=call.launch,
        why=f"codex sandbox under {why}",
    )


def check_offered(able: Capabilities, policy: Policy) -> None:
    missing = SandboxDoor().lacks(able)
    if missing:
        raise Unavailable(missing)
    if policy.mode == "danger-full-access" and not able.full_access:
        raise Unavailable(f"Codex {able.version} has no danger-full-access in `codex sandbox`")


def overrides_of(able: Capabilities, policy: Policy, world: World, call: Call) -> Iterator[str]:
    """Returns the values of `-c`. Read-only is every release's default, so it needs none."""
    if policy.mode == "danger-full-access":
        yield 'sandbox_mode="danger-full-access"'
    if policy.mode != "workspace-write":
        return
    if able.workspace_write == "config":
        yield 'sandbox_mode="workspace-write"'
    yield from details_of(policy, world, call)
