"""The door `app-server`: `command/exec` of `codex app-server`, as editors and agent platforms start it.

Its workspace is the folder in which the server was started. What a file says is read when it starts, so that each call
has a server of its own.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from pytest_codexsandbox.doors.driven import QUIET, as_words, driven, policy_of, understood
from pytest_codexsandbox.doors.observe import observe
from pytest_codexsandbox.errors import NotHad
from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.policy import Policy
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.ports import Environment, Subject

DRIVER: Final = "app_server_driver.py"


class AppServerDoor:
    name = "app-server"
    is_control = False

    def command(self, subject: Subject, policy: Policy, world: World, inner: Sequence[str], call: Call) -> Command:
        return self.asked(subject, as_words(policy_of(policy, world, call)), world, inner, call, why=policy.id)

    def asked(
        self, subject: Subject, words: Sequence[str], world: World, inner: Sequence[str], call: Call, *, why: str
    ) -> Command:
        """With these words behind the subcommand."""
        missing = self.lacks(subject.capabilities)
        if missing:
            raise NotHad(missing)
        codex = (subject.binary, "app-server", *as_words(QUIET), *words)
        return driven(DRIVER, codex, inner, world, call, why=f"codex app-server under {why}")

    def observe(
        self, environment: Environment, subject: Subject, policy: Policy, acts: Mapping[str, Act], call: Call | None
    ) -> tuple[Observation, ...]:
        return tuple(map(understood, observe(self, environment, subject, policy, acts, call)))

    def lacks(self, able: Capabilities) -> str:
        """Why this Codex runs no command here, known beforehand; "" where nothing is known that keeps it from it."""
        return "" if able.app_server else f"Codex {able.version} has no app-server"
