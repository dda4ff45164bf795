"""Generators in an environment, such as a container. The environment confines them, and they call its programs.

The folders are inside, next to the environment's worlds. A Python function of this machine cannot run there.
"""

from collections.abc import Sequence
from typing import Final

from pytest_codexsandbox.errors import InputError, Unavailable
from pytest_codexsandbox.generators import required_paths
from pytest_codexsandbox.generators.confinement import UNCONFINED
from pytest_codexsandbox.generators.environment_dirs import EnvironmentDirs
from pytest_codexsandbox.generators.required_paths import Invocation
from pytest_codexsandbox.generators.run_init_client import Job
from pytest_codexsandbox.generators.runner import GeneratorCall, Runner, stub
from pytest_codexsandbox.model.command import CommandResult
from pytest_codexsandbox.model.generator import GeneratorRun
from pytest_codexsandbox.protocols import Environment

_ALSO: Final = "use a program of a container (cmd:…), or leave out --codex-generator-in"


class EnvironmentRunner(Runner):
    """Runs generators in an environment. `folders` are the private folders there."""

    def __init__(self, environment: Environment, folders: EnvironmentDirs) -> None:
        if environment.spec.backend == "local":
            raise InputError("the local environment does not confine generators", next_step=_ALSO)
        self.stage, self.confinement = folders, UNCONFINED
        self._folders, self._environment = folders, environment

    @property
    def by(self) -> str:
        return f"the environment {self._environment.spec.id}"

    def close(self) -> None:
        """Does nothing: every process of a command ends with the command's scope."""

    def _before(self) -> None:
        """Does nothing: what is written elsewhere in the environment stays in the environment."""

    def _made(self, asked: GeneratorCall) -> Invocation:
        words = asked.generator.spec.words
        if not words or asked.prefix:
            raise Unavailable(f"{asked.generator.spec} cannot be run in an environment", why=_WHY, next_step=_ALSO)
        program = asked.codex if words[0] == required_paths.CODEX and asked.codex else words[0]
        return Invocation(argv=(program, *words[1:]))

    def _stubs_of(self, *, works: bool) -> str:
        return f"{self.stage.own}/stub"

    def _stub(self, words: tuple[str, ...], folder: str) -> None:
        python, guest = self._environment.guest
        self.stage.lay_own("stub/codex", stub(python, guest, self.stage.own, words).encode(), 0o755)

    def _performed(self, prepared: Sequence[tuple[Job, Invocation]]) -> tuple[CommandResult, ...]:
        self._folders.settle()
        return self._environment.run_together([job.command for job, _ in prepared])

    def _need_room(self, outcomes: Sequence[GeneratorRun]) -> None:
        """Does nothing: the disk space inside the environment is not measured."""

    def _strayed(self) -> tuple[str, ...]:
        return ()


_WHY: Final = "a Python function of this machine is not a program in the container"
