"""Protocols: interfaces of every extension point but suites (`suite_protocols`). A new backend, door or report
implements one."""

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
"""Takes a line for the user who waits at the terminal."""


def silent(line: str) -> None:
    """Discards the line: no user waits at a terminal."""


class SpawnedProcess(Protocol):
    """A live process of an environment."""

    @property
    def pid(self) -> int: ...
    def write(self, data: bytes) -> None: ...
    def close_stdin(self) -> None: ...
    def read(self, limit: int, timeout: float) -> bytes:
        """Returns at least one byte of stdout; b"" at the end. TimeoutError names what the caller waited for."""

    def read_error(self, limit: int, timeout: float) -> bytes: ...
    def signal(self, number: int) -> None: ...
    def resize(self, rows: int, columns: int) -> None: ...
    def wait(self, timeout: float) -> CommandResult: ...
    def close(self) -> None:
        """Ends the process and every process that it started."""


class Stream(Protocol):
    def send(self, data: bytes) -> None: ...
    def receive(self, limit: int, timeout: float) -> bytes: ...
    def close(self) -> None: ...


class Environment(Protocol):
    """Environment in which Codex runs. Started once, used for many cells."""

    @property
    def spec(self) -> EnvironmentSpec: ...
    def facts(self) -> Mapping[str, Any]:
        """Returns the kernel, distro, arch, LSMs, sysctls, uid, capabilities and more, as seen inside."""

    def state(self) -> Mapping[str, Any]:
        """Returns the facts that may change during a run (`sysctls`, `bwrap_of_calls`, `etc_codex`) as they are now.
        The harness calls it after each call of Codex, so it must be cheap. {} where the environment cannot read them
        again."""

    @property
    def folder(self) -> str:
        """Path inside of the folder with all files of the harness, except the programs passed as `brought`."""

    @property
    def guest(self) -> tuple[str, str]:
        """Path inside of the Python that runs the harness's own programs, and of the folder that holds them."""

    @property
    def entrance(self) -> ReproShell | None:
        """Returns how a user with a shell enters an equal environment; None where that shell is already inside."""

    def bring(self, binary: str) -> str:
        """Returns the path inside of a program that was passed as `brought`."""

    def run(self, command: Command) -> CommandResult: ...
    def run_together(self, commands: Sequence[Command]) -> tuple[CommandResult, ...]:
        """Runs all commands at once; each ends at its own time limit."""

    def spawn(self, command: Command, *, pty: bool = False) -> SpawnedProcess: ...
    def dial(self, address: str, timeout: float = 5.0) -> Stream:
        """Connects to `tcp:PORT` on the environment's loopback, `unix:/path` or `abstract:name`."""

    def put(self, path: str, content: bytes, mode: int = 0o644) -> None: ...
    def get(self, path: str, limit: int) -> bytes: ...
    def world(self) -> World:
        """Creates a fresh home, workspace, outside, root and sibling. The world also names this environment's TMPDIR
        and listeners."""

    def lay(self, world: World, given: Sequence[Given]) -> None: ...
    def look(self, world: World, paths: Sequence[str]) -> dict[str, PathState]: ...
    def litter(self, world: World, known: Sequence[str]) -> tuple[str, ...]:
        """Returns names in the world and in the shared folders that appeared after the world was made, except
        `known`."""

    def arrivals(self, token: str) -> tuple[str, ...]:
        """Returns the listeners outside the sandbox that received this token: `http`, `dns-udp`, `dns-tcp`, `unix`,
        …"""

    def ready(self, world: World, given: Sequence[Given], paths: Sequence[str]) -> dict[str, PathState]:
        """Runs `lay`, then `look`, in one exchange with the environment."""

    def survey(
        self,
        world: World,
        paths: Sequence[str],
        *,
        tokens: Sequence[str],
        planted: Sequence[Given],
        known: Sequence[str],
    ) -> OutsideView:
        """Runs `look`, `arrivals` for each token, `lay` for `planted` where possible, and `litter`, in one exchange."""

    def clear(self, world: World) -> None: ...


class ProvidedProgram(Protocol):
    """Program of this machine that is called inside an environment."""

    @property
    def binary(self) -> str: ...
    @property
    def digest(self) -> str: ...


class Availability(msgspec.Struct, frozen=True, kw_only=True):
    """Availability: which environments a backend can start here, as known before anything starts."""

    why_not: Callable[[EnvironmentSpec], str] = lambda spec: ""  # "" where no obstacle is known
    asked: tuple[PlanQuery, ...] = ()
    fault: CodexSandboxError | None = None  # the backend can start no environment: no engine answers
    silent: dict[str, CodexSandboxError] = {}  # engines that do not answer, by address, while others do


class Leftover(Protocol):
    """Leftover: a container, process or file that a killed run did not remove."""

    @property
    def what(self) -> str: ...
    @property
    def state(self) -> Literal["lives", "dead", "unknown"]:
        """Returns whether the process that made the leftover still runs. Only a `dead` leftover is removed."""

    @property
    def by_hand(self) -> str:
        """Returns the command line that removes the leftover."""

    def remove(self) -> tuple[str, ...]:
        """Removes the leftover. Returns what could not be removed, and why."""


class ImageStore(Protocol):
    """Images of a backend that builds its own, for `codexsandbox images`."""

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
        """Makes the images and shows progress on `stream`. `variants`: `distro` and `none`. `named`: the user named
        these images, so that none is skipped because an earlier try failed. `jobs` 0: as many at once as is
        sensible."""

    def prune(
        self, shipped: Sequence[ImageSpec], cache: Path, *, names: Sequence[str], all_of_them: bool, dry_run: bool
    ) -> tuple[RemovedImage, ...]:
        """Removes the images that no recipe of `shipped` needs; with `names`, those of these distributions."""


class Backend(Protocol):
    """Kind of environment. Subclass it: `open` and `audit` must be written, all other methods have a default.

    An entry point of `codexsandbox.backends` names the class. The harness creates it without arguments, once for each
    worker and once for each command. Except for `open` and `audit`, methods run in the process that the user started.
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
        """Starts the environment. All its files are below `folder`; files that later runs use too are below `cache`.
        `brought`: programs that must be available inside. Leaving the context ends everything that was started. `say`
        is called in the requesting thread when that thread has to wait for another one."""

    @abstractmethod
    def audit(self) -> tuple[str, ...]:
        """Describes what environments that have ended left behind (leaks)."""

    def here(self) -> EnvironmentSpec | None:
        """Returns the environment that `environments = ["NAME"]` of a matrix file means, NAME being the entry point;
        None where a matrix file has no such name. Every process of a run calls this, and must get the same answer."""
        return None

    def foresee(self, specs: Sequence[EnvironmentSpec], cache: Path, hosts: Sequence[str] = ()) -> Availability:
        """Reports which of these environments cannot be started here, and why, without starting anything. `hosts`: the
        engines that the user named. It may query remote services: all at once, within a few seconds."""
        return Availability()

    def stock(
        self, specs: Iterable[EnvironmentSpec], cache: Path, asked: Sequence[PlanQuery] = ()
    ) -> tuple[ArtifactStatus, ...]:
        """Returns the artifacts that these environments are made of, and which of them are present. `asked`: the
        answers of `foresee`."""
        return ()

    def prepare(self, specs: Sequence[EnvironmentSpec], cache: Path, stream: TextIO) -> None:
        """Makes or downloads the artifacts of these environments before the first test, with progress on `stream`. A
        failure is no error here: `open` reports it for each environment that lacks an artifact."""
        return

    def about(self) -> Mapping[str, str]:
        """Returns name and version of the program that starts the environments, and its `kernel`. HarnessError where
        that program does not answer."""
        return {}

    def doctor(
        self, specs: Sequence[EnvironmentSpec], cache: Path, starts: Callable[[EnvironmentSpec], DoctorFinding] | None
    ) -> Iterable[DoctorFinding]:
        """Yields what this machine has and lacks for the backend. `specs`: environments to choose from. `starts` tries
        a sandbox in one of them; None where there is no Codex."""
        return ()

    def leftovers(self, hosts: Sequence[str], notify: Notify) -> Iterable[Leftover]:
        """Yields what killed runs left outside their run folders. `hosts`: engines that the user named, beside the
        usual one."""
        return ()

    def image_store(self) -> ImageStore | None:
        """Returns the images of this backend; None where it builds none."""
        return None


class Subject(Protocol):
    """Codex binary that is present on this machine."""

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
        """Returns `installed`, `pypi`, `npm` or `path`; "" for a fake."""

    @property
    def disagreement(self) -> str:
        """Describes how the probe's answer differs from the known capabilities of the release; "" if it does not."""

    def inside(self, environment: Environment) -> "Subject":
        """Returns the same subject with its path inside the environment."""


WriteConfig = Callable[[World, Policy], GeneratedConfig]
"""Returns the configuration that a generator writes for a policy in a world."""


class Door(Protocol):
    """Leads a command to Codex. Subclass it: `name`, `command` and `observe` must be written, all other members have a
    default.

    An entry point of `codexsandbox.doors` names the class. The harness creates it without arguments, once for each
    worker and once for each command. Each special trait of a door is an attribute: no caller knows a door by its name.
    """

    name: str
    """The name of the entry point."""

    is_control: bool = False
    """True: the door leads around the sandbox. A matrix file cannot name it."""

    asks_own_calls: bool = False
    """True: promises with a call of their own (stdin, words, folder, end, copies) are also measured here, so `command`
    passes on all of `Call.launch`; False: only promises whose acts share the battery. `command` then raises Unavailable
    where it cannot pass a part on."""

    reads_config_files: bool = False
    """True: Codex obeys the whole configuration file here, including its `sandbox_mode`."""

    takes_shell_snapshots: bool = False
    """True: Codex starts the user's shell here, beside the command. `command` then lets it do so for a call with
    `shell_snapshot`, and for no other call: such a shell may be too slow, so that a call has its effects or not."""

    probes_full_access: bool = False
    """True: `danger-full-access` is only measured for a release with the capability `full-access`; False: for all."""

    adds_variables: tuple[str, ...] = ()
    """Names of variables that a command has here although its caller did not set them: those of Codex's own tools, and
    of shells on the way. CODEX_SANDBOX_NETWORK_DISABLED and PWD, which the sandbox itself sets, need not be named."""

    default_for: tuple[DoorUse, ...] = ()
    """Uses for which this door is taken where the user names none. Each use is declared by one installed door."""

    needs: tuple[str, ...] = ()
    """Fields of Capabilities that must be true. Where one is not, the promises are not applicable here. A newer build
    that has lost one is red."""

    @abstractmethod
    def command(self, subject: Subject, policy: Policy, world: World, inner: Sequence[str], call: Call) -> Command:
        """Returns the command that runs `inner` under `policy` through this door, and the files that it needs. Pure."""

    @abstractmethod
    def observe(
        self, environment: Environment, subject: Subject, policy: Policy, acts: Mapping[str, Act], call: Call | None
    ) -> tuple[Observation, ...]:
        """Performs the acts in one fresh world. Returns one observation for each of `call.copies` and `call.starts`."""

    def lacks(self, able: Capabilities) -> str:
        """Explains why this Codex runs no command here, as far as that is known beforehand; "" where it may."""
        return ""

    def refuses(self, words: Sequence[str]) -> str:
        """Explains why the arguments with which a generator starts Codex cannot be passed on here; "" where they
        can."""
        return ""

    def configured(self, write: WriteConfig) -> "Door":
        """Returns the same door, which requests a policy only by the configuration that a generator writes."""
        raise Unavailable(f"the door {self.name} cannot measure the configuration of a generator")


class Reporter(Protocol):
    """Report format. An entry point of the group `codexsandbox.reporters` names its class, which is called without
    arguments."""

    @property
    def name(self) -> str:
        """Returns the name of the entry point, which a user types after `--codex-report` and `report --format`."""

    @property
    def file_name(self) -> str:
        """Returns the file or the folder that `render` writes, such as `index.html` or `pages`."""

    def render(self, journal: ReadJournal, out_dir: Path, *, run_dir: Path) -> None:
        """Writes `file_name` into the empty folder `out_dir`, and nothing else.

        `run_dir` is the folder of the run as a reader types it: records name their repro scripts relative to it. The
        journal names no private path. Its texts come from programs under test: escape them.
        """
