"""App-server client: queries a live `codex app-server` by newline-delimited JSON-RPC through an environment's pipes."""

import json
import time
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.protocols import Environment

CLIENT: Final = {"name": "client", "title": "client", "version": "1"}
CAPABLE: Final = {"experimentalApi": True}
_CHUNK: Final = 1 << 16
_LONGEST_LINE: Final = 16 << 20
_TO_END: Final = 5.0


class Refused(Exception):
    """Codex answered with an error, which is quoted."""


class Ended(Exception):
    """Codex has ended instead of answering."""

    def __init__(self, finished: CommandResult) -> None:
        self.finished = finished
        super().__init__(_last_words(finished))


class AskingServer:
    """A live app-server, started at once. The caller closes it."""

    def __init__(self, environment: Environment, command: Command, *, patience: float) -> None:
        self._process = environment.spawn(command)
        self._patience, self._where = patience, environment.spec.id
        self._buffer = bytearray()
        self._number = 0
        self.notices: list[dict[str, Any]] = []  # messages that answer no question
        try:
            self.ask("initialize", {"clientInfo": CLIENT, "capabilities": CAPABLE})
            self._write({"method": "initialized"})
        except BaseException:
            self.close()
            raise

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the result. Raises Refused, Ended, or a HarnessError if no answer comes in time."""
        self._number += 1
        until = time.monotonic() + self._patience
        self._write({"id": self._number, "method": method, "params": params})
        while True:
            message = self._message(method, until)
            if "method" in message:
                self.notices.append(message)
            elif message.get("id") == self._number:
                break
        if "error" in message:
            raise Refused(str((message["error"] or {}).get("message", message["error"])))
        return dict(message["result"])

    def close(self) -> None:
        self._process.close()

    def _write(self, message: Mapping[str, Any]) -> None:
        self._process.write(json.dumps(message).encode() + b"\n")

    def _message(self, method: str, until: float) -> dict[str, Any]:
        """Returns the next line that is a JSON object; skips others."""
        while True:
            line, end, rest = self._buffer.partition(b"\n")
            if not end:
                self._read_on(method, until)
                continue
            self._buffer = rest
            try:
                return msgspec.json.decode(line, type=dict[str, Any])
            except msgspec.MsgspecError:
                continue

    def _read_on(self, method: str, until: float) -> None:
        try:
            data = self._process.read(_CHUNK, max(0.01, until - time.monotonic()))
        except TimeoutError:
            data = None
        if data is None or len(self._buffer) > _LONGEST_LINE:
            raise HarnessError(
                f"codex app-server did not answer {method} in {self._patience:.0f} s",
                where=self._where,
                why="it hangs, or the machine is overloaded",
                next_step="--codex-timeout-scale 3",
            )
        if not data:
            raise Ended(self._process.wait(_TO_END))
        self._buffer += data


def _last_words(finished: CommandResult) -> str:
    how = f"signal {finished.signal}" if finished.ended == "signal" else f"exit code {finished.exit}"
    said = finished.stderr.decode("utf-8", "replace").strip()
    return f"Codex ended ({how}){': ' + said[-2000:] if said else ' without a message'}"
