"""This machine, as it is. The hand is a child of ours, outside every namespace but a mount namespace for its own /tmp,
and that only where it takes no user namespace: one of ours around Codex would change what is measured."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox import proc
from pytest_codexsandbox.environments import folders
from pytest_codexsandbox.environments.hand_client import (
    TURN_TIMEOUT,
    HandClient,
    Lost,
    as_finished,
    as_words,
    lost,
)
from pytest_codexsandbox.environments.spoken_with import LiveProcess, LiveStream
from pytest_codexsandbox.errors import MachineFault
from pytest_codexsandbox.guest.worlds import new_word
from pytest_codexsandbox.model.act import Given, Look
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.command import Command, Finished
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.ports import Say, silent

HAND: Final = Path(folders.__file__).parent.parent / "guest" / "hand.py"


class LocalBackend:
    """`own_tmp=False`: share the machine's /tmp even where one of our own could be had. `turn_timeout`: how long to
    wait for another run that shares it."""

    def __init__(self, *, own_tmp: bool = True, turn_timeout: float = TURN_TIMEOUT) -> None:
        self._own_tmp, self._turn_timeout = own_tmp, turn_timeout

    @contextmanager
    def open(self, spec: EnvironmentSpec, folder: Path, *, say: Say = silent) -> Iterator["HandEnvironment"]:
        word = new_word()
        place = folders.prepare(folder, word)
        folders.now_open(word)
        try:
            with self._started(spec, place, word, say) as environment:
                yield environment
        finally:
            folders.now_closed(word)
            folders.end_marked(word)
            folders.remove(place, word)

    @contextmanager
    def _started(self, spec: EnvironmentSpec, folder: Path, word: str, say: Say) -> Iterator["HandEnvironment"]:
        if not sys.platform.startswith("linux"):
            raise MachineFault(
                "this machine cannot be measured", where=spec.id, why="Codex's Linux sandbox needs Linux",
                next_step='use a Linux container: docker run --rm -it -v "$PWD:$PWD" -w "$PWD" python:3.12 sh -c '
                "'pip install \"pytest-codexsandbox[codex]\" && pytest --codex-matrix'",
            )  # fmt: skip
        argv = (sys.executable, "-I", "-S", str(HAND))
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"}
        with (folder / "hand.log").open("wb") as log, proc.running(argv, cwd="/", env=environment, stderr=log) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            client = HandClient(child.stdin, child.stdout, name=spec.id, say=say)
            words: dict[str, Any] = {
                "folder": str(folder),
                "word": word,
                "own_tmp": self._own_tmp,
                "turn_timeout": self._turn_timeout,
            }
            try:
                body, _ = client.ask("hello", watch_parent=True, **words)
                yield HandEnvironment(spec, client, body["facts"])
            except Lost as problem:
                raise _with_log(problem, folder / "hand.log") from problem
            finally:
                with suppress(MachineFault, TimeoutError):
                    client.ask("bye")
                client.close()
                proc.let_end(child, within=10.0)
                client.join()


def _with_log(problem: Lost, log: Path) -> Lost:
    text = log.read_bytes()[-2000:].decode("utf-8", "replace").strip()
    return Lost(problem.what, where=problem.where, why=f"{problem.why}\n{text}" if text else problem.why)


class HandEnvironment:
    """ports.Environment over a hand, wherever that runs."""

    def __init__(self, spec: EnvironmentSpec, client: HandClient, facts: Mapping[str, Any]) -> None:
        self._spec, self._client, self._facts = spec, client, facts

    @property
    def spec(self) -> EnvironmentSpec:
        return self._spec

    def facts(self) -> Mapping[str, Any]:
        return self._facts

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
