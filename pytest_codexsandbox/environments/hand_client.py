"""The runner's end of the pipe to a hand: asks, and gives each answer to who asked."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswer
from itertools import count
from typing import IO, Any, Final

import msgspec

from pytest_codexsandbox.errors import MachineFault
from pytest_codexsandbox.guest import wire
from pytest_codexsandbox.model.command import Command, Finished

PATIENCE: Final = 60.0  # beyond what was asked for: the hand itself keeps every limit
TURN_TIMEOUT: Final = 300.0  # for calls that have to share /tmp with another run


class Lost(MachineFault):
    """The hand has ended, or speaks no more."""


class HandClient:
    """Safe to be used by several threads. `writing` and `reading` are unbuffered pipes to the hand."""

    def __init__(
        self, writing: IO[bytes], reading: IO[bytes], *, name: str, explain: Callable[[], str] = lambda: ""
    ) -> None:
        """`explain`: why it may have ended, asked once when it has without being told to."""
        self._writing, self._reading, self.name, self._explain = writing, reading, name, explain
        self._numbers = count(1)
        self._waiting: dict[int, Future[wire.Message]] = {}
        self._lock = threading.Lock()
        self._lost = ""
        self._listener = threading.Thread(target=self._listen, name=f"hand of {name}", daemon=True)
        self._listener.start()

    def ask(self, op: str, *, blobs: Sequence[bytes] = (), within: float = 0.0, **words: Any) -> wire.Message:
        """The answer. An error of the hand is a MachineFault, its TooSlow a TimeoutError, its end Lost."""
        number, future = next(self._numbers), Future[wire.Message]()
        with self._lock:
            self._refuse_if_lost()
            self._waiting[number] = future
            self._write(wire.pack({"id": number, "op": op, **words}, blobs))
        try:
            body, payload = future.result(within + PATIENCE)
        except NoAnswer:
            self._waiting.pop(number, None)
            raise Lost(
                f"the hand did not answer {op!r} in {within + PATIENCE:.0f} s", where=self.name,
                why="the machine is overloaded, or the hand was stopped",
            ) from None  # fmt: skip
        _raise_error(body, op, self.name)
        return body, payload

    def close(self) -> None:
        """The hand sees the end of its stdin, and ends all that it started."""
        with self._lock:
            self._lost = self._lost or "it was told to end"
            self._writing.close()

    def join(self, within: float = PATIENCE) -> None:
        """After the hand has ended: nobody reads from the pipe any more."""
        self._listener.join(within)

    def _write(self, pieces: list[bytes]) -> None:
        try:
            for piece in pieces:
                view = memoryview(piece)
                while view:
                    view = view[self._writing.write(view) :]
        except (OSError, ValueError):
            self._lost = self._lost or "its pipe is closed"
            self._refuse_if_lost()

    def _refuse_if_lost(self) -> None:
        if self._lost:
            raise Lost("the hand has ended", where=self.name, why=self._lost)

    def _listen(self) -> None:
        unpacker, why = wire.Unpacker(), "it ended without a word"
        try:
            while data := self._reading.read(1 << 20):
                for body, blobs in unpacker.feed(data):
                    future = self._waiting.pop(body["id"], None)
                    if future is not None:
                        future.set_result((body, blobs))
        except wire.Foreign as problem:
            why = str(problem)
        except (OSError, ValueError):
            pass
        if not self._lost:
            why = "; ".join(filter(None, (why, self._explain())))
        with self._lock:
            self._lost = self._lost or why
            waiting, self._waiting = list(self._waiting.values()), {}
        for future in waiting:
            future.set_exception(Lost("the hand has ended", where=self.name, why=self._lost))


def _raise_error(body: Mapping[str, Any], op: str, where: str) -> None:
    error = body.get("error")
    if error is None:
        return
    if error["kind"] == "TooSlow":
        raise TimeoutError(error["text"])
    raise MachineFault(f"{op}: {error['text']}", where=where, why=error["kind"])


def as_words(command: Command) -> dict[str, Any]:
    words: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(command, stdin=b""))
    del words["stdin"]
    return words


def as_finished(result: Mapping[str, Any], stdout: bytes, stderr: bytes) -> Finished:
    return msgspec.structs.replace(msgspec.convert(result, Finished), stdout=stdout, stderr=stderr)


def lost(why: BaseException) -> Finished:
    return Finished(ended="lost", error=str(why))
