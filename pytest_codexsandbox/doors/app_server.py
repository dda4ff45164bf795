"""The door `app-server`: `command/exec` of `codex app-server`, as editors and agent platforms start it.

Its workspace is the folder in which the server was started. The server reads the configuration files when it starts, so
each call has a server of its own.
"""

from collections.abc import Sequence
from typing import Final

from packaging.version import Version

from pytest_codexsandbox.doors.support.codex_door import CodexDoor
from pytest_codexsandbox.doors.support.codex_options import no_settings, settings_of
from pytest_codexsandbox.doors.support.driver_command import as_words, driver_command, policy_of, quiet
from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.model.act import Call
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.policy import Policy
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.protocols import Subject

DRIVER: Final = "app_server_driver.py"
SUBCOMMAND: Final = "app-server"
FIRST: Final = Version("0.105.0")  # measured: 0.65, 0.99, 0.101 and 0.104 refuse every command, 0.105 runs them
REFUSED: Final = "`codex-linux-sandbox was required but not provided`"
UNKNOWN: Final = "0.0.0"  # of a local build


class AppServerDoor(CodexDoor):
    name = "app-server"
    needs = ("app-server",)
    reads_config_files = True
    adds_variables = ("CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS", "SHLVL")  # the second: of a /bin/sh that is bash
    default_for = ("files",)

    def command(self, subject: Subject, policy: Policy, world: World, inner: Sequence[str], call: Call) -> Command:
        return self.asked(subject, as_words(policy_of(policy, world, call)), world, inner, call, why=policy.id)

    def asked(
        self, subject: Subject, words: Sequence[str], world: World, inner: Sequence[str], call: Call, *, why: str
    ) -> Command:
        """Returns the command with these words after the subcommand."""
        missing = self.lacks(subject.capabilities)
        if missing:
            raise Unavailable(missing)
        words = settings_of(words, door=self.name)
        codex = (subject.binary, SUBCOMMAND, *quiet(call), *words)
        return driver_command(DRIVER, codex, inner, world, call, door=self.name, why=f"codex app-server under {why}")

    def lacks(self, able: Capabilities) -> str:
        if not able.app_server:
            return f"Codex {able.version} has no app-server"
        if able.version != UNKNOWN and Version(able.version) < FIRST:
            return f"the app-server of Codex {able.version} runs no command: {REFUSED} (up to 0.104)"
        return ""

    def refuses(self, words: Sequence[str]) -> str:
        return no_settings(words, door=self.name)
