"""Engine: one container engine through the Docker SDK. Turns its errors into this project's errors, and quotes the
engine.
"""

import base64
import io
import json
import os
import re
import secrets
import socket
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from typing import Any, Final

import docker
import docker.constants
import docker.errors
import requests
import urllib3.exceptions
from docker.utils import kwargs_from_env

from pytest_codexsandbox.environments.container import labels, ssh_tunnel
from pytest_codexsandbox.environments.container.podman import is_podman
from pytest_codexsandbox.errors import CodexSandboxError, HarnessError, NotResponding, Unavailable
from pytest_codexsandbox.guest.worlds import new_word
from pytest_codexsandbox.system import environ

_TIMEOUT: Final = 60  # for one answer of the engine
_FIRST: Final = 20  # for its first answer, which is cheap
_BEING_MADE: Final = 2.0  # for a container to appear after its creation was interrupted
_GOING: Final = 20.0  # for a container to go
_OLDEST: Final = "1.40"
_DATE: Final = re.compile(r"([^.]+?)(?:\.\d+)?(Z|[+-]\d\d:\d\d)")  # as Go writes it
_START_IT: Final = (
    "start it (systemctl start docker, or: dockerd &), or name another: DOCKER_HOST=unix:///run/podman/podman.sock"
)
_MAY_NOT: Final = (
    "you may not use its socket: usermod -aG docker USER and log in again, or use your own engine: "
    "DOCKER_HOST=unix:///run/user/UID/docker.sock"
)

# What is read piece by piece is read by urllib3 itself, with errors of its own.
_BROKEN: Final = (
    docker.errors.DockerException,
    requests.exceptions.RequestException,
    urllib3.exceptions.HTTPError,
    OSError,
)
HostConfig = dict[str, Any]


class _Client(docker.APIClient):  # type: ignore[misc]
    def merge_environment_settings(self, *settings: Any) -> Any:
        """Reads the proxy variables again if a thread changes them meanwhile: the SDK scans all variables at each
        request.
        """
        return environ.settled(lambda: super(_Client, self).merge_environment_settings(*settings))


class Engine:
    """One container engine. Not safe for threads: each environment that opens makes its own."""

    def __init__(self, host: str = "", *, timeout: int = _TIMEOUT, contact: int | None = None) -> None:
        """`contact`: the time limit for the first answer."""
        self.host = host or default_host()
        first = contact or min(timeout, _FIRST)
        with _in_words("the container engine does not answer", self.host), ExitStack() as way:
            far = ssh_tunnel.is_far(self.host)
            near = way.enter_context(ssh_tunnel.through(self.host, contact or timeout)) if far else self.host
            # The variables for TLS hold for every engine over tcp, however the host was named, as with `docker`.
            settings = {**(kwargs_from_env() if near.startswith("tcp://") else {}), "base_url": near}
            _answers(near, first)
            version = _told(settings, first)
            self.podman = is_podman(version)
            self.api = _Client(version=_spoken(version), timeout=timeout, **settings)
            self._way = way.pop_all()

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.api.close()
        self._way.close()

    def about(self) -> dict[str, Any]:
        """Returns the engine's description of itself."""
        with self.asked("describe itself"):
            info: dict[str, Any] = self.api.info()
            version: dict[str, Any] = self.api.version()
        return {**info, "EngineVersion": version.get("Version", ""), "Components": version.get("Components", [])}

    def has(self, option: str) -> bool:
        """Checks whether the engine was started with this security option: `userns`, `rootless`, `apparmor`, …"""
        options = self.about().get("SecurityOptions") or ()
        return any(f"name={option}" in words.split(",") for words in options)

    def gives(self) -> frozenset[str]:
        """Returns the capabilities that Podman gives by default; Docker does not report them."""
        with self.asked("report its defaults"):
            answer = self.api.get(f"{self.api.base_url}/v4.0.0/libpod/info", timeout=self.api.timeout)
            answer.raise_for_status()
            words = str(answer.json()["host"]["security"]["capabilities"])
        return frozenset(word.strip().removeprefix("CAP_") for word in words.split(","))

    @contextmanager
    def asked(self, what: str) -> Iterator[None]:
        with _in_words(f"the container engine did not {what}", self.host):
            yield

    def image_id(self, reference: str) -> str:
        """Returns the content-addressed id of an image; "" if the engine has no image of that name."""
        try:
            with self.asked(f"inspect the image {reference}"):
                return str(self.api.inspect_image(reference)["Id"])
        except Unavailable:
            return ""

    def create(self, image: str, command: tuple[str, ...], host_config: HostConfig, **words: Any) -> str:
        """Creates a container and does not start it.

        Its name is chosen before the request, so that an interrupted caller knows what to remove.
        """
        name = words.pop("name", "") or f"codexsandbox-{secrets.token_hex(6)}"
        config = {"Image": image, "Cmd": list(command), "HostConfig": host_config, **words}
        try:
            with self.asked(f"create a container of {image}"):
                return str(self.api.create_container_from_config(config, name=name)["Id"])
        except CodexSandboxError:
            raise
        except BaseException:
            self._undo(name)
            raise

    @contextmanager
    def helper(self, image: str, mounts: Sequence[Mapping[str, Any]] = ()) -> Iterator[str]:
        """Creates a container for its file system, and never starts it."""
        name = f"codexsandbox-helper-{secrets.token_hex(6)}"
        config = {"NetworkMode": "none", "Mounts": list(mounts)}
        try:
            yield self.create(image, ("/nothing",), config, name=name, Labels=labels.labels("helper", new_word()))
        except BaseException:
            with suppress(CodexSandboxError), Engine(self.host, timeout=20) as another:
                another.remove(name)
            raise
        self.remove(name)

    def _undo(self, name: str) -> None:
        """Removes a container whose creation was interrupted.

        The engine may still be creating it, so this asks for a while.
        """
        limit = time.monotonic() + _BEING_MADE
        with suppress(CodexSandboxError), Engine(self.host, timeout=20) as another:
            while time.monotonic() < limit:
                if another.state(name):
                    another.remove(name)
                    return
                time.sleep(0.05)

    def start(self, container: str) -> None:
        with self.asked("start the container"):
            self.api.start(container)

    def state(self, container: str) -> Mapping[str, Any]:
        """Returns `State` of an inspection; {} if the container is gone."""
        try:
            with self.asked("inspect the container"):
                found: Mapping[str, Any] = self.api.inspect_container(container)["State"]
                return found
        except Unavailable:
            return {}

    def remove(self, container: str) -> None:
        """Ends and removes a container, even one that is gone already.

        If it is interrupted, it still removes the container by a new connection, since the old one is in the middle of
        an answer.
        """
        try:
            self.remove_once(container)
        except CodexSandboxError:
            raise
        except BaseException:
            with suppress(CodexSandboxError), Engine(self.host, timeout=20) as another:
                another.remove_once(container)
            raise

    def remove_once(self, container: str) -> None:
        """Ends and removes a container, unless the caller is interrupted meanwhile."""
        try:
            with self.asked("remove the container"):
                self.api.remove_container(container, force=True, v=True)
        except Unavailable:
            pass
        except HarnessError as problem:
            if "already in progress" not in problem.why:
                raise
        limit = time.monotonic() + _GOING
        while self.state(container):  # the engine may still be at it by itself
            if time.monotonic() > limit:
                raise HarnessError(
                    f"the container engine did not remove a container within {_GOING:.0f} s", where=container[:12]
                )
            time.sleep(0.01)

    def read_file(self, container: str, path: str, *, limit: int) -> bytes:
        """Returns a file of a container, running or not. Raises Unavailable if the file does not exist."""
        with self.asked(f"read {path}"):
            pieces, _ = self.api.get_archive(container, path)
            packed = b"".join(pieces)
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            first = archive.next()
            file = archive.extractfile(first) if first is not None and first.isfile() else None
            if file is None:
                raise Unavailable(f"{path} is not a file", where=container[:12])
            return file.read(limit)

    def file_status(self, container: str, path: str) -> tuple[int, int]:
        """Returns size and date, in seconds, of a file of a container, running or not."""
        with self.asked(f"inspect {path}"):
            answer = self.api.head(
                self.api._url("/containers/{0}/archive", container), params={"path": path}, timeout=self.api.timeout
            )
            self.api._raise_for_status(answer)
        status = json.loads(base64.b64decode(answer.headers.get("X-Docker-Container-Path-Stat", "")) or b"{}")
        found = _DATE.fullmatch(str(status.get("mtime", "")))
        date = int(datetime.fromisoformat("".join(found.groups())).timestamp()) if found else -1
        return int(status.get("size", -1)), date

    def undo_network(self, name: str) -> None:
        """Removes a network whose creation was interrupted. Tries for a while, since the engine may still be creating
        it.
        """
        limit = time.monotonic() + _BEING_MADE
        with suppress(CodexSandboxError), Engine(self.host, timeout=20) as another:
            while time.monotonic() < limit:
                with another.asked("list its networks"):
                    found = another.api.networks(names=[name])
                for one in found:
                    another.remove_network(one["Id"])
                if found:
                    return
                time.sleep(0.05)

    def remove_network(self, network: str) -> None:
        try:
            with self.asked("remove the network"):
                self.api.remove_network(network)
        except Unavailable:
            pass

    def is_paused(self, container: str) -> bool:
        with self.asked("report the state of the container"):
            return bool(self.api.inspect_container(container)["State"].get("Paused"))

    def deaths(self, container: str, since: float) -> tuple[str, ...]:
        """Returns the engine's events about the end of a container: `oom`, `kill 9`, `die 137`."""
        with self.asked("report its events"):
            noted = self.api.events(
                since=int(since) - 1,
                until=int(time.time()) + 1,
                decode=True,
                filters={"container": container, "event": ["oom", "kill", "die", "died"]},  # Podman looks for the last
            )
            found = [(event["Action"], event["Actor"]["Attributes"]) for event in noted]
        return tuple(" ".join(filter(None, (what, more.get("signal") or more.get("exitCode")))) for what, more in found)


def _answers(host: str, timeout: float) -> None:
    """Checks first by a plain request that an engine answers.

    Without an answer, the SDK's client leaves a socket open, and a warning.
    """
    if not host.startswith("unix://"):
        return
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(timeout)
        asking.connect(host.removeprefix("unix://"))
        asking.sendall(b"GET /_ping HTTP/1.0\r\nHost: engine\r\n\r\n")
        if not asking.recv(16).startswith(b"HTTP/"):
            raise OSError("the listener there does not speak HTTP")


def _told(settings: dict[str, Any], timeout: int) -> dict[str, Any]:
    """Returns what the engine says of its version. A client that detects the version leaves its socket open on
    failure.
    """
    asking = _Client(version=_OLDEST, timeout=timeout, **settings)
    try:
        version: dict[str, Any] = asking.version(api_version=False)
        return version
    finally:
        asking.close()


def _spoken(version: Mapping[str, Any]) -> str:
    """Returns the newest version of the API that both sides speak."""
    theirs = str(version["ApiVersion"])
    ours = docker.constants.DEFAULT_DOCKER_API_VERSION
    return min(theirs, str(ours), key=lambda version: tuple(map(int, version.split("."))))


def default_host() -> str:
    """Returns $DOCKER_HOST, else the current context's address, else the socket that Docker makes."""
    named = os.environ.get("DOCKER_HOST", "")
    if named:
        return named
    try:
        context = docker.ContextAPI.get_current_context()
        found = str(context.Host or "") if context else ""
    except Exception:  # noqa: BLE001  (a broken context file is no reason not to find the usual socket)
        found = ""
    return (found or "unix:///var/run/docker.sock").replace("http+unix://", "unix://")


@contextmanager
def _in_words(what: str, where: str) -> Iterator[None]:
    try:
        yield
    except docker.errors.NotFound as problem:
        raise Unavailable(what, where=where, why=said(problem)) from problem
    except docker.errors.APIError as problem:
        raise HarnessError(what, where=where, why=said(problem)) from problem
    except (requests.exceptions.Timeout, urllib3.exceptions.TimeoutError, TimeoutError) as problem:
        raise NotResponding(what, where=where, why=f"it hangs: {problem}", next_step="restart the engine") from problem
    except PermissionError as problem:
        raise HarnessError(what, where=where, why=said(problem), next_step=_MAY_NOT) from problem
    except _BROKEN as problem:
        raise HarnessError(what, where=where, why=said(problem), next_step=_START_IT) from problem


def said(problem: Exception) -> str:
    """Returns the engine's own message, without the client's address and status around it."""
    text = str(getattr(problem, "explanation", "") or problem)
    return " ".join(text.split())[:600]
