"""Event loop: one thread waits for pipes, sockets, timers, and children that end."""

from __future__ import annotations

import collections
import heapq
import itertools
import os
import selectors
import signal
import time
from typing import Any, Callable, Final  # noqa: UP035

READ: Final = selectors.EVENT_READ
WRITE: Final = selectors.EVENT_WRITE
CHUNK: Final = 1 << 16
PULSE: Final = 1.0  # seconds that a wait lasts at most while the loop must notice that it was frozen
_LATE: Final = 0.5


class Timer:
    """A call to be made later, unless it is cancelled."""

    def __init__(self, act: Callable[[], None]) -> None:
        self.act: Callable[[], None] | None = act

    def cancel(self) -> None:
        self.act = None


class Loop:
    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()
        self._running = True
        self._children: dict[int, Callable[[int, Any], None]] = {}
        self.on_any_child: Callable[[], None] = lambda: None
        self.beats = False  # whether the loop must notice that it was frozen
        self._stood_still = 0.0

    # ---- files
    def watch(self, fd: int, events: int, act: Callable[[], None]) -> None:
        try:
            self._selector.modify(fd, events, act)
        except KeyError:
            self._selector.register(fd, events, act)

    def forget(self, fd: int) -> None:
        try:
            self._selector.unregister(fd)
        except (KeyError, ValueError):
            pass

    # ---- time
    def now(self) -> float:
        """Returns the seconds in which the agent ran or could have run.

        Freezing a container freezes the agent with all that it started, so the time of a pause counts against no time
        limit.
        """
        return time.monotonic() - self._stood_still

    def after(self, seconds: float, act: Callable[[], None]) -> Timer:
        timer = Timer(act)
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._order), timer))
        return timer

    # ---- children
    def watch_children(self) -> None:
        """Reaps every child from now on; no other code may wait for one."""
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.set_blocking(writing, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        self.watch(reading, READ, lambda: self._woken(reading))

    def child(self, pid: int, ended: Callable[[int, Any], None]) -> None:
        """Calls `ended(status, usage)` with the values of wait4 when the child has ended."""
        self._children[pid] = ended

    def is_own_child(self, pid: int) -> bool:
        """Checks whether the agent started this process; its other children are orphans that the kernel passed to
        it.
        """
        return pid in self._children

    def _woken(self, reading: int) -> None:
        try:
            os.read(reading, 4096)
        except BlockingIOError:
            pass
        self.reap()

    def reap(self) -> None:
        reaped = False
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if not pid:
                break
            reaped = True
            ended = self._children.pop(pid, None)
            if ended is not None:
                ended(status, usage)
        if reaped:
            self.on_any_child()

    # ---- running
    def stop(self) -> None:
        self._running = False

    def run(self) -> None:
        while self._running:
            self.turn(3600.0)

    def turn(self, longest: float) -> None:
        """Waits once, and handles every event."""
        if self._timers:
            longest = min(longest, max(0.0, self._timers[0][0] - time.monotonic()))
        if self.beats:
            longest = min(longest, PULSE)
        asleep = time.monotonic()
        ready = self._selector.select(longest)
        late = time.monotonic() - asleep - longest
        self._stood_still += late if late > _LATE else 0
        for key, _ in ready:
            # An earlier callback of this turn may have closed it, and its number may be another file's by now.
            if self._selector.get_map().get(key.fd) is key:
                key.data()
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            timer = heapq.heappop(self._timers)[2]
            if timer.act is not None:
                timer.act()


class Outbox:
    """Writes without blocking; the rest waits until the pipe accepts it."""

    def __init__(self, loop: Loop, fd: int, *, lost: Callable[[], None], drained: Callable[[], None]) -> None:
        self._loop, self._fd, self._lost, self._drained = loop, fd, lost, drained
        self._waiting: collections.deque[memoryview] = collections.deque()
        os.set_blocking(fd, False)

    @property
    def empty(self) -> bool:
        return not self._waiting

    def put(self, pieces: list[bytes]) -> None:
        idle = self.empty
        self._waiting.extend(memoryview(piece) for piece in pieces)
        if idle:
            self._write()

    def _write(self) -> None:
        try:
            while self._waiting:
                piece: Any = self._waiting[0]
                count = os.write(self._fd, piece[: 1 << 20])
                if count == len(piece):
                    self._waiting.popleft()
                else:
                    self._waiting[0] = piece[count:]
        except BlockingIOError:
            self._loop.watch(self._fd, WRITE, self._write)
            return
        except OSError:  # the reader is gone
            self._waiting.clear()
            self._loop.forget(self._fd)
            self._lost()
            return
        self._loop.forget(self._fd)
        self._drained()
