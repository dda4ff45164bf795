"""Networks: a container's own network, for a profile that asks for one.

It has the engine's name service, one neighbour with a name, and no way out. A network without a way out cannot leak: on
engines that support it, even the host has no address in it.
"""

import ipaddress
import os
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.environments.container import labels, network_cleanup, portable_python
from pytest_codexsandbox.environments.container.attached_stream import Attached
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.system import environ, process

NEIGHBOUR: Final = "neighbour.codexsandbox.test"
RANGE: Final = ipaddress.ip_network("198.18.0.0/15")  # kept free for tests of networks (RFC 2544)
_PREFIX: Final = 29
_NO_HOST: Final = {"com.docker.network.bridge.inhibit_ipv4": "true"}
_TRIES: Final = 8
_WAIT: Final = (portable_python.PYTHON, "-I", "-S", "-c", "import sys; sys.stdin.buffer.read()")


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """The network that a container is connected to."""

    mode: str = "none"
    neighbour: str = ""  # its address

    @property
    def words(self) -> Mapping[str, Any]:
        """Returns the arguments for the creation of a container."""
        return {"NetworkingConfig": {"EndpointsConfig": {self.mode: {}}}} if self.neighbour else {}

    @property
    def facts(self) -> Mapping[str, Any]:
        return {"neighbour": self.neighbour} if self.neighbour else {}


NONE: Final = Network()


@contextmanager
def own(engine: Engine, word: str, image: str, mounts: Sequence[Mapping[str, Any]]) -> Iterator[Network]:
    """Creates a network with a neighbour. `mounts`: at least the agent's Python, which is all that runs in the
    neighbour.
    """
    with ExitStack() as stack:
        name = f"codexsandbox-{word}"
        stack.enter_context(_watched(engine, name))
        stack.callback(engine.remove_network, name)
        try:
            _make(engine, name, word)
        except KeyboardInterrupt:
            engine.undo_network(name)
            raise
        config = {
            "NetworkMode": name,
            "Mounts": list(mounts),
            "AutoRemove": True,
            "ReadonlyRootfs": True,
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges:true"],
            "LogConfig": {"Type": "none", "Config": {}},
        }
        neighbour = f"codexsandbox-{word}-neighbour"
        stack.callback(engine.remove, neighbour)
        container = engine.create(
            image,
            _WAIT,
            config,
            name=neighbour,
            Labels=labels.labels("environment", word),
            OpenStdin=True,
            StdinOnce=True,
            AttachStdin=True,
            Tty=False,
            Entrypoint=[],
            User="65534:65534",
            WorkingDir="/",
            NetworkingConfig={"EndpointsConfig": {name: {"Aliases": [NEIGHBOUR]}}},
        )
        with engine.asked("attach to the neighbour"):
            tether = Attached(engine.api.attach_socket(container, {"stdin": 1, "stream": 1}))
        stack.callback(tether.close)  # the neighbour ends with this process
        engine.start(container)
        yield Network(mode=name, neighbour=_address(engine, container, name))


@contextmanager
def _watched(engine: Engine, name: str) -> Iterator[None]:
    """Removes the network even if this process is killed."""
    argv = (sys.executable, "-m", network_cleanup.__name__, engine.host, name)
    paths = (str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", ""))
    env = {**environ.copied(), "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with process.running(argv, cwd="/", env=env):
        yield


def _make(engine: Engine, name: str, word: str) -> None:
    options: dict[str, str] = _NO_HOST
    for left in reversed(range(_TRIES)):
        config = {"Driver": "default", "Config": [{"Subnet": _subnet()}]}
        try:
            with engine.asked("create a network"):
                engine.api.create_network(
                    name,
                    driver="bridge",
                    internal=True,
                    options=options,
                    ipam=config,
                    enable_ipv6=False,
                    labels=labels.labels("network", word),
                )
            return
        except HarnessError as problem:
            if not left:
                raise
            if "option" in problem.why:  # an engine that cannot leave the host out still has no route out
                options = {}
            elif "overlap" not in problem.why and "already used" not in problem.why:
                raise


def _subnet() -> str:
    number = random.SystemRandom().randrange(2 ** (_PREFIX - RANGE.prefixlen))
    return f"{RANGE.network_address + (number << (32 - _PREFIX))}/{_PREFIX}"


def _address(engine: Engine, container: str, network: str) -> str:
    with engine.asked("report the neighbour's address"):
        found = engine.api.inspect_container(container)["NetworkSettings"]["Networks"]
    address = str((found.get(network) or {}).get("IPAddress", ""))
    if not address:
        raise HarnessError("the neighbour of a container is not in its network", where=network)
    return address
