"""Agent server: has one method for each request of the runner."""

from __future__ import annotations

import functools
import os
import sys
from typing import Any, Callable, Dict, Final, List  # noqa: UP035

from pytest_codexsandbox.guest import (
    facts,
    hidden_program,
    probe_copy,
    probe_kernel_verbs,
    process_tree,
    safe_paths,
    wire,
)
from pytest_codexsandbox.guest.event_loop import READ, Loop, Outbox
from pytest_codexsandbox.guest.kernel_objects import KernelObjects
from pytest_codexsandbox.guest.listeners import Listeners
from pytest_codexsandbox.guest.live_processes import Conversations
from pytest_codexsandbox.guest.process_scope import ProcessScope, Scopes
from pytest_codexsandbox.guest.shared_tmp import OwnTmp, SharedTmpLock
from pytest_codexsandbox.guest.worlds import Worlds

Body = Dict[str, Any]  # noqa: UP006
Reply = Callable[..., None]

_HERE: Final = os.path.dirname(os.path.abspath(__file__))
_BEFORE_CODEX: Final = 7  # PYTHON -I -S DRIVER CHANNEL COUNT CODEX
_LONGEST_END: Final = 1.5  # for scopes to end when the runner is gone


class Agent:
    def __init__(self, body: Body) -> None:
        self.folder: str = body["folder"]
        self.word: str = body["word"]
        self.loop = Loop()
        self._own_tmp = OwnTmp.make() if body["own_tmp"] == "make" else None
        self._show([sys.executable, os.__file__, _HERE])
        self.loop.watch_children()
        process_tree.adopt_orphans()
        alone = self._own_tmp is not None or body["own_tmp"] == "already"  # no other process uses this /tmp
        self._alone = alone
        self._turn = None if alone else SharedTmpLock(self.loop, longest=body["turn_timeout"])
        self._resolver: bool = body.get("resolver", False)  # whether the system's own name service asks us
        self._listeners = Listeners(self.loop, self.folder, self.word, resolver=self._resolver)
        programs = {
            "PYTHON": sys.executable,
            "PROBE": probe_copy.lay(self.folder),
            "GUEST": _HERE,
            "HIDDEN": hidden_program.lay(self.folder),
        }
        self._objects = KernelObjects(self.word)
        values = {**self._listeners.values, **self._objects.values, **programs}
        self._worlds = Worlds(
            self.folder,
            self.word,
            values,
            own_tmp=alone,
            keeps=body.get("keeps_worlds", False),
            whole_machine=body["own_tmp"] == "already",
        )
        self._worlds.attach(self.loop)
        self.scopes = Scopes(self.loop, self.word)
        self._conversations = Conversations(self.loop)
        self._unpacker = wire.Unpacker()
        self._outbox = Outbox(self.loop, 1, lost=self.end_alone, drained=lambda: None)
        self._ending = False

    # ---- the pipe
    def serve(self, first: wire.Unpacker) -> None:
        self._unpacker = first
        os.set_blocking(0, False)
        self.loop.watch(0, READ, self._read)
        try:
            self.loop.run()
        except BaseException:  # an error of the agent: running commands must not outlive it
            for scope in self.scopes.live:
                process_tree.end(scope.members())
            self._worlds.end()
            raise

    def _read(self) -> None:
        try:
            data = os.read(0, 1 << 20)
        except BlockingIOError:
            return
        if not data:
            self.loop.forget(0)
            self.end_alone()
            return
        for body, blobs in self._unpacker.feed(data):
            self.handle(body, blobs)

    def handle(self, body: Body, blobs: list[bytes]) -> None:
        reply = self.replier(body.pop("id"))
        try:
            getattr(self, "do_" + body.pop("op").replace("-", "_"))(reply, body, blobs)
        except Exception as problem:
            reply(error=problem)

    def replier(self, number: int) -> Reply:
        def reply(*, error: BaseException | None = None, blobs: list[bytes] | None = None, **answer: Any) -> None:
            if error is not None:
                answer["error"] = {"kind": type(error).__name__, "text": str(error)}
            self._outbox.put(wire.pack({"id": number, **answer}, blobs or []))

        return reply

    # ---- commands
    def do_run(self, reply: Reply, body: Body, blobs: list[bytes]) -> None:
        """Runs all of `commands` at once; sends one answer when the last has ended."""
        commands: List[Body] = body["commands"]  # noqa: UP006
        results: list[Body | None] = [None] * len(commands)
        output: list[bytes] = [b""] * (2 * len(commands))

        def ended(at: int, result: Body, scope: ProcessScope | None) -> None:
            results[at] = result
            if scope is not None:
                output[2 * at : 2 * at + 2] = [bytes(scope.out.kept), bytes(scope.err.kept)]
            if all(one is not None for one in results):
                self._give_back()
                reply(results=results, blobs=output)

        def start(refusal: str) -> None:
            for at, command in enumerate(commands):
                if refusal:
                    ended(at, _not_started(refusal), None)
                else:
                    self._start_one(command, blobs[at], functools.partial(ended, at))

        if commands:
            self._take_turn(start, reply)
        else:
            reply(results=[])

    def _start_one(self, command: Body, stdin: bytes, done: Callable[[Body, ProcessScope | None], None]) -> None:
        self._show(_programs(command))
        scope = self.scopes.new(command, stdin)
        why = scope.start()
        if why:
            self.scopes.over(scope)
            done(_not_started(f"{' '.join(command['argv'][:1]) or '(nothing)'}: {why}"), None)
            return
        scope.done = lambda result: done(result, scope)
        scope.converse()

    def do_spawn(self, reply: Reply, body: Body, blobs: list[bytes]) -> None:
        command = body["command"]
        aside = bool(command.get("aside"))

        def give_back() -> None:
            if not aside:
                self._give_back()

        def start(refusal: str) -> None:
            if not refusal:
                self._show(_programs(command))
                scope = self.scopes.new(command, b"")
                refusal = scope.start(pty=body["pty"])
                if not refusal:
                    reply(pid=scope.pid, conversation=self._conversations.spawned(scope, give_back))
                    return
                self.scopes.over(scope)
            give_back()
            reply(error=OSError(refusal))

        if aside:
            start("")
        else:
            self._take_turn(start, reply)

    def do_dial(self, reply: Reply, body: Body, blobs: list[bytes]) -> None:
        self._conversations.dial(reply, body["address"], body["timeout"])

    def do_talk(self, reply: Reply, body: Body, blobs: list[bytes]) -> None:
        """Serves a request to a live process or stream: write, read, wait, …"""
        self._conversations.talk(reply, body, blobs)

    def _take_turn(self, start: Callable[[str], None], reply: Reply) -> None:
        """Calls `start` when it is this run's turn in a shared /tmp; sends the runner a notice first if that takes
        long.
        """

        def go(refusal: str) -> None:
            if not refusal and not self.scopes.calls:
                self._worlds.names.remember()
            start(refusal)

        if self._turn is None:
            go("")
        else:
            self._turn.take(go, lambda notice: reply(notice=notice))

    def _give_back(self) -> None:
        if not self.scopes.calls:
            self._worlds.names.clean()
        if self._turn is not None:
            self._turn.give_back()

    def _show(self, files: list[str]) -> None:
        for path in files if self._own_tmp is not None else ():
            self._own_tmp.show(path)  # type: ignore[union-attr]

    # ---- files
    def do_put(self, reply: Reply, body: Body, blobs: list[bytes]) -> None:
        path = safe_paths.normal(body["path"])
        top = self.folder if safe_paths.is_below(path, self.folder) else os.path.dirname(path)
        here = safe_paths.made_folder(top, os.path.dirname(path))
        flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with open(os.open(os.path.basename(path), flags, 0o600, dir_fd=here), "wb") as file:
                file.write(blobs[0])
                os.fchmod(file.fileno(), body["mode"])
        finally:
            os.close(here)
        reply()

    def do_get(self, reply: Reply, body: Body, blobs: list[bytes]) -> None:
        path = safe_paths.normal(body["path"])
        top = self.folder if safe_paths.is_below(path, self.folder) else os.path.dirname(path)
        here = safe_paths.folder(top, os.path.dirname(path))
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            with open(os.open(os.path.basename(path), flags, dir_fd=here), "rb") as file:
                content = file.read(body["limit"] + 1)
        finally:
            os.close(here)
        if len(content) > body["limit"]:
            raise ValueError(f"{path} is larger than {body['limit']} bytes")
        reply(blobs=[content])

    # ---- worlds
    def do_world(self, reply: Reply, body: Body, blobs: list[bytes]) -> None:
        world = self._worlds.make()
        reply(world={"id": world.id, "folder": world.folder, "values": world.values})

    def do_lay(self, reply: Reply, body: Body, blobs: list[bytes]) -> None:
        self._worlds.lay(self._worlds.get(body["world"]), body["given"])
        reply()

    def do_look(self, reply: Reply, body: Body, blobs: list[bytes]) -> None:
        world = self._worlds.get(body["world"])
        reply(looks=[self._worlds.look(world, path) for path in body["paths"]])

    def do_litter(self, reply: Reply, body: Body, blobs: list[bytes]) -> None:
        reply(names=self._worlds.litter(self._worlds.get(body["world"]), body["known"]))

    def do_arrivals(self, reply: Reply, body: Body, blobs: list[bytes]) -> None:
        reply(listeners=self._listeners.arrivals(body["token"]))

    def do_clear(self, reply: Reply, body: Body, blobs: list[bytes]) -> None:
        reply(left=self._worlds.clear(self._worlds.get(body["world"]), quiet=not self.scopes.calls))

    def do_facts(self, reply: Reply, body: Body, blobs: list[bytes]) -> None:
        found = facts.facts(os.environ.get("PATH", ""))
        found["offers"] = [*probe_kernel_verbs.offers(), *self._objects.kept]
        reply(facts={**found, "private_tmp": self._alone, "resolver": "ours" if self._resolver else "the system's"})

    def do_state(self, reply: Reply, body: Body, blobs: list[bytes]) -> None:
        reply(state=facts.state())

    # ---- the end
    def do_bye(self, reply: Reply, body: Body, blobs: list[bytes]) -> None:
        self._end(lambda left: reply(left=left))

    def end_alone(self) -> None:
        """Ends the agent when no runner is left to answer or to remove the folder, so the agent removes it."""
        self._end(lambda left: self._remove_folder())

    def _remove_folder(self) -> None:
        probe_copy.remove(self.folder)
        for name in ("owner.json", "agent.log", "listener.sock", "listener.dgram", "listener.fifo"):
            try:
                os.unlink(os.path.join(self.folder, name))
            except OSError:
                pass
        try:
            os.rmdir(self.folder)
        except OSError:
            pass

    def _end(self, then: Callable[[list[str]], None]) -> None:
        if self._ending:
            return
        self._ending = True
        for scope in self.scopes.live:
            scope.lose("the agent was stopped while this ran")
        waiting = [int(_LONGEST_END / 0.01)]

        def look() -> None:
            waiting[0] -= 1
            if self.scopes.live and waiting[0] > 0:
                self.loop.after(0.01, look)
                return
            self._listeners.close()
            left = self._worlds.end()
            then(left)
            self._last_words()

        look()

    def _last_words(self, turns: int = 100) -> None:
        """Stops the loop once the answers are sent, or after 100 turns if a full pipe has no reader."""
        if self._outbox.empty or not turns:
            self.loop.stop()
        else:
            self.loop.after(0.01, lambda: self._last_words(turns - 1))


def _programs(command: Body) -> list[str]:
    """Returns the program files of a command; with a driver, also those that the driver starts, such as Codex."""
    words: list[str] = command["argv"]
    return [word for word in words[:_BEFORE_CODEX] if word.startswith("/")] if command.get("channel") else words[:1]


def _not_started(why: str) -> Body:
    return {"ended": "not-started", "error": why, "stdout_total": 0, "seconds": 0.0}
