"""The door `exec`: `codex exec`, one turn in which the model asks for one command.

The model is our program on loopback (guest/scripted_model.py), so that the turn is the same each time. Everything else
is Codex's own path to a command: its tool, its approval policy (never), its sandbox.
"""

from collections.abc import Sequence
from typing import Final

from pytest_codexsandbox.doors.support.call_settings import toml_text
from pytest_codexsandbox.doors.support.codex_door import CodexDoor
from pytest_codexsandbox.doors.support.codex_options import exec_words
from pytest_codexsandbox.doors.support.driver_command import as_words, driver_command, policy_of, quiet
from pytest_codexsandbox.model.act import Call
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.policy import Policy
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.protocols import Subject

DRIVER: Final = "exec_turn_driver.py"
# Measured with 0.40 to 0.169: Codex names the turn, and gives tools a quiet pager and a locale, from 0.99 on.
OF_CODEX: Final = (
    "CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS",
    "CODEX_CI",
    "CODEX_SESSION_ID",
    "CODEX_THREAD_ID",
    "CODEX_TOOL_CALL_ID",
    "CODEX_VERSION",
)
FOR_TOOLS: Final = ("COLORTERM", "GH_PAGER", "GIT_PAGER", "LC_ALL", "LC_CTYPE", "NO_COLOR", "PAGER")
OF_SHELLS: Final = ("OLDPWD", "SHLVL", "_")  # the user's shell starts the command; zsh sets the first


class ExecDoor(CodexDoor):
    name = "exec"
    reads_config_files = True
    takes_shell_snapshots = True
    adds_variables = (*OF_CODEX, *FOR_TOOLS, *OF_SHELLS)
    default_for = ("options",)

    def command(self, subject: Subject, policy: Policy, world: World, inner: Sequence[str], call: Call) -> Command:
        trust = trust_in(world.fill(call.cwd), level="untrusted" if call.untrusted else "trusted")
        words = as_words((*policy_of(policy, world, call), trust))
        return self.asked(subject, words, world, inner, call, why=policy.id)

    def asked(
        self, subject: Subject, words: Sequence[str], world: World, inner: Sequence[str], call: Call, *, why: str
    ) -> Command:
        """Returns the command with these words after the subcommand. Skips Codex's check for a repository."""
        codex = (
            subject.binary,
            "exec",
            "--json",
            "--skip-git-repo-check",
            *quiet(call),
            *exec_words(words, door=self.name),
        )
        return driver_command(DRIVER, codex, inner, world, call, door=self.name, why=f"codex exec under {why}")


def trust_in(folder: str, *, level: str) -> str:
    """Returns a setting that trusts this folder, or that says that it is not trusted.

    Without it, `codex exec` writes that trust into config.toml, if it may write in the folder. A change by Codex itself
    does not show what a command could change.
    """
    return f'projects={{{toml_text(folder)}={{trust_level="{level}"}}}}'
