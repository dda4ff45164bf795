"""Exec turn driver: runs one command through `codex exec`: a turn in which our model on loopback asks for that command.

    PYTHON -I -S exec_turn_driver.py CHANNEL COUNT CODEX exec … COMMAND…      COUNT: of Codex' words

Ends with the exit code that Codex reports to the model. The command's output passes through CHANNEL (fifo_channel.py),
Codex's own goes to stderr. The driver runs with only the files beside it: the standard library of Python 3.9.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_codexsandbox.guest.driver import Codex, arguments, fault, leave, report
    from pytest_codexsandbox.guest.fifo_channel import Channel, wrapped
    from pytest_codexsandbox.guest.scripted_model import Model
else:  # started as a file: the files beside it are modules
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from driver import Codex, arguments, fault, leave, report
    from fifo_channel import Channel, wrapped
    from scripted_model import Model

NAME = "local"  # of the provider and its model
PROVIDER = {
    "name": json.dumps(NAME),
    "wire_api": '"responses"',
    "request_max_retries": "0",
    "stream_max_retries": "0",
    "stream_idle_timeout_ms": "86400000",
    "requires_openai_auth": "false",
    "supports_websockets": "false",
}
PROMPT = "Run the command."
_TEXT = 64 * 1024  # characters of Codex's report to its model
_EVENT = 2000  # characters of a line of its own
_EVENTS = 64


def overrides(address: str) -> list[str]:
    """Returns the words that select our model, whatever a file says; they come after all others."""
    provider = {**PROVIDER, "base_url": json.dumps(address)}
    pairs = {
        "model": json.dumps(NAME),
        "model_provider": json.dumps(NAME),
        **{f"model_providers.{NAME}.{key}": value for key, value in provider.items()},
    }
    return [word for key, value in pairs.items() for word in ("-c", f"{key}={value}")]


def listen(events: IO[bytes]) -> None:
    """Prints Codex's messages about itself. Drops those about its commands, because the model gets a better report."""
    room = _EVENTS
    for line in events:
        text = line.decode("utf-8", "replace").rstrip()
        if text and room > 0 and not is_of_a_command(text):
            room -= 1
            os.write(2, (text[:_EVENT] + "\n").encode("utf-8", "backslashreplace"))


def is_of_a_command(text: str) -> bool:
    try:
        event = json.loads(text)
        return bool(event["item"]["type"] == "command_execution")
    except (ValueError, TypeError, KeyError):
        return False


def around_proxies() -> None:
    """Keeps Codex from asking a proxy for our loopback address."""
    if any(os.environ.get(name) for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")):
        os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"


def main(words: list[str]) -> None:
    folder, argv, command = arguments(words)
    channel, model = Channel(folder), Model(wrapped(folder, command))
    around_proxies()
    codex = Codex([*argv, *overrides(model.address), "--", PROMPT], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert codex.process.stdout is not None
    listen(codex.process.stdout)
    codex.ended()
    if model.code is None and codex.process.returncode:
        codex.end_as_it_did(f"Codex ended before it reported the command's end; model requests: {model.asked}")
    if model.code is None:
        fault(f"Codex ended with 0 and did not report the command's end; model requests: {model.asked}")
    channel.finish()
    if codex.process.returncode:
        report(f"Codex itself ended with {codex.process.returncode}")
    os.write(2, model.text[:_TEXT].encode("utf-8", "backslashreplace"))
    leave(model.code)


if __name__ == "__main__":
    main(sys.argv[1:])
