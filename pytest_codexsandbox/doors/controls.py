"""The controls: the same call with no sandbox around it, and with a bubblewrap that Codex did not start."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from pytest_codexsandbox.doors.support.call_settings import SEARCH_PATH, surroundings
from pytest_codexsandbox.doors.support.observe import observe
from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.policy import Policy
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.protocols import Door, Environment, Subject

NONE: Final = "no bubblewrap: none on PATH, and none next to this Codex"


class UnconfinedDoor(Door):
    """Control without a sandbox: the command itself, with the variables and folder that it would have in the
    sandbox.
    """

    name = "unconfined"
    is_control = True
    default_for = ("control",)
    observe = observe

    def command(self, subject: Subject, policy: Policy, world: World, inner: Sequence[str], call: Call) -> Command:
        return _command(tuple(inner), world, call, why="the control without a sandbox")


class BareBwrapDoor(Door):
    """Control with the bubblewrap that this Codex would use, with about the same flags, and without Codex.

    A failure here too is bubblewrap's or the machine's; a failure only through Codex is Codex's. The bubblewrap is
    looked up in the environment of the call; without an environment, on this machine.
    """

    name = "bare-bwrap"
    is_control = True

    def __init__(self, *, search_path: str = SEARCH_PATH) -> None:
        self._search_path = search_path

    def command(self, subject: Subject, policy: Policy, world: World, inner: Sequence[str], call: Call) -> Command:
        if not policy.sandboxed:
            raise Unavailable("danger-full-access starts no bubblewrap")
        flags = (
            "--new-session",
            "--die-with-parent",
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            *(word for root in writable(policy, world, call) for word in ("--bind-try", root, root)),
            "--unshare-user",
            "--unshare-pid",
            *(() if policy.network else ("--unshare-net",)),
            "--proc",
            "/proc",
        )
        return _command(
            (self._bwrap(subject), *flags, "--", *inner), world, call, why=f"bubblewrap alone under {policy.id}"
        )

    def observe(
        self, environment: Environment, subject: Subject, policy: Policy, acts: Mapping[str, Act], call: Call | None
    ) -> tuple[Observation, ...]:
        return observe(_Inside(environment), environment, subject, policy, acts, call)

    def _bwrap(self, subject: Subject) -> str:
        return bwrap_of(subject.binary, search_path=self._search_path)


class _Inside(BareBwrapDoor):
    """Uses the bubblewrap of an environment."""

    def __init__(self, environment: Environment) -> None:
        super().__init__()
        self._environment = environment

    def _bwrap(self, subject: Subject) -> str:
        found = self._environment.facts().get("bwrap") or {}
        return str(found.get("path", "")) or self._brought(subject.binary)

    def _brought(self, binary: str) -> str:
        """Returns the first bubblewrap of Codex that can be started."""
        for program in beside(binary):
            ended = self._environment.run(Command(argv=(program, "--version"), cwd="/", env={}, why="Codex' own bwrap"))
            if ended.ended == "exit":
                return program
        raise Unavailable(NONE, where=self._environment.spec.id, next_step="install bubblewrap")


def _command(argv: tuple[str, ...], world: World, call: Call, *, why: str) -> Command:
    return Command(
        argv=argv,
        cwd=world.fill(call.cwd),
        env=surroundings(world, call),
        stdin=call.stdin,
        timeout=call.timeout,
        interrupt_after=call.interrupt_after,
        launch=call.launch,
        why=why,
    )


def writable(policy: Policy, world: World, call: Call) -> Iterator[str]:
    """Yields the folders that workspace-write opens, as Codex documents them."""
    if not policy.writes_workspace:
        return
    yield world.fill(call.cwd)
    for root in (*policy.roots, *call.roots):
        yield world.fill(root)
    if not (policy.exclude_slash_tmp or "slash-tmp" in call.excludes):
        yield "/tmp"
    if not (policy.exclude_tmpdir or "tmpdir" in call.excludes):
        yield world.values["TMPDIR"]


def bwrap_of(binary: str, *, search_path: str) -> str:
    """Returns the bubblewrap that Codex prefers on this machine: the one on PATH, else the one beside Codex."""
    folders = [folder for folder in search_path.split(":") if folder]
    for program in (*(f"{folder}/bwrap" for folder in folders), *beside(str(Path(binary).resolve()))):
        if Path(program).is_file() and os.access(program, os.X_OK):
            return program
    raise Unavailable(NONE, next_step="install bubblewrap")


def beside(binary: str) -> tuple[str, ...]:
    """Returns where a Codex release keeps its own bubblewrap.

    It is in the folder above the program's folder; in the oldest layout, in the program's folder.
    """
    program = Path(binary)
    return tuple(f"{folder}/codex-resources/bwrap" for folder in (program.parent.parent, program.parent))
