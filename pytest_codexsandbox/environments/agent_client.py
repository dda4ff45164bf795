"""Agent client: the runner's end of the pipe to an agent. It sends requests and gives each answer to its caller."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from queue import Empty, SimpleQueue
from typing import IO, Any, Final

import msgspec

from pytest_codexsandbox.errors import EnvironmentLost, HarnessError
from pytest_codexsandbox.guest import wire
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.protocols import Notify, silent

PATIENCE: Final = 60.0  # beyond what was asked for: the agent itself keeps every limit
_NOTICE: Final = "notice"  # a message that is not yet the answer
TURN_TIMEOUT: Final = 300.0  # for calls that have to share /tmp with another run


class AgentClient:
    """Client of an agent, safe for several threads. `writing` and `reading` are unbuffered pipes to the agent.

    The calling thread prints notices that the agent sends before its answer, such as a wait for another run. `explain`:
    returns why the agent may have ended, called once if it ends unasked. `silence`: returns why it may not answer.
    """

    def __init__(
        self,
        writing: IO[bytes],
        reading: IO[bytes],
        *,
        name: str,
        say: Notify = silent,
        explain: Callable[[], str] = lambda: "",
        silence: Callable[[], str] = lambda: "",
    ) -> None:
        self._writing, self._reading, self.name, self._say = writing, reading, name, say
        self._explain, self._silence = explain, silence
        self._numbers = count(1)
        self._waiting: dict[int, SimpleQueue[wire.Message | EnvironmentLost]] = {}
        self._lock = threading.Lock()
        self._lost = ""
        self._listener = threading.Thread(target=self._listen, name=f"agent of {name}", daemon=True)
        self._listener.start()

    def ask(self, op: str, *, blobs: Sequence[bytes] = (), within: float = 0.0, **words: Any) -> wire.Message:
        """Returns the answer. An agent's error becomes a HarnessError, its TooSlow a TimeoutError, its end
        EnvironmentLost.
        """
        return self.begin(op, blobs=blobs, within=within, **words)()

    def farewell(self, within: float) -> None:
        """Asks the agent to end in good order. Does not wait longer than `within`, because the caller may be
        interrupted.
        """
        with suppress(HarnessError, TimeoutError):
            self.ask("bye", within=within - PATIENCE)

    def begin(
        self, op: str, *, blobs: Sequence[bytes] = (), within: float = 0.0, **words: Any
    ) -> Callable[[], wire.Message]:
        """Sends a request and returns a function that waits for its answer.

        The agent works in the order of the requests, so several may be under way at once.
        """
        number, inbox = next(self._numbers), SimpleQueue[wire.Message | EnvironmentLost]()
        with self._lock:
            self._refuse_if_lost()
            self._waiting[number] = inbox
            self._write(wire.pack({"id": number, "op": op, **words}, blobs))
        end = time.monotonic() + within + PATIENCE

        def answer() -> wire.Message:
            try:
                body, payload = self._answer(inbox, end)
            except Empty:
                self._waiting.pop(number, None)
                raise self._silent(op, within + PATIENCE) from None
            _raise_error(body, op, self.name)
            return body, payload

        return answer

    def _answer(self, inbox: "SimpleQueue[wire.Message | EnvironmentLost]", end: float) -> wire.Message:
        while True:
            message = inbox.get(timeout=max(0.0, end - time.monotonic()))
            if isinstance(message, EnvironmentLost):
                raise message
            if _NOTICE not in message[0]:
                return message
            self._say(message[0][_NOTICE])

    def _silent(self, op: str, seconds: float) -> EnvironmentLost:
        """Marks the agent as lost, because each further request would wait as long. Returns the error."""
        what = f"the agent did not answer {op!r} in {seconds:.0f} s"
        with self._lock:
            self._lost = self._lost or what
        return EnvironmentLost(
            what, where=self.name, why=self._silence() or "the machine is overloaded, or the agent was stopped"
        )

    def close(self) -> None:
        """Closes the agent's stdin, upon which the agent ends all that it started."""
        with self._lock:
            self._lost = self._lost or "it was asked to stop"
            self._writing.close()

    def join(self, within: float = PATIENCE) -> None:
        """Waits for the thread that reads from the pipe, after the agent has ended."""
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
            raise EnvironmentLost("the agent has ended", where=self.name, why=self._lost)

    def _listen(self) -> None:
        unpacker, why = wire.Unpacker(), "it ended without a message"
        try:
            while data := self._reading.read(1 << 20):
                for body, blobs in unpacker.feed(data):
                    inbox = self._waiting.get(body["id"]) if _NOTICE in body else self._waiting.pop(body["id"], None)
                    if inbox is not None:
                        inbox.put((body, blobs))
        except wire.ProtocolError as problem:
            why = str(problem)
        except (OSError, ValueError):
            pass
        if not self._lost:
            why = "; ".join(filter(None, (why, self._explain())))
        with self._lock:
            self._lost = self._lost or why
            waiting, self._waiting = list(self._waiting.values()), {}
        for inbox in waiting:
            inbox.put(EnvironmentLost("the agent has ended", where=self.name, why=self._lost))


def _raise_error(body: Mapping[str, Any], op: str, where: str) -> None:
    error = body.get("error")
    if error is None:
        return
    if error["kind"] == "TooSlow":
        raise TimeoutError(error["text"])
    raise HarnessError(f"{op}: {error['text']}", where=where, why=error["kind"])


def as_words(command: Command) -> dict[str, Any]:
    words: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(command, stdin=b"", files={}))
    del words["stdin"], words["files"]
    return words


def as_finished(result: Mapping[str, Any], stdout: bytes, stderr: bytes) -> CommandResult:
    return msgspec.structs.replace(msgspec.convert(result, CommandResult), stdout=stdout, stderr=stderr)


def lost(why: BaseException) -> CommandResult:
    return CommandResult(ended="lost", error=str(why))
