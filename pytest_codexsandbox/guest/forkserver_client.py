"""Fork server client: the run init's side of a fork server, which runs only during a call. Each call is a scope."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from typing import Any, Callable, Dict, Final  # noqa: UP035

from pytest_codexsandbox.guest import process_tree
from pytest_codexsandbox.guest.event_loop import Loop
from pytest_codexsandbox.guest.process_scope import ProcessScope

_PROGRAM: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "forkserver.py")
_MOST: Final = 16


class ForkServer:
    """Client of one fork server. It is stopped between calls, so that code of the module cannot write during a
    survey.
    """

    def __init__(self, loop: Loop, env: dict[str, str]) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        started = subprocess.Popen(
            [sys.executable, _PROGRAM, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env=env,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        self.pid, self._socket, self.lives = started.pid, ours, True
        started.returncode = 0  # the loop waits for it
        loop.child(self.pid, self._ended)

    def _ended(self, status: int, usage: Any) -> None:
        self.lives = False

    def fork(self, words: dict[str, Any], streams: list[int], *, within: float) -> int:
        """Returns the number of the process that performs the call. OSError says why there is none."""
        self._send(signal.SIGCONT)
        try:
            self._socket.settimeout(within)
            socket.send_fds(self._socket, [json.dumps(words).encode()], streams)
            answer = json.loads(self._socket.recv(1 << 16) or b'{"error": "the Python that imported it has ended"}')
        except (OSError, ValueError) as problem:
            self.end()
            late = f"{words['module']} was not imported in {within:.0f} s"
            raise OSError(late if isinstance(problem, TimeoutError) else str(problem)) from problem
        if "error" in answer:
            raise OSError(str(answer["error"]))
        return int(answer["pid"])

    def rest(self) -> list[str]:
        """Stops the fork server until the next call. Ends the processes that the module started, and returns their
        names.
        """
        self._send(signal.SIGSTOP)
        left = [pid for pid in process_tree.children(self.pid) if process_tree.is_alive(pid)]
        named = [process_tree.describe(pid) for pid in left]
        process_tree.end(left)
        return named

    def end(self) -> None:
        process_tree.end([self.pid])
        self._socket.close()

    def _send(self, number: int) -> None:
        if self.lives:
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                pass


class ForkServers:
    """One fork server for each module and search path, so that no module sees what another does to its Python."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._found: Dict[str, ForkServer] = {}  # noqa: UP006

    def of(self, call: dict[str, Any], env: dict[str, str]) -> ForkServer:
        key = json.dumps([call["module"], call["path"]])
        found = self._found.pop(key, None)
        if found is None or not found.lives:
            found = ForkServer(self._loop, env)
        self._found[key] = found  # the last one used is last
        while len(self._found) > _MOST:
            self._found.pop(next(iter(self._found))).end()
        return found

    def rest(self) -> list[str]:
        return [name for one in self._found.values() if one.lives for name in one.rest()]

    def end(self) -> None:
        for one in self._found.values():
            one.end()


class ForkedCall(ProcessScope):
    """A scope whose first process is forked by a fork server, and not started from a file."""

    fork_servers: ForkServers

    @classmethod
    def by(cls, fork_servers: ForkServers) -> Callable[..., ForkedCall]:
        def make(*words: Any) -> ForkedCall:
            made = cls(*words)
            made.fork_servers = fork_servers
            return made

        return make

    def _popen(self, stdin: int, stdout: int, stderr: int, setup: Callable[[], None] | None) -> None:
        command = self._command
        env = {**command["env"], process_tree.MARK: self.id}
        fork_server = self.fork_servers.of(command["call"], env)
        words = {**command["call"], "env": env, "cwd": command["cwd"]}
        self.pid = fork_server.fork(words, [stdin, stdout, stderr], within=command["timeout"])
