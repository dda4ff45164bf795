"""An engine's socket under another address: what comes in there goes on to it, and back.

As a program it is the part of `ssh -L HERE:THERE HOST COMMAND` that a tunnel of ours needs, without another machine:

    python -m tests.docker.relay OPTIONS… -L HERE:THERE -- HOST COMMAND
"""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress


class Relay:
    """`taken`: how many connections came by this way."""

    def __init__(self, listening: socket.socket, path: str) -> None:
        self._listening, self._path = listening, path
        self.taken = 0
        self._ends: list[socket.socket] = []
        threading.Thread(target=self._take, daemon=True).start()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)  # a thread that waits in accept() is woken by no close()
        self._listening.close()

    def cut(self) -> None:
        """Every connection that stands is lost, at both of its ends."""
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _take(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                self.taken += 1
                threading.Thread(target=self._carry, args=(near,), daemon=True).start()

    def _carry(self, near: socket.socket) -> None:
        far = socket.socket(socket.AF_UNIX)
        with closing(near), closing(far):
            far.connect(self._path)
            self._ends += (near, far)
            back = threading.Thread(target=_pour, args=(far, near), daemon=True)
            back.start()
            _pour(near, far)
            back.join()


def _pour(source: socket.socket, target: socket.socket) -> None:
    """To its end, which is passed on as one: an attached process still answers after the end of its stdin."""
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextmanager
def over_tcp(unix_host: str) -> Iterator[tuple[str, Relay]]:
    """Its address, and itself."""
    listening = socket.create_server(("127.0.0.1", 0))
    relay = Relay(listening, unix_host.removeprefix("unix://"))
    try:
        yield f"tcp://127.0.0.1:{listening.getsockname()[1]}", relay
    finally:
        relay.close()


def _as_ssh() -> None:
    here, there = sys.argv[sys.argv.index("-L") + 1].split(":")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(here)
    listening.listen()
    Relay(listening, there)
    print("what a login says", flush=True)
    subprocess.run(("sh", "-c", sys.argv[-1]), check=True)


if __name__ == "__main__":
    _as_ssh()
