"""Codex door: base class of the doors that start the real Codex."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence

from pytest_codexsandbox.doors.support.generated_config import ConfiguredDoor
from pytest_codexsandbox.doors.support.observe import observe
from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.command import Command
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
