"""Container backend: a container as an environment. The agent is its first process.

The agent dies with the runner, and every process in the container dies with the agent.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TextIO

from pytest_codexsandbox.environments.agent_client import AgentClient
from pytest_codexsandbox.environments.container import (
    codex_files,
    config_verification,
    docker_command,
    doctor,
    engine_requirements,
    host_config,
    image_users,
    labels,
    networks,
    planned_availability,
    podman,
    portable_python,
)
from pytest_codexsandbox.environments.container.attached_stream import Attached
from pytest_codexsandbox.environments.container.bwrap_layer import BwrapLayer
from pytest_codexsandbox.environments.container.cleanup_watcher import CleanupWatchers
from pytest_codexsandbox.environments.container.engine import Engine, HostConfig, default_host
from pytest_codexsandbox.environments.container.environment import ContainerEnvironment
from pytest_codexsandbox.environments.container.image_store import ContainerImageStore
from pytest_codexsandbox.environments.container.image_transfer import ship
from pytest_codexsandbox.environments.container.images import Images
from pytest_codexsandbox.environments.container.mounts import Mount, MountPlanner, VisibilityCache, of_subject
from pytest_codexsandbox.environments.container.plan_artifacts import stock
from pytest_codexsandbox.environments.container.provision.image_preparation import prepare
from pytest_codexsandbox.environments.container.sweep import EngineLeftover, clear_dead, find, leftovers
from pytest_codexsandbox.errors import CodexSandboxError, HarnessError, NotResponding
from pytest_codexsandbox.guest.worlds import new_word
from pytest_codexsandbox.model.artifact_status import ArtifactStatus
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.container import ContainerSpec
from pytest_codexsandbox.model.doctor_finding import DoctorFinding
from pytest_codexsandbox.model.plan_queries import PlanQuery
from pytest_codexsandbox.model.repro_shell import ReproShell
from pytest_codexsandbox.protocols import Availability, Backend, Notify, ProvidedProgram, silent
from pytest_codexsandbox.registry import cache_folder

_ARGV: Final = (portable_python.PYTHON, "-I", "-S", f"{portable_python.GUEST}/agent.py")
# For every Codex, whatever its image sets.
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ENDING: Final = 5.0
_GOING: Final = 3.0  # for what an engine is removing to be gone
_BACK: Final = 20.0  # for an engine that was there to be there again
_AGAIN: Final = 5  # for one that hung to be there again
_HOSTNAME: Final = "machine"
_open: set[str] = set()  # the words of open environments, of every backend in this process
_UNSAID: Final = "unix:///var/run/docker.sock"  # the docker command finds it by itself


class ContainerBackend(Backend):
    """Backend that opens containers. `host`: the engine's address; "" is the one that the docker command would use."""

    def __init__(self, *, host: str = "") -> None:
        self._host = host
        self._watchers = CleanupWatchers()
        self._hosts: set[str] = set()  # engines that were asked for anything
        self._seen = VisibilityCache()
        self._cleared: set[str] = set()  # engines in which nothing of killed runs is left
        self._silent: set[str] = set()  # engines that hung when they were asked last

    def foresee(self, specs: Sequence[EnvironmentSpec], cache: Path, hosts: Sequence[str] = ()) -> Availability:
        return planned_availability.foresee(specs, cache, hosts)

    def stock(
        self, specs: Iterable[EnvironmentSpec], cache: Path, asked: Sequence[PlanQuery] = ()
    ) -> tuple[ArtifactStatus, ...]:
        return stock(specs, cache, asked)

    def prepare(self, specs: Sequence[EnvironmentSpec], cache: Path, stream: TextIO) -> None:
        """Pulls or builds the images."""
        prepare([spec.container for spec in specs if spec.container is not None], cache, stream)

    def about(self) -> Mapping[str, str]:
        return doctor.about(self._host)

    def doctor(
        self, specs: Sequence[EnvironmentSpec], cache: Path, starts: Callable[[EnvironmentSpec], DoctorFinding] | None
    ) -> Iterator[DoctorFinding]:
        return doctor.findings(specs, cache, starts)

    def leftovers(self, hosts: Sequence[str], notify: Notify) -> Iterator[EngineLeftover]:
        return leftovers(hosts, notify)

    def image_store(self) -> ContainerImageStore:
        return ContainerImageStore()

    def audit(self) -> tuple[str, ...]:
        """Returns everything of this process that no open environment uses.

        That includes helpers, and parts of an environment that could not be opened.
        """
        found: list[str] = []
        for host in sorted(self._hosts):
            try:
                engine = self._asked(host)
            except HarnessError as problem:
                found.append(f"leftovers at {host} are unknown: {problem.why} (codexsandbox sweep)")
                continue
            found += _left(engine)
            engine.close()
        return tuple(found)

    @contextmanager
    def open(
        self,
        spec: EnvironmentSpec,
        folder: Path,
        *,
        cache: Path | None = None,
        brought: Sequence[ProvidedProgram] = (),
        say: Notify = silent,
    ) -> Iterator[ContainerEnvironment]:
        asked = spec.container
        if asked is None:
            raise HarnessError("this environment is not a container", where=spec.id)
        cache = cache or cache_folder()
        with ExitStack() as stack:
            engine = self._engine(spec.engine_host or self._host, say)
            stack.callback(engine.close)
            stack.enter_context(self._watchers.over(engine.host))
            self._clear(engine, say)
            engine_requirements.refuse(engine, asked)
            if engine.podman:
                podman.refuse(asked, gives=engine.gives, where=engine.host)
            given = _image(engine, asked, cache)
            image = image_users.image_for(engine, given, asked.user, cache)
            supplies, places = _supplies(brought, cache)
            supplier = MountPlanner(engine, cache, self._seen)
            mounts = supplier.mounts(supplies, image)
            container = _Container(engine, spec, asked, image, BwrapLayer(engine, asked, cache), given=given)
            _open.add(container.word)
            stack.callback(_open.discard, container.word)
            network = networks.NONE
            if asked.profile.network == "own":
                python = [mount for mount in mounts if mount["Target"] == portable_python.INSIDE]
                network = stack.enter_context(networks.own(engine, container.word, image, python))
            stack.callback(container.remove)
            config = host_config.host_config(asked, mounts, network=network.mode)
            if engine.podman:
                config = podman.as_podman_config(config, asked)
            filters = partial(podman.with_files, folder=cache / "filters", near=lambda: supplier.near(image))
            yield stack.enter_context(container.started(config, places, network, filters=filters))

    def _clear(self, engine: Engine, say: Notify) -> None:
        """Removes, once for each engine, what a run left that was killed together with its watcher."""
        if engine.host in self._cleared:
            return
        self._cleared.add(engine.host)
        with suppress(CodexSandboxError):
            for what in clear_dead(engine):
                say(f"removed what a killed run left behind: {what}")

    def _engine(self, host: str, say: Notify) -> Engine:
        """Connects to the engine. Waits for an engine that has answered before: it may be restarting."""
        limit = time.monotonic() + (_BACK if (host or default_host()) in self._hosts else 0)
        waits = False
        while True:
            try:
                engine = self._asked(host or default_host())
            except HarnessError as problem:
                if time.monotonic() > limit:
                    raise
                self._seen.forget(host or default_host())
                if not waits:
                    say(f"{problem.what}: waiting for it, up to {_BACK:.0f} s")
                waits = True
                time.sleep(0.2)
                continue
            self._hosts.add(engine.host)
            return engine

    def _asked(self, host: str) -> Engine:
        """Connects to an engine, briefly if it hung before: each environment in that engine would wait anew."""
        try:
            engine = Engine(host, contact=_AGAIN if host in self._silent else None)
        except NotResponding:
            self._silent.add(host)
            raise
        self._silent.discard(host)
        return engine


def _left(engine: Engine) -> list[str]:
    """Returns what remains on the engine. Waits a moment, because an engine still lists what it is about to remove."""
    limit = time.monotonic() + _GOING
    while True:
        found = [left.what for left in find(engine) if left.owner.is_me and left.owner.word not in _open]
        if not found or time.monotonic() > limit:
            return found
        time.sleep(0.1)


def _image(engine: Engine, asked: ContainerSpec, cache: Path) -> str:
    """Makes the image on the usual engine and sends it to this one; without a usual engine, makes it here."""
    if engine.host == default_host():
        return Images(engine, cache).provide(asked)
    try:
        home = Engine()
    except HarnessError:
        return Images(engine, cache).provide(asked)
    try:
        image = Images(home, cache).provide(asked)
        ship(image, home=home, there=engine, cache=cache)
        return image
    finally:
        home.close()


def _supplies(brought: Sequence[ProvidedProgram], cache: Path) -> tuple[tuple[Mount, ...], dict[str, str]]:
    python = portable_python.portable(cache)
    found = {
        portable_python.INSIDE: Mount(
            folder=str(python), inside=portable_python.INSIDE, digest=python.name, sample="complete"
        )
    }
    places: dict[str, str] = {}
    for one in brought:
        if codex_files.is_still(one.binary, one.digest, cache):
            supply, place = of_subject(one.binary, one.digest, cache)
            found[supply.inside], places[one.binary] = supply, place
        else:
            places[one.binary] = ""
    return tuple(found.values()), places


class _Container:
    """A container, from its creation to its removal."""

    def __init__(
        self, engine: Engine, spec: EnvironmentSpec, asked: ContainerSpec, image: str, bwrap: BwrapLayer, *, given: str
    ) -> None:
        self._given = given  # before it was made to fit the user
        self._engine, self._spec, self._asked, self._image, self._bwrap = engine, spec, asked, image, bwrap
        self.word = new_word()
        self._began = time.time()
        self._id, self._name = "", f"codexsandbox-{self.word}"
        self._asked_for = False

    @contextmanager
    def started(
        self,
        config: HostConfig,
        places: dict[str, str],
        network: networks.Network,
        *,
        filters: Callable[..., HostConfig],
    ) -> Iterator[ContainerEnvironment]:
        """Creates and starts the container. `filters`: for Podman, puts the text of a filter into a file."""
        image = self._bwrap.image(self._image)
        self._entrance = self._way_in(image, config)
        if self._engine.podman:
            config = filters(config, where=self._engine.host)
        self._asked_for = True
        self._id = self._engine.create(
            image,
            _ARGV,
            config,
            name=self._name,
            Labels=labels.labels("environment", self.word),
            OpenStdin=True,
            StdinOnce=True,
            AttachStdin=True,
            AttachStdout=True,
            AttachStderr=True,
            Tty=False,
            WorkingDir="/",
            Env=["LC_ALL=C.UTF-8", f"PATH={_PATH}"],
            Entrypoint=[],
            Hostname=_HOSTNAME,
            Healthcheck={"Test": ["NONE"]},  # of a user's own image: nothing runs inside but what the agent starts
            **network.words,
            **host_config.identity(self._asked),
        )
        self._bwrap.lay(self._id)
        attached = self._attach()
        try:
            self._engine.start(self._id)
            yield from self._serving(attached, places, network)
        finally:
            attached.close()

    def _way_in(self, image: str, config: Mapping[str, Any]) -> ReproShell:
        return docker_command.entrance(
            image,
            config,
            user=str(host_config.identity(self._asked)["User"]),
            hostname=_HOSTNAME,
            archive=self._bwrap.archive(),
            host="" if self._engine.host == _UNSAID else self._engine.host,
            made_by="" if self._asked.image.reference else f"codexsandbox images build {self._asked.image.name}",
        )

    def _attach(self) -> Attached:
        words = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        with self._engine.asked("attach to the container"):
            return Attached(self._engine.api.attach_socket(self._id, words))

    def _serving(
        self, attached: Attached, places: dict[str, str], network: networks.Network
    ) -> Iterator[ContainerEnvironment]:
        client = AgentClient(
            attached.writing,
            attached.reading,
            name=self._spec.id,
            explain=lambda: self._explained(attached),
            silence=self._paused,
        )
        try:
            body, _ = client.ask(
                "hello",
                watch_parent=False,
                folder=host_config.WORLDS,
                word=self.word,
                own_tmp="already",
                turn_timeout=60.0,
                resolver=self._spec.resolver == config_verification.OURS,
            )
            config_verification.check(self._spec, body["facts"], nested=self._nested)
            facts = {
                **body["facts"],
                **network.facts,
                "image": self._image,
                **self._of_users_own(),
                **self._bwrap.facts(body["facts"], self._id),
            }
            yield ContainerEnvironment(self._spec, client, facts, places, self._entrance, network.neighbour)
        finally:
            client.farewell(_ENDING)
            client.close()
            client.join(_ENDING)

    def _of_users_own(self) -> dict[str, Any]:
        """Returns the image that a user's name led to, so that the controller sees whether all workers found the same
        one.
        """
        name = self._asked.image.reference
        return {"image_given": {"name": name, "id": self._given, "engine": self._engine.host}} if name else {}

    def _nested(self) -> bool:
        """Checks whether the engine runs in a user namespace: the engine reports it, or this process runs in one."""
        return self._engine.has("rootless") or not config_verification.is_plain_map()

    def _explained(self, attached: Attached) -> str:
        """Returns the end of the container as the engine reports it, and the last output of the agent."""
        return "; ".join(filter(None, (self._end(), attached.said[-1500:])))

    def _paused(self) -> str:
        try:
            paused = self._engine.is_paused(self._id)
        except CodexSandboxError as problem:
            return f"the engine does not answer either: {problem.what}: {problem.why}"
        return "the engine was asked to pause the container" if paused else ""

    def _end(self) -> str:
        """Returns the engine's report of the end: it knows the cause, also when the container is gone."""
        try:
            noted = self._engine.deaths(self._id, self._began)
        except CodexSandboxError as problem:
            return f"{problem.what}: {problem.why}"
        if "oom" in noted:
            counters = ", ".join(noted)
            return f"the container used more memory than it may, and the kernel ended its first process ({counters})"
        if any(note.startswith("kill") for note in noted):
            return f"the engine was asked to stop the container ({', '.join(noted)})"
        return f"its first process ended: {', '.join(noted) or 'the engine noted nothing'}"

    def remove(self) -> None:
        """Removes the container by its name, which is known even if an interrupt came before the id."""
        if self._asked_for:
            self._engine.remove(self._name)
