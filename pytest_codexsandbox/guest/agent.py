"""Agent: our process in an environment, outside every sandbox. It serves the runner's requests over a pipe.

`PYTHON -I -S agent.py`, messages as in wire.py on stdin and stdout. When stdin closes, for any reason, the agent ends
every process that it started and removes the leftovers of its worlds. Then it ends itself.
"""

from __future__ import annotations

import os
import signal
import sys
import types

if __name__ == "__main__":  # started as a file: this file's folder becomes the package
    for _name, _path in (("pytest_codexsandbox", []), ("pytest_codexsandbox.guest", [os.path.dirname(__file__)])):
        sys.modules[_name] = types.ModuleType(_name)
        sys.modules[_name].__path__ = _path

from pytest_codexsandbox.guest import wire
from pytest_codexsandbox.guest.agent_server import Agent
from pytest_codexsandbox.guest.event_loop import READ


def _plain_signals(agent: Agent) -> None:
    """Resets inherited signal settings, so that a subject starts with no signal ignored or blocked."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in signal.valid_signals():
        if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE, signal.SIGCHLD):
            try:
                if signal.getsignal(number) is signal.SIG_IGN:
                    signal.signal(number, signal.SIG_DFL)
            except (OSError, ValueError):
                continue

    def exit_as_signalled(number: int, frame: types.FrameType | None) -> None:
        agent.loop.after(0, agent.end_alone)  # not here: it may be in the middle of anything

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, exit_as_signalled)


def _watch_parent(agent: Agent) -> None:
    """Ends the agent when the runner dies, even if another process holds a copy of the pipe open."""
    try:
        fd = os.pidfd_open(os.getppid())  # type: ignore[attr-defined,unused-ignore]
    except (AttributeError, OSError):
        return

    def gone() -> None:
        agent.loop.forget(fd)
        agent.end_alone()

    agent.loop.watch(fd, READ, gone)


def main() -> None:
    os.umask(0o022)
    unpacker = wire.Unpacker()
    while True:
        data = os.read(0, 1 << 16)
        if not data:
            return
        messages = list(unpacker.feed(data))
        if messages:
            break
    body, _ = messages[0]
    try:
        agent = Agent(body)
    except Exception as problem:
        error = {"kind": type(problem).__name__, "text": str(problem)}
        os.write(1, b"".join(wire.pack({"id": body["id"], "error": error})))
        raise
    _plain_signals(agent)
    if body["watch_parent"]:
        _watch_parent(agent)
    agent.do_facts(agent.replier(body["id"]), body, [])
    for later, blobs in messages[1:]:
        agent.handle(later, blobs)
    agent.serve(unpacker)


if __name__ == "__main__":
    main()
