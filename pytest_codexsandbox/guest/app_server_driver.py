"""App-server driver: runs one command through `codex app-server`, and ends with the exit code that Codex reports.

    PYTHON -I -S app_server_driver.py CHANNEL COUNT CODEX app-server … COMMAND…      COUNT: of Codex' words

The steps are initialize, command/exec, stop. The command's output passes through CHANNEL (fifo_channel.py), Codex's own
goes to stderr. The driver runs with only the files beside it: the standard library of Python 3.9.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from pytest_codexsandbox.guest.driver import Codex, arguments, leave, report
    from pytest_codexsandbox.guest.fifo_channel import Channel, wrapped
else:  # started as a file: the files beside it are modules
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from driver import Codex, arguments, leave, report
    from fifo_channel import Channel, wrapped

CLIENT = {"name": "client", "title": "client", "version": "1"}
LONGEST = 24 * 60 * 60 * 1000  # ms: the agent enforces the real time limit
# Up to 0.111, Codex reports a failed command this way if its output looks like a refusal by a sandbox.
DENIED = re.compile(r"sandbox denied exec error, exit code: (\d+),")
_UNREAD = 2000  # characters to show of a line that is no answer


class Server:
    """Newline-delimited JSON-RPC, one question at a time."""

    def __init__(self, argv: list[str]) -> None:
        self.codex = Codex(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._number = 0

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Returns the answer.

        If Codex refuses, the driver prints the refusal and ends with 1. If the refusal reports the command's own end,
        the driver returns that end.
        """
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params}, method)
        while True:
            message = self._read(method)
            if message.get("id") != self._number or "method" in message:
                continue  # a notification, or a question of Codex, which no person can answer
            if "error" in message:
                return self._refused(method, message["error"])
            return dict(message["result"])

    def _refused(self, method: str, error: dict[str, Any]) -> dict[str, Any]:
        text = str(error.get("message"))
        denied = DENIED.search(text)
        if not denied:
            report(f"{method} was refused: {error.get('code')} {text}")
            self.codex.stop()
            leave(1)
        return {"exitCode": int(denied[1]), "stderr": text}

    def notify(self, method: str) -> None:
        self._send({"method": method}, method)

    def _send(self, message: dict[str, Any], method: str) -> None:
        assert self.codex.process.stdin is not None
        try:
            self.codex.process.stdin.write(json.dumps(message).encode() + b"\n")
        except OSError:
            self._gone(method)

    def _read(self, method: str) -> dict[str, Any]:
        """Returns the next message. Prints lines that are no message: they may be the only trace of an error."""
        assert self.codex.process.stdout is not None
        while line := self.codex.process.stdout.readline():
            try:
                message = json.loads(line)
            except ValueError:
                message = None
            if isinstance(message, dict):
                return message
            report(f"no JSON: {line[:_UNREAD].decode('latin-1').rstrip()}")
        return self._gone(method)

    def _gone(self, method: str) -> NoReturn:
        self.codex.end_as_it_did(f"Codex ended without an answer to {method}")


def main(words: list[str]) -> None:
    folder, argv, command = arguments(words)
    channel = Channel(folder)
    server = Server(argv)
    server.ask("initialize", {"clientInfo": CLIENT, "capabilities": {"experimentalApi": True}})
    server.notify("initialized")
    ended = server.ask("command/exec", {"command": wrapped(folder, command), "timeoutMs": LONGEST})
    channel.finish()
    for stream in ("stdout", "stderr"):  # on the former nothing is expected
        os.write(2, str(ended.get(stream) or "").encode("utf-8", "backslashreplace"))
    server.codex.stop()
    leave(int(ended["exitCode"]))


if __name__ == "__main__":
    main(sys.argv[1:])
