"""Live processes and byte streams: the runner asks for each read, so that nothing piles up on the way."""

from __future__ import annotations

import os
import socket
from typing import Any, Callable, Dict, Protocol  # noqa: UP035

from pytest_codexsandbox.guest.event_loop import CHUNK, WRITE, Loop
from pytest_codexsandbox.guest.process_scope import ProcessScope
from pytest_codexsandbox.guest.streams import Feed, Pipe

Body = Dict[str, Any]  # noqa: UP006
Reply = Callable[..., None]


class TooSlow(Exception):
    """Nothing came in time; the runner raises TimeoutError."""


class LivePeer(Protocol):
    def talk(self, reply: Reply, body: Body, blobs: list[bytes]) -> None: ...


class Conversations:
    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._count = 0
        self._partners: dict[int, LivePeer] = {}

    def _add(self, partner: LivePeer) -> int:
        self._count += 1
        self._partners[self._count] = partner
        return self._count

    def spawned(self, scope: ProcessScope, over: Callable[[], None]) -> int:
        return self._add(LiveProcess(self._loop, scope, over))

    def talk(self, reply: Reply, body: Body, blobs: list[bytes]) -> None:
        number = body["conversation"]
        partner = self._partners.get(number)
        if partner is None:
            raise LookupError("this live process was already closed")
        if body["word"] == "forget":
            del self._partners[number]
        partner.talk(reply, body, blobs)

    def dial(self, reply: Reply, address: str, timeout: float) -> None:
        family, where, folder = _address(address)
        connection = socket.socket(family, socket.SOCK_STREAM)
        connection.setblocking(False)

        def close() -> None:
            self._loop.forget(connection.fileno())
            connection.close()

        def failed(problem: BaseException) -> None:
            close()
            reply(error=problem)

        def connected() -> None:
            timer.cancel()
            self._loop.forget(connection.fileno())
            code = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                failed(OSError(code, f"{address}: {os.strerror(code)}"))
            else:
                reply(conversation=self._add(LiveStream(self._loop, connection)))

        timer = self._loop.after(timeout, lambda: failed(TooSlow(f"{address}: no answer in {timeout:.1f} s")))
        try:
            connection.connect(where)
        except BlockingIOError:
            self._loop.watch(connection.fileno(), WRITE, connected)
        except OSError as problem:
            timer.cancel()
            failed(OSError(problem.errno, f"{address}: {problem.strerror}"))
        else:
            connected()
        finally:
            if folder >= 0:
                os.close(folder)


def _address(text: str) -> tuple[int, Any, int]:
    """Returns the family, the address, and the descriptor of a folder that the address goes through (-1: none)."""
    kind, _, rest = text.partition(":")
    if kind == "tcp" and rest.isdigit():
        return socket.AF_INET, ("127.0.0.1", int(rest)), -1
    if kind == "abstract" and rest:
        return socket.AF_UNIX, "\0" + rest, -1
    if kind == "unix" and rest.startswith("/"):
        folder = os.open(os.path.dirname(rest), os.O_PATH | os.O_DIRECTORY)
        return socket.AF_UNIX, f"/proc/self/fd/{folder}/{os.path.basename(rest)}", folder
    raise ValueError(f"{text!r} is no address: tcp:PORT, unix:/path or abstract:name")


def read_some(loop: Loop, pipe: Pipe, reply: Reply, body: Body) -> None:
    """Returns at least one byte, or b"" at the end; raises TooSlow."""
    if pipe.kept or not pipe.open:
        reply(blobs=[pipe.take(body["limit"])])
        return

    def over() -> None:
        timer.cancel()
        pipe.listeners.remove(came)
        pipe.pause()

    def came() -> None:
        if pipe.kept or not pipe.open:
            over()
            reply(blobs=[pipe.take(body["limit"])])

    def too_slow() -> None:
        over()
        reply(error=TooSlow(f"nothing was printed in {body['timeout']:.1f} s"))

    timer = loop.after(body["timeout"], too_slow)
    pipe.listeners.append(came)
    pipe.flow()


class LiveProcess:
    """A scope that the runner talks to while it runs."""

    def __init__(self, loop: Loop, scope: ProcessScope, over: Callable[[], None]) -> None:
        self._loop, self._scope, self._over = loop, scope, over
        self._result: Body | None = None
        self._waiting: list[Callable[[], None]] = []
        scope.done = self._done

    def _done(self, result: Body) -> None:
        self._result = result
        self._over()
        waiting, self._waiting = self._waiting, []
        for go in waiting:
            go()

    def talk(self, reply: Reply, body: Body, blobs: list[bytes]) -> None:
        word, scope = body["word"], self._scope
        if word == "read":
            read_some(self._loop, scope.out if body["stream"] == "stdout" else scope.err, reply, body)
            return
        if word == "wait":
            self._wait(reply, body["timeout"])
            return
        if word == "write":
            scope.feed.put(blobs[0])
        elif word == "close-stdin":
            scope.feed.put(b"", end=True)
        elif word == "signal":
            scope.signal(body["number"])
        elif word == "resize":
            scope.resize(body["rows"], body["columns"])
        elif word == "forget":
            self._end(reply)
            return
        reply()

    def _end(self, reply: Reply) -> None:
        if self._result is not None:
            reply()
            return
        self._waiting.append(reply)
        self._scope.end()

    def _wait(self, reply: Reply, timeout: float) -> None:
        """Answers when the process has ended. Reads its output meanwhile, so that a full pipe does not keep it from
        ending.
        """
        scope = self._scope
        scope.out.flow()
        scope.err.flow()

        def go() -> None:
            timer.cancel()
            reply(results=[self._result], blobs=[bytes(scope.out.kept), bytes(scope.err.kept)])

        def too_slow() -> None:
            self._waiting.remove(go)
            scope.out.pause()
            scope.err.pause()
            reply(error=TooSlow(f"it has not ended after {timeout:.1f} s"))

        timer = self._loop.after(timeout, too_slow)
        if self._result is not None:
            go()
        else:
            self._waiting.append(go)


class LiveStream:
    """A connection to a port or socket of the environment."""

    def __init__(self, loop: Loop, connection: socket.socket) -> None:
        self._loop = loop
        fd = connection.detach()
        self._feed = Feed(loop, os.dup(fd))
        self._pipe = Pipe(loop, fd, 1 << 62)

    def talk(self, reply: Reply, body: Body, blobs: list[bytes]) -> None:
        word = body["word"]
        if word == "read":
            read_some(self._loop, self._pipe, reply, {**body, "limit": min(body["limit"], CHUNK)})
            return
        if word == "write":
            self._feed.put(blobs[0])
        elif word == "forget":
            self._feed.close()
            self._pipe.close()
        reply()
