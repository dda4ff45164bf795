"""Cleanup watcher: a process that outlives this one and removes its leftovers from an engine if it is killed.

A running container ends by itself when its runner is gone. A container that was created and not yet started does not,
nor does a network. So a small process sleeps on a pipe from this one. When the pipe closes without a word, it removes
what carries the labels of this process.
"""

import json
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.sweep import find
from pytest_codexsandbox.environments.run_dirs import Owner
from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.system import environ, process

# By what an engine is reached; ssh also wants its agent and its user.
_ITS_WAY: Final = ("DOCKER_", "HOME", "PATH", "SSH_", "USER", "LOGNAME", "XDG_", "CODEXSANDBOX_")
# Nothing is imported until it has to act: it costs a run no more than the start of an interpreter.
_SCRIPT: Final = """
import json, sys
path, host, owner = json.loads(sys.argv[1])
if not sys.stdin.buffer.readline():
    sys.path[:] = path
    from pytest_codexsandbox.environments.container.cleanup_watcher import clear
    clear(host, owner)
"""


class CleanupWatchers:
    """Starts one watcher for each engine, as long as an environment is open in that engine."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users: dict[str, int] = {}
        self._stacks: dict[str, ExitStack] = {}

    @contextmanager
    def over(self, host: str) -> Iterator[None]:
        with self._lock:
            self._users[host] = self._users.get(host, 0) + 1
            if self._users[host] == 1:
                self._stacks[host] = ExitStack()
                self._stacks[host].enter_context(_watcher(host))
        try:
            yield
        finally:
            with self._lock:
                self._users[host] -= 1
                if not self._users[host]:
                    self._stacks.pop(host).close()


@contextmanager
def _watcher(host: str) -> Iterator[None]:
    arguments = json.dumps([sys.path, host, list(Owner.me("").process)])
    environment = {name: value for name, value in environ.copied().items() if name.startswith(_ITS_WAY)}
    with process.running((sys.executable, "-S", "-c", _SCRIPT, arguments), cwd="/", env=environment) as child:
        try:
            yield
        finally:
            assert child.stdin is not None
            with suppress(OSError):
                child.stdin.write(b"all is removed\n")
            process.let_end(child, within=5.0)


def clear(host: str, process: Sequence[object]) -> None:
    """Removes all that a process left, started or not; spares what a process with the same number on another machine
    made.

    Tries for a while, because the engine may be about to create one more.
    """
    limit, quiet = time.monotonic() + 30, 0
    while quiet < 3 and time.monotonic() < limit:
        quiet += 1
        with suppress(CodexSandboxError), Engine(host, timeout=10) as engine:
            for left in find(engine):
                if left.owner.process == tuple(process):
                    quiet = 0
                    engine.remove(left.id) if left.kind == "container" else engine.remove_network(left.id)
        time.sleep(0.3)
