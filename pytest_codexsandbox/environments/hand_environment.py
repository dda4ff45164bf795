"""ports.Environment over a hand, wherever that runs."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.environments.hand_client import TURN_TIMEOUT, HandClient, Lost, as_finished, as_words, lost
from pytest_codexsandbox.environments.spoken_with import LiveProcess, LiveStream
from pytest_codexsandbox.errors import MachineFault
from pytest_codexsandbox.model.act import Given, Look
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.command import Command, Finished
from pytest_codexsandbox.model.entrance import Entrance
from pytest_codexsandbox.model.world import World

GUEST: Final = Path(__file__).parent.parent / "guest"


class HandEnvironment:
    def __init__(self, spec: EnvironmentSpec, client: HandClient, facts: Mapping[str, Any], *, folder: str) -> None:
        self._spec, self._client, self._facts, self._folder = spec, client, facts, folder

    @property
    def spec(self) -> EnvironmentSpec:
        return self._spec

    def facts(self) -> Mapping[str, Any]:
        return self._facts

    # ---- what it is given to run
    @property
    def folder(self) -> str:
        return self._folder

    @property
    def guest(self) -> tuple[str, str]:
        """Its Python for the probe, and the folder that the probe lies in, as they are called inside."""
        return sys.executable, str(GUEST)

    @property
    def entrance(self) -> Entrance | None:
        return None

    def bring(self, binary: str) -> str:
        return binary

    # ---- commands
    def run(self, command: Command) -> Finished:
        return self.run_together((command,))[0]

    def run_together(self, commands: Sequence[Command]) -> tuple[Finished, ...]:
        within = TURN_TIMEOUT + max((command.timeout for command in commands), default=0.0)
        words = [as_words(command) for command in commands]
        try:
            body, blobs = self._client.ask(
                "run", commands=words, blobs=[command.stdin for command in commands], within=within
            )
        except Lost as problem:
            return tuple(lost(problem) for _ in commands)
        return tuple(as_finished(result, blobs[2 * at], blobs[2 * at + 1]) for at, result in enumerate(body["results"]))

    def spawn(self, command: Command, *, pty: bool = False) -> LiveProcess:
        body, _ = self._client.ask("spawn", command=as_words(command), pty=pty, within=TURN_TIMEOUT)
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
        filled = [
            msgspec.structs.replace(one, path=world.fill(one.path), content=world.fill(one.content)) for one in given
        ]
        self._client.ask("lay", world=world.id, given=msgspec.to_builtins(filled))

    def look(self, world: World, paths: Sequence[str]) -> dict[str, Look]:
        body, _ = self._client.ask("look", world=world.id, paths=[world.fill(path) for path in paths], within=60)
        return {
            path: msgspec.convert({"path": path, **seen}, Look) for path, seen in zip(paths, body["looks"], strict=True)
        }

    def litter(self, world: World, known: Sequence[str]) -> tuple[str, ...]:
        filled = [world.fill(path) for path in known]
        return tuple(self._client.ask("litter", world=world.id, known=filled)[0]["names"])

    def arrivals(self, token: str) -> tuple[str, ...]:
        return tuple(self._client.ask("arrivals", token=token)[0]["rigs"])

    def clear(self, world: World) -> None:
        left = self._client.ask("clear", world=world.id, within=60)[0]["left"]
        if left:
            raise MachineFault("a world could not be removed", where=world.folder, why="; ".join(left[:5]))
