"""Driven door: base class of doors whose driver talks to Codex (doors/driver_command.py)."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from pytest_codexsandbox.doors.driver_command import with_driver_error
from pytest_codexsandbox.doors.generated_config import ConfiguredDoor, Write
from pytest_codexsandbox.doors.observe import observe
from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.policy import Policy
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.protocols import Environment, Subject


class ConversingDoor(ABC):
    name = ""
    is_control = False
    needs: tuple[str, ...] = ()

    @abstractmethod
    def command(self, subject: Subject, policy: Policy, world: World, inner: Sequence[str], call: Call) -> Command: ...

    @abstractmethod
    def asked(
        self, subject: Subject, words: Sequence[str], world: World, inner: Sequence[str], call: Call, *, why: str
    ) -> Command:
        """With these words behind the subcommand."""

    @abstractmethod
    def lacks(self, able: Capabilities) -> str:
        """Why this Codex runs no command here, known beforehand; "" where nothing is known that keeps it from it."""

    def observe(
        self, environment: Environment, subject: Subject, policy: Policy, acts: Mapping[str, Act], call: Call | None
    ) -> tuple[Observation, ...]:
        return tuple(map(self.understood, observe(self, environment, subject, policy, acts, call)))

    def configured(self, write: Write) -> ConfiguredDoor:
        """The same door, at which a policy is asked for by what a generator wrote."""
        return ConfiguredDoor(self, write)

    def understood(self, observation: Observation) -> Observation:
        return with_driver_error(observation)
