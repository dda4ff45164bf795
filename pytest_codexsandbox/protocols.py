"""Protocols: every extension point but suites (`suite_protocols`). A new backend, door or report implements one."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, Protocol, TextIO

import msgspec

from pytest_codexsandbox.errors import CodexSandboxError, Unavailable
from pytest_codexsandbox.model.act import Act, Call, Given, PathState
from pytest_codexsandbox.model.artifact_status import ArtifactStatus
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.model.cell import EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.container import ImageSpec
from pytest_codexsandbox.model.doctor_finding import DoctorFinding
from pytest_codexsandbox.model.door_traits import DoorUse
from pytest_codexsandbox.model.generator import GeneratedConfig
from pytest_codexsandbox.model.image_status import BuiltImages, ImageListing, RemovedImage
from pytest_codexsandbox.model.ledger import ReadJournal
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


class Environment(Protocol):
    """Where Codex runs. Started once, used for many cells."""

    @property
    def spec(self) -> EnvironmentSpec: ...
    def facts(self) -> Mapping[str, Any]:
        """Kernel, distro, arch, LSMs, sysctls, uid, capabilities, … as they are inside."""

    def state(self) -> Mapping[str, Any]:
        """Returns the facts that may change during a run (`sysctls`, `bwrap_of_calls`, `etc_codex`) as they are now.
        It is called after each call of Codex, so it must be cheap; {} where it cannot look again."""

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


class Availability(msgspec.Struct, frozen=True, kw_only=True):
    """Availability: what a backend can start here, as far as it is known before anything starts."""

    why_not: Callable[[EnvironmentSpec], str] = lambda spec: ""  # "" where no obstacle is known
    asked: tuple[PlanQuery, ...] = ()
    fault: CodexSandboxError | None = None  # the backend can start none of them: no engine answers
    silent: dict[str, CodexSandboxError] = {}  # engines that do not answer, by address, beside others that do


class Leftover(Protocol):
    """Something that a killed run left behind."""

    @property
    def what(self) -> str: ...
    @property
    def state(self) -> Literal["lives", "dead", "unknown"]:
        """Says whether the process that made it still runs; only what is `dead` is removed."""

    @property
    def by_hand(self) -> str:
        """The command line that removes it."""

    def remove(self) -> tuple[str, ...]:
        """Removes it. Returns what could not be removed, and why."""


class ImageStore(Protocol):
    """The images of a backend that makes its own, for `codexsandbox images`."""

    def rows(self, images: Sequence[ImageSpec], cache: Path) -> ImageListing: ...
    def build(
        self,
        images: Sequence[ImageSpec],
        cache: Path,
        *,
        variants: Sequence[str],
        named: bool,
        pull_only: bool,
        update: bool,
        jobs: int,
        stream: TextIO,
    ) -> BuiltImages:
        """Makes the images and shows progress on `stream`. `variants`: `distro` and `none`; `named`: the user asked for
        these, so that none is left out because an earlier try failed; `jobs` 0: as many at once as is sensible."""

    def prune(
        self, shipped: Sequence[ImageSpec], cache: Path, *, names: Sequence[str], all_of_them: bool, dry_run: bool
    ) -> tuple[RemovedImage, ...]:
        """Removes the images that no recipe of `shipped` asks for; with `names` those of these distributions."""


class Backend(Protocol):
    """A kind of environment. Subclass it: `open` and `audit` must be written, everything else has a default.

    An entry point of `codexsandbox.backends` names the class. It is made without arguments, once for each worker and
    once for each command; except for `open` and `audit`, methods run in the process that the user started.
    """

    @abstractmethod
    def open(
        self,
        spec: EnvironmentSpec,
        folder: Path,
        *,
        cache: Path | None = None,
        brought: Sequence[ProvidedProgram] = (),
        say: Notify = silent,
    ) -> AbstractContextManager[Environment]:
        """Starts it; everything it writes lies below `folder`, and what later runs use too lies below `cache`.
        `brought`: the programs that it must have. Leaving ends everything that was started. `say` is called in the
        thread that asks for something, when that thread has to wait for another one."""

    @abstractmethod
    def audit(self) -> tuple[str, ...]:
        """Returns what is left of environments that have ended: leaks, in words."""

    def here(self) -> EnvironmentSpec | None:
        """Returns the environment that `environments = ["NAME"]` of a matrix file means, NAME being the entry point;
        None where a matrix file has no such name. Every process of a run asks, and must get the same answer."""
        return None

    def foresee(self, specs: Sequence[EnvironmentSpec], cache: Path, hosts: Sequence[str] = ()) -> Availability:
        """Says which of these environments cannot be started here, and why, without starting anything. `hosts`: the
        engines that the user named. Remote services may be asked: all at once, within a few seconds."""
        return Availability()

    def stock(
        self, specs: Iterable[EnvironmentSpec], cache: Path, asked: Sequence[PlanQuery] = ()
    ) -> tuple[ArtifactStatus, ...]:
        """Returns what these environments are made of, and what of it is there. `asked`: the answers of `foresee`."""
        return ()

    def prepare(self, specs: Sequence[EnvironmentSpec], cache: Path, stream: TextIO) -> None:
        """Makes or downloads what these environments are made of, before the first test, with progress on `stream`.
        A failure is no error here: `open` reports it for each environment that lacks something."""
        return

    def about(self) -> Mapping[str, str]:
        """Returns name and version of the program that starts the environments, and its `kernel`. HarnessError where
        that program does not answer."""
        return {}

    def doctor(
        self, specs: Sequence[EnvironmentSpec], cache: Path, starts: Callable[[EnvironmentSpec], DoctorFinding] | None
    ) -> Iterable[DoctorFinding]:
        """Yields what this machine has and lacks for the backend. `specs`: environments to choose from; `starts` tries
        a sandbox in one of them, None where there is no Codex."""
        return ()

    def leftovers(self, hosts: Sequence[str], notify: Notify) -> Iterable[Leftover]:
        """Yields what killed runs left outside the folders of their runs. `hosts`: engines that the user named, beside
        the usual one."""
        return ()

    def image_store(self) -> ImageStore | None:
        """Returns the images of this backend; None where it makes none."""
        return None


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
    @property
    def source(self) -> str:
        """`installed`, `pypi`, `npm` or `path`; "" for a fake."""

    @property
    def disagreement(self) -> str:
        """Tells how the probe's answer differs from what its release can do; "" if it does not."""

    def inside(self, environment: Environment) -> "Subject":
        """The same, as it is called there."""


WriteConfig = Callable[[World, Policy], GeneratedConfig]
"""What a generator writes when it is asked for a policy in a world."""


class Door(Protocol):
    """Leads a command to Codex. Subclass it: `name`, `command` and `observe` must be written, everything else has a
    default.

    An entry point of `codexsandbox.doors` names the class. It is made without arguments, once for each worker and once
    for each command. Whatever is special about a door is one of its attributes: no caller knows a door by its name.
    """

    name: str
    """The name of the entry point."""

    is_control: bool = False
    """True: it leads around the sandbox. A matrix file cannot name it."""

    asks_own_calls: bool = False
    """True: promises with a call of their own (stdin, words, folder, end, copies) are asked here too; False: only those
    whose acts ride in the battery."""

    reads_config_files: bool = False
    """True: the whole of a configuration file counts here, its `sandbox_mode` included."""

    probes_full_access: bool = False
    """True: a release must have the capability `full-access` to be asked for `danger-full-access`; False: each can."""

    default_for: tuple[DoorUse, ...] = ()
    """What this door is used for where the user names none. For each use one installed door declares it."""

    needs: tuple[str, ...] = ()
    """Fields of Capabilities that must be true. Where one is not, the promises are not applicable here; a build that
    has lost one, and is newer, is red."""

    @abstractmethod
    def command(self, subject: Subject, policy: Policy, world: World, inner: Sequence[str], call: Call) -> Command:
        """Returns the command that runs `inner` under `policy` through this door. Pure."""

    @abstractmethod
    def observe(
        self, environment: Environment, subject: Subject, policy: Policy, acts: Mapping[str, Act], call: Call | None
    ) -> tuple[Observation, ...]:
        """Performs the acts in one fresh world. Returns one observation for each of `call.copies`."""

    def lacks(self, able: Capabilities) -> str:
        """Says why this Codex runs no command here, as far as it is known beforehand; "" where it may."""
        return ""

    def lay(self, environment: Environment, policy: Policy, world: World) -> tuple[Given, ...]:
        """Puts files into the world before a call. Returns them, filled, so that they do not count as litter."""
        return ()

    def refuses(self, words: Sequence[str]) -> str:
        """Says why these words, with which a generator starts Codex, cannot be passed on here; "" where they can."""
        return ""

    def configured(self, write: WriteConfig) -> "Door":
        """Returns the same door, where a policy is asked for by what a generator writes, and by nothing else."""
        raise Unavailable(f"the door {self.name} cannot be asked by what a generator writes")


class Reporter(Protocol):
    """A report format. An entry point of the group `codexsandbox.reporters` names its class, which is called without
    arguments."""

    @property
    def name(self) -> str:
        """The name of the entry point: what a user types after `--codex-report` and `report --format`."""

    @property
    def file_name(self) -> str:
        """The file or the folder that `render` writes, such as `index.html` or `pages`."""

    def render(self, journal: ReadJournal, out_dir: Path, *, run_dir: Path) -> None:
        """Writes `file_name` into the empty folder `out_dir`, and nothing beside it.

        `run_dir` is the folder of the run as a reader types it: records name their repro scripts relative to it.
        The journal names no private path. Texts in it come from programs under test: escape them.
        """
