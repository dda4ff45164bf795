"""An environment in memory: its commands are answered by a function, and it remembers everything that it was asked."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.model.act import Given, PathState
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.model.cell import EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.observation import OutsideView
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.protocols import Environment, SpawnedProcess, Stream

Answer = Callable[[Command], CommandResult]


def world(word: str = "w1", folder: str = "/run folder") -> World:
    top = f"{folder}/{word}"
    names = {"WORKSPACE": "workspace", "OUTSIDE": "outside", "ROOT0": "root0", "SIBLING": "sibling", "HOME": "home"}
    values = {name: f"{top}/{below}" for name, below in names.items()} | {
        "CODEX_HOME": f"{top}/codex-home",
        "TMP": "/tmp",
        "TMPDIR": f"{folder}/t",
        "SHM": "/dev/shm",
        "WORLD": top,
        "HTTP": "8080",
        "DNS": "5353",
        "UNIX": f"{folder}/rig",
        "ABSTRACT": "rig",
        "PYTHON": "/usr/bin/python3",
        "PROBE": "/opt/task.py",
        "GUEST": "/opt",
        "HIDDEN": "/proc/4711/fd/700",
    }
    return World(id=word, folder=top, values=values)


class ScriptedEnvironment:
    def bring(self, binary: str) -> str:
        return binary

    def __init__(self, answer: Answer, *, arrived: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self.spec = EnvironmentSpec(id="memory", backend="scripted", distro="none")
        self.answer, self.arrived = answer, dict(arrived or {})
        self.commands: list[Command] = []
        self.folder, self.guest = "/worlds", ("/usr/bin/python3", "/guest")
        self.entrance = None
        self.laid: list[Given] = []
        self.known: list[str] = []
        self.worlds: list[World] = []
        self.cleared: list[World] = []
        self.files: dict[str, str] = {}
        self.blind = False  # whoever looks for litter finds nothing

    def facts(self) -> Mapping[str, Any]:
        return {}

    def state(self) -> Mapping[str, Any]:
        return {}

    def run(self, command: Command) -> CommandResult:
        self.commands.append(command)
        return self.answer(command)

    def run_together(self, commands: Sequence[Command]) -> tuple[CommandResult, ...]:
        return tuple(self.run(command) for command in commands)

    def spawn(self, command: Command, *, pty: bool = False) -> SpawnedProcess:
        raise NotImplementedError

    def dial(self, address: str, timeout: float = 5.0) -> Stream:
        raise NotImplementedError

    def put(self, path: str, content: bytes, mode: int = 0o644) -> None:
        self.files[path] = content.decode()

    def get(self, path: str, limit: int) -> bytes:
        return self.files[path].encode()[:limit]

    def world(self) -> World:
        self.worlds.append(world(f"w{len(self.worlds) + 1}"))
        return self.worlds[-1]

    def lay(self, world: World, given: Sequence[Given]) -> None:
        self.laid += given
        self.files |= {one.path: one.content for one in given}

    def look(self, world: World, paths: Sequence[str]) -> dict[str, PathState]:
        return {path: self._look(path) for path in paths}

    def _look(self, path: str) -> PathState:
        text = self.files.get(path)
        if text is None:
            return PathState(path=path, kind="missing")
        return PathState(path=path, kind="file", text=text, sha256=hashlib.sha256(text.encode()).hexdigest())

    def litter(self, world: World, known: Sequence[str]) -> tuple[str, ...]:
        self.known = list(known)
        return () if self.blind else tuple(one.path for one in self.laid if f"tmp-{world.id}-base-planted" in one.path)

    def arrivals(self, token: str) -> tuple[str, ...]:
        return self.arrived.get(token, ())

    def ready(self, world: World, given: Sequence[Given], paths: Sequence[str]) -> dict[str, PathState]:
        self.lay(world, given)
        return self.look(world, paths)

    def survey(
        self,
        world: World,
        paths: Sequence[str],
        *,
        tokens: Sequence[str],
        planted: Sequence[Given],
        known: Sequence[str],
    ) -> OutsideView:
        looks, arrivals = self.look(world, paths), {token: self.arrivals(token) for token in tokens}
        for one in planted:
            with suppress(HarnessError):
                self.lay(world, [one])
        return OutsideView(looks=looks, arrivals=arrivals, litter=self.litter(world, known))

    def clear(self, world: World) -> None:
        self.cleared.append(world)


class FakeSubject:
    """A Codex that is nowhere, with the capabilities that a test wants."""

    def __init__(self, *, binary: str = "/opt/codex", **capabilities: Any) -> None:
        words: dict[str, Any] = {
            "version": "0.163.0",
            "sandbox": "sandbox",
            "workspace_write": "config",
            "full_access": True,
            "default_permissions": True,
        }
        self.spec = SubjectSpec(label="fake", path=binary)
        self.binary, self.digest = binary, "0" * 64
        self.source, self.disagreement = "", ""
        self.capabilities = Capabilities(**(words | capabilities))

    def inside(self, environment: Environment) -> "FakeSubject":
        return self
