"""Every port on one page. Whoever adds a backend, a door or a report implements one of these, nothing else."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import msgspec

from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.model.act import Act, Call, Given, PathState
from pytest_codexsandbox.model.artifact_status import ArtifactStatus
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.model.cell import EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.generator import GeneratedConfig
from pytest_codexsandbox.model.observation import Observation, OutsideView
from pytest_codexsandbox.model.plan_queries import PlanQuery
from pytest_codexsandbox.model.policy import Policy
from pytest_codexsandbox.model.repro_shell import ReproShell
from pytest_codexsandbox.model.world import World

Notify = Callable[[str], None]
"""Takes a line for whoever waits at the terminal."""


def silent(line: str) -> None:
    """Nobody waits at a terminal."""


class SpawnedProcess(Protocol):
    """A live process of an environment."""

    @property
    def pid(self) -> int: ...
    def write(self, data: bytes) -> None: ...
    def close_stdin(self) -> None: ...
    def read(self, limit: int, timeout: float) -> bytes:
        """At least one byte of stdout; b"" at its end. TimeoutError that says what was awaited."""

    def read_error(self, limit: int, timeout: float) -> bytes: ...
    def signal(self, number: int) -> None: ...
    def resize(self, rows: int, columns: int) -> None: ...
    def wait(self, timeout: float) -> CommandResult: ...
    def close(self) -> None:
        """End it with everything that it started."""


class Stream(Protocol):
    def send(self, data: bytes) -> None: ...
    def receive(self, limit: int, timeout: float) -> bytes: ...
    def close(self) -> None: ...


@runtime_checkable
class Watched(Protocol):
    """An environment that can be looked at again, cheaply, while it is used."""

    def state(self) -> Mapping[str, Any]:
        """`sysctls`, `bwrap_of_calls`, `etc_codex`: as facts() has them, as they are now."""


class Environment(Protocol):
    """Where Codex runs. Started once, used for many cells."""

    @property
    def spec(self) -> EnvironmentSpec: ...
    def facts(self) -> Mapping[str, Any]:
        """Kernel, distro, arch, LSMs, sysctls, uid, capabilities, … as they are inside."""

    @property
    def folder(self) -> str:
        """Inside: where everything of ours lies that was not brought along."""

    @property
    def guest(self) -> tuple[str, str]:
        """The Python that runs our own programs in it, and the folder where they lie, as they are called inside."""

    @property
    def entrance(self) -> ReproShell | None:
        """How somebody with a shell enters an equal one; None where that shell is in it already."""

    def bring(self, binary: str) -> str:
        """Where a program that was brought along is found inside."""

    def run(self, command: Command) -> CommandResult: ...
    def run_together(self, commands: Sequence[Command]) -> tuple[CommandResult, ...]:
        """All at once; each ends by its own limit."""

    def spawn(self, command: Command, *, pty: bool = False) -> SpawnedProcess: ...
    def dial(self, address: str, timeout: float = 5.0) -> Stream:
        """`tcp:PORT` on the environment's loopback, `unix:/path`, `abstract:name`."""

    def put(self, path: str, content: bytes, mode: int = 0o644) -> None: ...
    def get(self, path: str, limit: int) -> bytes: ...
    def world(self) -> World:
        """A fresh home, workspace, outside, root and sibling, and this environment's TMPDIR and rigs."""

    def lay(self, world: World, given: Sequence[Given]) -> None: ...
    def look(self, world: World, paths: Sequence[str]) -> dict[str, PathState]: ...
    def litter(self, world: World, known: Sequence[str]) -> tuple[str, ...]:
        """Names in the world and in the shared folders that were not there when it was made, less `known`."""

    def arrivals(self, token: str) -> tuple[str, ...]:
        """What reached a rig outside the sandbox with this token in it: `http`, `dns-udp`, `dns-tcp`, `unix`, …"""

    def ready(self, world: World, given: Sequence[Given], paths: Sequence[str]) -> dict[str, PathState]:
        """`lay`, then `look`, in one turn."""

    def survey(
        self,
        world: World,
        paths: Sequence[str],
        *,
        tokens: Sequence[str],
        planted: Sequence[Given],
        known: Sequence[str],
    ) -> OutsideView:
        """`look`, `arrivals` of each token, `lay` what is planted where that can be laid, `litter`, in one turn."""

    def clear(self, world: World) -> None: ...


class ProvidedProgram(Protocol):
    """A program of this machine that will be called in an environment."""

    @property
    def binary(self) -> str: ...
    @property
    def digest(self) -> str: ...


class Backend(Protocol):
    def open(
        self,
        spec: EnvironmentSpec,
        folder: Path,
        *,
        cache: Path | None = None,
        brought: Sequence[ProvidedProgram] = (),
        say: Notify = silent,
    ) -> AbstractContextManager[Environment]:
        """Start it; everything it writes lies below `folder`, what later runs use too below `cache`.
        `brought`: the programs that it must have. Leaving ends all that it started. `say` is called, in the thread
        that asks for something, where that has to wait for somebody else."""

    def audit(self) -> tuple[str, ...]:
        """What of all that it has opened is still there although it was left: leaks of ours, in words."""


class Availability(msgspec.Struct, frozen=True, kw_only=True):
    why_not: Callable[[EnvironmentSpec], str]  # "" where nothing is known that keeps it from being had
    asked: tuple[PlanQuery, ...] = ()
    fault: CodexSandboxError | None = None  # the backend can start none of them: no engine answers
    silent: dict[str, CodexSandboxError] = {}  # engines that do not answer, by address, beside others that do


class AvailabilityCheck(Protocol):
    """What a backend may say besides, while a run is planned, starting nothing. These are called on its class, by the
    process that the user started."""

    @staticmethod
    def foresee(specs: Sequence[EnvironmentSpec], cache: Path, hosts: Sequence[str] = ()) -> Availability:
        """Which of these environments cannot be had here, and why. `hosts`: the engines that were named. Whoever would
        give something that is not there yet may be asked whether he is there: all at once, in few seconds."""

    @staticmethod
    def stock(
        specs: Iterable[EnvironmentSpec], cache: Path, asked: Sequence[PlanQuery] = ()
    ) -> tuple[ArtifactStatus, ...]:
        """What they are made of, and what of it is there. `asked`: what `foresee` was told."""


class Subject(Protocol):
    """A Codex binary that is really there."""

    @property
    def spec(self) -> SubjectSpec: ...
    @property
    def binary(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def capabilities(self) -> Capabilities: ...
    def inside(self, environment: Environment) -> "Subject":
        """The same, as it is called there."""


class Door(Protocol):
    """How a command reaches Codex."""

    name: str
    is_control: bool

    def command(self, subject: Subject, policy: Policy, world: World, inner: Sequence[str], call: Call) -> Command:
        """Pure: the command that runs `inner` under `policy` through this door."""

    def observe(
        self, environment: Environment, subject: Subject, policy: Policy, acts: Mapping[str, Act], call: Call | None
    ) -> tuple[Observation, ...]:
        """Perform the acts in one fresh world (one observation for each of `call.copies`)."""


WriteConfig = Callable[[World, Policy], GeneratedConfig]
"""What a generator writes when it is asked for a policy in a world."""


class ConfiguredDoor(Door, Protocol):
    """A door at which a generator's words count."""

    def configured(self, write: WriteConfig) -> Door:
        """The same, where a policy is asked for by what a generator writes, and by nothing else."""


@runtime_checkable
class DoorRequirements(Protocol):
    """What a door may say besides: which Codexes it does not lead to. There its promises are not applicable."""

    needs: tuple[str, ...]
    """Fields of Capabilities that must be true; a build that has lost one, and is newer, is red."""

    def lacks(self, able: Capabilities) -> str:
        """Why else this Codex runs no command here, known beforehand; "" where nothing is known against it."""


@runtime_checkable
class DoorSetup(Protocol):
    """What a door may do besides, before each of its calls."""

    def lay(self, environment: Environment, policy: Policy, world: World) -> tuple[Given, ...]:
        """Put files into the world; what was laid, filled: it is nobody's litter."""


class Reporter(Protocol):
    def __call__(self, journal: Any, folder: Path | None) -> str:
        """The text of the report of a read journal (model.ledger.Journal)."""
