"""Run init: the first process where a generator runs. It starts the generator, ends its leftovers, and reports its
result.

`PYTHON -I -S run_init.py`, messages as in wire.py on stdin and stdout. The run init ends when its stdin closes. If it
is the first process of its namespace, every process in the namespace ends with it. The processes that it starts cannot
look into it: it is not dumpable.
"""

from __future__ import annotations

import ctypes
import functools
import os
import resource
import signal
import sys
import types
from typing import Any, Callable, Dict, Final, List  # noqa: UP035

if __name__ == "__main__":  # started as a file: this file's folder becomes the package
    for _name, _path in (("pytest_codexsandbox", []), ("pytest_codexsandbox.guest", [os.path.dirname(__file__)])):
        sys.modules[_name] = types.ModuleType(_name)
        sys.modules[_name].__path__ = _path

from pytest_codexsandbox.guest import generator_dirs, process_tree, wire
from pytest_codexsandbox.guest.event_loop import READ, Loop, Outbox
from pytest_codexsandbox.guest.forkserver_client import ForkedCall, ForkServers
from pytest_codexsandbox.guest.process_scope import ProcessScope, Scopes

Body = Dict[str, Any]  # noqa: UP006
_PR_SET_DUMPABLE: Final = 4
_LOOK: Final = 0.25  # seconds between two checks of the written and printed bytes


class RunInit:
    def __init__(self) -> None:
        self.loop = Loop()
        self.loop.watch_children()
        process_tree.adopt_orphans()
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        self._scopes = Scopes(self.loop, f"gen{os.urandom(4).hex()}")
        self._fork_servers = ForkServers(self.loop)
        self._unpacker = wire.Unpacker()
        self._outbox = Outbox(self.loop, 1, lost=self._end, drained=lambda: None)

    def serve(self) -> None:
        os.set_blocking(0, False)
        self.loop.watch(0, READ, self._read)
        try:
            self.loop.run()
        finally:
            self._fork_servers.end()
            process_tree.end(process_tree.children(os.getpid()))

    def _end(self) -> None:
        self.loop.stop()

    def _read(self) -> None:
        try:
            data = os.read(0, 1 << 20)
        except BlockingIOError:
            return
        if not data:
            self._end()
            return
        for body, blobs in self._unpacker.feed(data):
            try:
                self._run(body, blobs)
            except Exception as problem:
                self._outbox.put(wire.pack({"id": body["id"], "error": f"{type(problem).__name__}: {problem}"}))

    def _run(self, body: Body, blobs: List[bytes]) -> None:  # noqa: UP006
        """Runs all of `commands` at once; sends one answer when the last has ended."""
        commands, limits = body["commands"], body["limits"]
        resource.setrlimit(resource.RLIMIT_FSIZE, (limits["file"], resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        results: list[Body | None] = [None] * len(commands)
        output: list[bytes] = [b""] * (2 * len(commands))

        def ended(at: int, result: Body, scope: ProcessScope | None) -> None:
            results[at] = result
            if scope is not None:
                output[2 * at : 2 * at + 2] = [bytes(scope.out.kept), bytes(scope.err.kept)]
            if all(one is not None for one in results):
                left = self._fork_servers.rest()
                result["survivors"] = [*result.get("survivors", ()), *left]
                self._outbox.put(wire.pack({"id": body["id"], "results": results}, output))

        for at, command in enumerate(commands):
            self._start(command, blobs[at], limits, functools.partial(ended, at))

    def _start(
        self, command: Body, stdin: bytes, limits: Body, done: Callable[[Body, ProcessScope | None], None]
    ) -> None:
        make = ForkedCall.by(self._fork_servers) if command.get("call") else ProcessScope
        scope = self._scopes.new(command, stdin, make)
        why = scope.start()
        if why:
            self._scopes.over(scope)
            done({"ended": "not-started", "error": why}, None)
            return
        scope.done = lambda result: done(result, scope)
        scope.converse()
        self._watch(scope, limits)

    def _watch(self, scope: ProcessScope, limits: Body) -> None:
        """Ends a command that prints or writes more than its limits."""

        def look() -> None:
            if scope not in self._scopes.live:
                return
            said = scope.out.total + scope.err.total
            entries, size = generator_dirs.weight(limits["tops"], entries=limits["entries"], but=limits["shown"])
            why = (
                f"it printed {said} bytes, more than {limits['said']}"
                if said > limits["said"]
                else f"it wrote {size} bytes, more than {limits['size']}"
                if size > limits["size"]
                else f"it made more than {limits['entries']} files"
                if entries > limits["entries"]
                else ""
            )
            if why:
                scope.lose(f"{why}, and was ended")
            else:
                self.loop.after(_LOOK, look)

        self.loop.after(_LOOK, look)


def _plain_signals() -> None:
    """Resets inherited signal settings, and lets only the end of stdin end the run init.

    Signals get a handler in place of being ignored, because a started program inherits an ignored signal, but no
    handler.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in signal.valid_signals():
        if number not in (signal.SIGPIPE, signal.SIGXFSZ) and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, lambda *_: None)


def main() -> None:
    os.umask(0o022)
    _plain_signals()
    RunInit().serve()


if __name__ == "__main__":
    main()
