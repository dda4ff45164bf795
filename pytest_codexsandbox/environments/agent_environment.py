"""Agent environment: implements protocols.Environment over an agent, wherever the agent runs."""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.environments.agent_client import TURN_TIMEOUT, AgentClient, as_finished, as_words, lost
from pytest_codexsandbox.environments.live_process import LiveProcess, LiveStream
from pytest_codexsandbox.errors import EnvironmentLost, HarnessError
from pytest_codexsandbox.guest import wire
from pytest_codexsandbox.model.act import Given, PathState
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.observation import OutsideView
from pytest_codexsandbox.model.repro_shell import ReproShell
from pytest_codexsandbox.model.world import World

GUEST: Final = Path(__file__).parent.parent / "guest"


class AgentEnvironment:
    turn_timeout = TURN_TIMEOUT  # how long a call may wait for its turn, in addition to its own limit

    def __init__(self, spec: EnvironmentSpec, client: AgentClient, facts: Mapping[str, Any], *, folder: str) -> None:
        self._spec, self._client, self._facts, self._folder = spec, client, facts, folder

    @property
    def spec(self) -> EnvironmentSpec:
        return self._spec

    def facts(self) -> Mapping[str, Any]:
        return self._facts

    def state(self) -> Mapping[str, Any]:
        state: Mapping[str, Any] = self._client.ask("state")[0]["state"]
        return state

    # ---- commands to run
    @property
    def folder(self) -> str:
        return self._folder

    @property
    def guest(self) -> tuple[str, str]:
        """Returns the Python for the probe, and the folder of the probe, by their paths inside."""
        return sys.executable, str(GUEST)

    @property
    def entrance(self) -> ReproShell | None:
        return None

    def bring(self, binary: str) -> str:
        return binary

    # ---- commands
    def run(self, command: Command) -> CommandResult:
        return self.run_together((command,))[0]

    def run_together(self, commands: Sequence[Command]) -> tuple[CommandResult, ...]:
        within = self.turn_timeout + max((command.timeout for command in commands), default=0.0)
        words = [as_words(command) for command in commands]
        try:
            body, blobs = self._client.ask(
                "run", commands=words, blobs=[command.stdin for command in commands], within=within
            )
        except EnvironmentLost as problem:
            return tuple(lost(problem) for _ in commands)
        return tuple(as_finished(result, blobs[2 * at], blobs[2 * at + 1]) for at, result in enumerate(body["results"]))

    def spawn(self, command: Command, *, pty: bool = False) -> LiveProcess:
        body, _ = self._client.ask("spawn", command=as_words(command), pty=pty, within=self.turn_timeout)
        process = LiveProcess(self._client, body["conversation"], body["pid"])
        if command.stdin:
            process.write(command.stdin)
        return process

    def dial(self, address: str, timeout: float = 5.0) -> LiveStream:
        body, _ = self._client.ask("dial", address=address, timeout=timeout, within=timeout)
        return LiveStream(self._client, body["conversation"])

    # ---- files
    def put(self, path: str, content: bytes, mode: int = 0o644) -> None:
        self._client.ask("put", path=path, mode=mode, blobs=(content,))

    def get(self, path: str, limit: int) -> bytes:
        return self._client.ask("get", path=path, limit=limit)[1][0]

    # ---- worlds
    def world(self) -> World:
        return msgspec.convert(self._client.ask("world")[0]["world"], World)

    def lay(self, world: World, given: Sequence[Given]) -> None:
        self._lay(world, given)()

    def look(self, world: World, paths: Sequence[str]) -> dict[str, PathState]:
        return self._look(world, paths)()

    def ready(self, world: World, given: Sequence[Given], paths: Sequence[str]) -> dict[str, PathState]:
        laid, looks = self._lay(world, given), self._look(world, paths)
        laid()
        return looks()

    def litter(self, world: World, known: Sequence[str]) -> tuple[str, ...]:
        return self._litter(world, known)()

    def arrivals(self, token: str) -> tuple[str, ...]:
        return self._arrivals(token)()

    def survey(
        self,
        world: World,
        paths: Sequence[str],
        *,
        tokens: Sequence[str],
        planted: Sequence[Given],
        known: Sequence[str],
    ) -> OutsideView:
        looks, arrivals = self._look(world, paths), [(token, self._arrivals(token)) for token in tokens]
        laid, litter = self._lay(world, planted), self._litter(world, known)
        seen, arrived = looks(), {token: listeners() for token, listeners in arrivals}
        try:
            laid()
        except HarnessError:  # one of the places is not what it was: the others may be
            for one in planted:
                with suppress(HarnessError):
                    self.lay(world, [one])
            litter = self._litter(world, known)
        return OutsideView(looks=seen, arrivals=arrived, litter=litter())

    # Each is asked at once and waited for later.
    def _lay(self, world: World, given: Sequence[Given]) -> Callable[[], wire.Message]:
        filled = [
            msgspec.structs.replace(one, path=world.fill(one.path), content=world.fill(one.content)) for one in given
        ]
        return self._client.begin("lay", world=world.id, given=msgspec.to_builtins(filled))

    def _look(self, world: World, paths: Sequence[str]) -> Callable[[], dict[str, PathState]]:
        filled = [world.fill(path) for path in paths]
        answer = self._client.begin("look", world=world.id, paths=filled, within=60)

        def looks() -> dict[str, PathState]:
            seen = zip(paths, answer()[0]["looks"], strict=True)
            return {path: msgspec.convert({"path": path, **one}, PathState) for path, one in seen}

        return looks

    def _litter(self, world: World, known: Sequence[str]) -> Callable[[], tuple[str, ...]]:
        answer = self._client.begin("litter", world=world.id, known=[world.fill(path) for path in known])
        return lambda: tuple(answer()[0]["names"])

    def _arrivals(self, token: str) -> Callable[[], tuple[str, ...]]:
        answer = self._client.begin("arrivals", token=token)
        return lambda: tuple(answer()[0]["listeners"])

    def clear(self, world: World) -> None:
        left = self._client.ask("clear", world=world.id, within=60)[0]["left"]
        if left:
            raise HarnessError(
                "the folders of a call could not be removed", where=world.folder, why="; ".join(left[:5])
            )
