"""Listeners: an HTTP server, a DNS responder, unix sockets and a named pipe, outside the sandbox.

They record what arrives; nothing else counts as "the network was reached".
"""

from __future__ import annotations

import collections
import os
import re
import select
import socket
import stat
import time
from typing import Callable, Final  # noqa: UP035

from pytest_codexsandbox.guest.event_loop import READ, Loop, Outbox

ANSWER: Final = "192.0.2.7"  # for any name: a documentation address that no other server answers
UNKNOWN: Final = "invalid"  # the top of every name that does not exist (RFC 6761)
_LONGEST: Final = 16 * 1024
_LONGEST_TAKING: Final = 5.0  # seconds for queued data: a flood must not block the agent
_A: Final = 1
_DNS: Final = 53


class Listeners:
    """All listeners of an environment. `values` are the placeholders that name them."""

    def __init__(self, loop: Loop, folder: str, word: str, *, resolver: bool = False) -> None:
        self._loop = loop
        self._arrived: collections.deque[tuple[str, str]] = collections.deque(maxlen=50_000)
        self._open: list[socket.socket] = []
        self._acts: dict[int, Callable[[], None]] = {}  # what is done when something has come, by descriptor
        http = self._listen(socket.AF_INET, ("127.0.0.1", 0), lambda one: self._serve(one, "http", _http))
        port = self._answer_names(self._dns_pair())
        if resolver:  # the one that the system's own name service asks
            self._answer_names(self._bound(_DNS))
        path = os.path.join(folder, "listener.sock")
        self._listen_below(folder, "listener.sock")
        name = f"server-{word}"
        self._listen(socket.AF_UNIX, "\0" + name, lambda one: self._serve(one, "abstract", _echo))
        self._take_datagrams("\0" + name, "abstract-dgram")
        self.values = {
            "HTTP": str(http),
            "DNS": str(port),
            "UNIX": path,
            "ABSTRACT": name,
            "DGRAM": self._take_datagrams_below(folder, "listener.dgram"),
            "FIFO": self._read_pipe_below(folder, "listener.fifo"),
        }

    def arrivals(self, token: str) -> list[str]:
        """Returns the listeners that this very word reached, in order, each once. Reads first what is still queued."""
        self._take_what_came()
        word = re.compile(rf"(?<![\w-]){re.escape(token.lower())}(?![\w-])")
        return list(dict.fromkeys(listener for listener, text in self._arrived if word.search(text)))

    def close(self) -> None:
        for one in self._open:
            self._forget(one.fileno())
            one.close()
        self._forget(self._pipe)
        os.close(self._pipe)

    def _take_what_came(self) -> None:
        """Takes everything that has arrived, before the runner gets an answer.

        A connection whose client has ended waits in the kernel's queue, and without this the answer would leave it out.
        During a flood it is not known what has arrived: OverflowError.
        """
        limit = time.monotonic() + _LONGEST_TAKING
        while True:
            waiting = select.poll()
            for fd in self._acts:
                waiting.register(fd, select.POLLIN)
            ready = waiting.poll(0)
            if not ready:
                return
            if time.monotonic() > limit:
                raise OverflowError(f"more data arrives outside than can be read within {_LONGEST_TAKING:.0f} s")
            for fd, _ in ready:
                self._acts.get(fd, lambda: None)()

    def _watch(self, fd: int, act: Callable[[], None]) -> None:
        self._acts[fd] = act
        self._loop.watch(fd, READ, act)

    def _forget(self, fd: int) -> None:
        self._acts.pop(fd, None)
        self._loop.forget(fd)

    # ---- listening
    def _listen(self, family: int, address: object, serve: Callable[[socket.socket], None]) -> int:
        server = socket.socket(family, socket.SOCK_STREAM)
        server.bind(address)  # type: ignore[arg-type]
        self._accept_from(server, serve)
        return int(server.getsockname()[1]) if family == socket.AF_INET else 0

    def _listen_below(self, folder: str, name: str) -> None:
        """Binds through the folder's descriptor: an address holds 107 bytes, a path more."""
        here = os.open(folder, os.O_PATH | os.O_DIRECTORY)
        try:
            self._listen(socket.AF_UNIX, f"/proc/self/fd/{here}/{name}", lambda one: self._serve(one, "unix", _echo))
            os.chmod(name, stat.S_IMODE(0o777), dir_fd=here)
        finally:
            os.close(here)

    def _take_datagrams(self, address: str, listener: str) -> None:
        """Takes datagrams of unix sockets; answers none."""
        server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        server.bind(address)
        server.setblocking(False)
        self._open.append(server)
        self._watch(server.fileno(), lambda: self._take_lines(listener, lambda: server.recv(_LONGEST)))

    def _take_datagrams_below(self, folder: str, name: str) -> str:
        here = os.open(folder, os.O_PATH | os.O_DIRECTORY)
        try:
            self._take_datagrams(f"/proc/self/fd/{here}/{name}", "unix-dgram")
            os.chmod(name, stat.S_IMODE(0o777), dir_fd=here)
        finally:
            os.close(here)
        return os.path.join(folder, name)

    def _read_pipe_below(self, folder: str, name: str) -> str:
        """Makes a named pipe and reads it. It is open for writing as well, so that it never ends."""
        path = os.path.join(folder, name)
        os.mkfifo(path, 0o600)
        os.chmod(path, 0o666)
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._watch(self._pipe, lambda: self._take_lines("fifo", lambda: os.read(self._pipe, _LONGEST)))
        return path

    def _take_lines(self, listener: str, read: Callable[[], bytes]) -> None:
        try:
            data = read()
        except OSError:
            return
        self._arrived.extend((listener, line.lower()) for line in data.decode("latin-1").splitlines())

    def _answer_names(self, pair: tuple[socket.socket, socket.socket]) -> int:
        udp, tcp = pair
        udp.setblocking(False)
        self._open.append(udp)
        self._watch(udp.fileno(), lambda: self._datagram(udp))
        self._accept_from(tcp, lambda one: self._serve(one, "dns-tcp", _dns_over_tcp))
        return int(udp.getsockname()[1])

    def _dns_pair(self) -> tuple[socket.socket, socket.socket]:
        """Opens UDP and TCP sockets on one port."""
        for _ in range(50):
            try:
                return self._bound(0)
            except OSError:
                continue
        raise OSError("no port that is free for UDP and TCP")

    def _bound(self, port: int) -> tuple[socket.socket, socket.socket]:
        udp, tcp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(socket.AF_INET)
        try:
            udp.bind(("127.0.0.1", port))
            tcp.bind(udp.getsockname())
        except OSError as problem:
            udp.close()
            tcp.close()
            raise OSError(problem.errno, f"names cannot be answered on port {port or 'any'}: {problem}") from problem
        return udp, tcp

    def _accept_from(self, server: socket.socket, serve: Callable[[socket.socket], None]) -> None:
        server.setblocking(False)
        server.listen(64)
        self._open.append(server)

        def accept() -> None:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            connection.setblocking(False)
            serve(connection)

        self._watch(server.fileno(), accept)

    # ---- serving
    def _serve(
        self, connection: socket.socket, listener: str, answer: Callable[[bytes], tuple[str, bytes] | None]
    ) -> None:
        """Collects data until `answer` understands it; sends the answer; closes the connection."""
        got = bytearray()

        def close() -> None:
            self._forget(connection.fileno())
            connection.close()

        def read() -> None:
            try:
                part = connection.recv(_LONGEST)
            except BlockingIOError:
                return
            except OSError:
                part = b""
            got.extend(part)
            said = answer(bytes(got))
            if said is not None:
                self._arrived.append((listener, said[0].lower()))
                self._forget(connection.fileno())
                Outbox(self._loop, connection.fileno(), lost=close, drained=close).put([said[1]])
            elif not part or len(got) > _LONGEST:
                close()

        self._watch(connection.fileno(), read)

    def _datagram(self, udp: socket.socket) -> None:
        try:
            question, sender = udp.recvfrom(4096)
            said = _dns(question)
            if said is not None:
                self._arrived.append(("dns-udp", said[0].lower()))
                udp.sendto(said[1], sender)
        except OSError:
            return


def _http(got: bytes) -> tuple[str, bytes] | None:
    head, end, _ = got.partition(b"\r\n\r\n")
    if not end:
        return None
    words = head.split(b"\r\n")[0].split()
    path = words[1].decode("latin-1") if len(words) > 1 else ""
    body = path.lstrip("/").encode("latin-1")
    lines = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
    return path, lines % len(body) + body


def _echo(got: bytes) -> tuple[str, bytes] | None:
    line, end, _ = got.partition(b"\n")
    return (line.decode("latin-1"), line + end) if end else None


def _dns_over_tcp(got: bytes) -> tuple[str, bytes] | None:
    if len(got) < 2 or len(got) < 2 + int.from_bytes(got[:2], "big"):
        return None
    said = _dns(got[2:])
    return ("", b"") if said is None else (said[0], len(said[1]).to_bytes(2, "big") + said[1])


def _dns(question: bytes) -> tuple[str, bytes] | None:
    """Returns the requested name and the answer: an address for A, none for other types."""
    if len(question) < 17 or question[4:6] != b"\0\1":
        return None
    labels, at = [], 12
    while at < len(question) and question[at]:
        labels.append(question[at + 1 : at + 1 + question[at]].decode("latin-1"))
        at += 1 + question[at]
    asked = question[12 : at + 5]
    if len(asked) != at + 5 - 12:
        return None
    unknown = labels[-1:] == [UNKNOWN]
    is_address = int.from_bytes(asked[-4:-2], "big") == _A and not unknown
    flags = b"\x85\x83" if unknown else b"\x85\x80"
    head = question[:2] + flags + b"\0\1" + (b"\0\1" if is_address else b"\0\0") + b"\0\0\0\0"
    record = b"\xc0\x0c\0\1\0\1\0\0\0\x01\0\4" + socket.inet_aton(ANSWER) if is_address else b""
    return ".".join(labels), head + asked + record
