"""Codex door: base class of the doors that start the real Codex, with our overrides or with a generator's files."""

from abc import abstractmethod
from collections.abc import Sequence

import msgspec

from pytest_codexsandbox.doors.support.observe import observe
from pytest_codexsandbox.model.act import Call
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.policy import Policy
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.protocols import Door, Subject, WriteConfig


class CodexDoor(Door):
    observe = observe

    @abstractmethod
    def asked(
        self, subject: Subject, words: Sequence[str], world: World, inner: Sequence[str], call: Call, *, why: str
    ) -> Command:
        """Returns the command for these words of a generator, in place of a policy's own overrides."""

    def configured(self, write: WriteConfig) -> Door:
        return ConfiguredDoor(self, write)


class ConfiguredDoor(Door):
    """A door whose policy comes from the files of a generator. It has the name of the door that it wraps. `write` is
    called once for each world.

    Each call starts a process of its own after the files are written. So it enforces what the files say, and not what
    an older server remembers.
    """

    observe = observe

    def __init__(self, door: CodexDoor, write: WriteConfig) -> None:
        self.name, self.needs, self.adds_variables = door.name, door.needs, door.adds_variables
        self._door, self._write = door, write

    def command(self, subject: Subject, policy: Policy, world: World, inner: Sequence[str], call: Call) -> Command:
        written = self._write(world, policy)
        made = self._door.asked(subject, written.argv, world, inner, call, why=policy.id)
        env = {name: value for name, value in (made.env | written.env).items() if name not in written.unset}
        files = {world.fill(path): file for path, file in written.files.items()}
        return msgspec.structs.replace(made, env=env, files=files)

    def lacks(self, able: Capabilities) -> str:
        return self._door.lacks(able)
