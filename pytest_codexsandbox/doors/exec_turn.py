"""The door `exec`: `codex exec`, one turn in which the model asks for one command.

The model is a program of ours on loopback (guest/scripted_model.py), so that the turn is the same each time; all else
is Codex' own way to a command: its tool, its approval policy (never), its sandbox.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from pytest_codexsandbox.doors.configured import ConfiguredDoor, Write
from pytest_codexsandbox.doors.driven import QUIET, as_words, driven, policy_of, understood
from pytest_codexsandbox.doors.observe import observe
from pytest_codexsandbox.doors.sandbox_cli import toml_text
from pytest_codexsandbox.doors.settings import exec_words
from pytest_codexsandbox.model.act import Act, Call
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.policy import Policy
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.ports import Environment, Subject

DRIVER: Final = "exec_turn_driver.py"


class ExecDoor:
    name = "exec"
    is_control = False
    needs: tuple[str, ...] = ()

    def command(self, subject: Subject, policy: Policy, world: World, inner: Sequence[str], call: Call) -> Command:
        words = as_words((*policy_of(policy, world, call), trust_in(world.fill(call.cwd))))
        return self.asked(subject, words, world, inner, call, why=policy.id)

    def asked(
        self, subject: Subject, words: Sequence[str], world: World, inner: Sequence[str], call: Call, *, why: str
    ) -> Command:
        """With these words behind the subcommand. A folder without a repository is no matter of the sandbox."""
        codex = (subject.binary, "exec", "--json", "--skip-git-repo-check", *as_words(QUIET), *exec_words(words))
        return driven(DRIVER, codex, inner, world, call, why=f"codex exec under {why}")

    def observe(
        self, environment: Environment, subject: Subject, policy: Policy, acts: Mapping[str, Act], call: Call | None
    ) -> tuple[Observation, ...]:
        return tuple(map(self.understood, observe(self, environment, subject, policy, acts, call)))

    def configured(self, write: Write) -> ConfiguredDoor:
        """The same door, at which a policy is asked for by what a generator wrote."""
        return ConfiguredDoor(self, write)

    def understood(self, observation: Observation) -> Observation:
        return understood(observation)

    def lacks(self, able: Capabilities) -> str:
        """Why this Codex runs no command here, known beforehand; every release has the command."""
        return ""


def trust_in(folder: str) -> str:
    """`codex exec` that may write in a folder writes into config.toml that this folder is trusted, unless it is: what
    Codex itself changes there is not what a command could change."""
    return f'projects={{{toml_text(folder)}={{trust_level="trusted"}}}}'
