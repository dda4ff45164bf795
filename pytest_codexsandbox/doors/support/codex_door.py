"""Codex door: base class of the doors that start the real Codex, with our overrides or with a generator's files."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence

import msgspec

from pytest_codexsandbox.doors.support.observe import observe
from pytest_codexsandbox.model.act import Act, Call, Given
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.generator import GeneratedConfig
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.policy import Policy
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.protocols import Door, Environment, Subject, WriteConfig


class CodexDoor(Door):
    @abstractmethod
    def asked(
        self, subject: Subject, words: Sequence[str], world: World, inner: Sequence[str], call: Call, *, why: str
    ) -> Command:
        """Returns the command for these words of a generator, in place of a policy's own overrides."""

    def observe(
        self, environment: Environment, subject: Subject, policy: Policy, acts: Mapping[str, Act], call: Call | None
    ) -> tuple[Observation, ...]:
        return tuple(map(self.understood, observe(self, environment, subject, policy, acts, call)))

    def configured(self, write: WriteConfig) -> Door:
        return ConfiguredDoor(self, write)

    def understood(self, observation: Observation) -> Observation:
        """Returns the observation as this door reads it."""
        return observation


class ConfiguredDoor(Door):
    """A door whose policy comes from the files of a generator. It has the name of the door that it wraps. `write` is
    called once for each world.

    Each call starts a process of its own after the files are written. So it enforces what the files say, and not what
    an older server remembers.
    """

    def __init__(self, door: CodexDoor, write: WriteConfig) -> None:
        self.name, self.needs = door.name, door.needs
        self._door, self._write = door, write
        self._written: dict[str, GeneratedConfig] = {}

    def command(self, subject: Subject, policy: Policy, world: World, inner: Sequence[str], call: Call) -> Command:
        written = self._of(world, policy)
        made = self._door.asked(subject, written.argv, world, inner, call, why=policy.id)
        env = {name: value for name, value in (made.env | written.env).items() if name not in written.unset}
        return msgspec.structs.replace(made, env=env)

    def lay(self, environment: Environment, policy: Policy, world: World) -> tuple[Given, ...]:
        """Puts the files where Codex finds them."""
        files = {world.fill(path): file for path, file in self._of(world, policy).files.items()}
        for path, file in files.items():
            environment.put(path, file.content, file.mode)
        self._written.pop(world.id, None)
        return tuple(
            Given(kind="file", path=path, content=file.content.decode("utf-8", "replace"), mode=file.mode)
            for path, file in files.items()
        )

    def observe(
        self, environment: Environment, subject: Subject, policy: Policy, acts: Mapping[str, Act], call: Call | None
    ) -> tuple[Observation, ...]:
        return tuple(map(self._door.understood, observe(self, environment, subject, policy, acts, call)))

    def lacks(self, able: Capabilities) -> str:
        return self._door.lacks(able)

    def _of(self, world: World, policy: Policy) -> GeneratedConfig:
        if world.id not in self._written:
            self._written[world.id] = self._write(world, policy)
        return self._written[world.id]
