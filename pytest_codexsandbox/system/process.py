"""Process: the only module that starts processes outside an environment: pip, npm, `codex --help`, the agent itself.

Every process gets a session of its own and exactly the environment variables that it is given. A time limit ends the
whole process group, and the result says so. Output is bytes, kept up to a limit and counted past it. Death by a signal
is reported as such.
"""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, Final, Literal

from pytest_codexsandbox.model.command import Command, CommandResult

Child = subprocess.Popen[bytes]
_CHUNK: Final = 1 << 16
_DRAIN: Final = 2.0  # how long output is awaited from a process that left the group and kept the pipe


def run(command: Command, *, inherit_output: bool = False) -> CommandResult:
    """Runs a command to its end or its time limit. With `inherit_output` it prints where this process prints, and
    nothing is kept."""
    begun = time.monotonic()
    if not command.argv:
        return CommandResult(ended="not-started", error="no command was given")
    try:
        child = _popen(command, inherit_output=inherit_output)
    except (OSError, ValueError) as problem:
        return CommandResult(ended="not-started", error=f"{command.argv[0]}: {problem}")
    try:
        talk = _Talk(child, command)
        in_time = talk.until(begun + command.timeout)
    finally:  # also when the user interrupts the run
        _end_group(child)
    return talk.finished(in_time=in_time, seconds=time.monotonic() - begun)


@contextmanager
def running(argv: Sequence[str], *, cwd: str, env: dict[str, str], stderr: IO[bytes] | None = None) -> Iterator[Child]:
    """Yields a live process with unbuffered pipes on stdin and stdout. Leaving ends its process group."""
    child = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        cwd=cwd,
        env=env,
        start_new_session=True,
        bufsize=0,
    )
    try:
        yield child
    finally:
        _end_group(child)
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()


def let_end(child: Child, *, within: float) -> bool:
    """Returns whether the process ended by itself in time. Otherwise ends it with its group."""
    try:
        child.wait(within)
    except subprocess.TimeoutExpired:
        _end_group(child)
        return False
    return True


def _popen(command: Command, *, inherit_output: bool) -> Child:
    output = None if inherit_output else subprocess.PIPE
    return subprocess.Popen(
        command.argv,
        stdin=subprocess.PIPE if command.stdin else subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        cwd=command.cwd,
        env=command.env,
        start_new_session=True,
        bufsize=0,
    )


def _end_group(child: Child) -> None:
    """Ends the process group. Before the leader is reaped, its number cannot be given to another group."""
    if child.returncode is not None:
        return
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # the latter: a set-uid child, or a group of zombies on macOS
        child.kill()
    child.wait()


def _has_ended(pid: int) -> bool:
    """Checks whether the process can be reaped. Does not reap it, so that its number is not given away."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


class _Talk:
    """Feeds stdin and collects the output of one process."""

    def __init__(self, child: Child, command: Command) -> None:
        self._child = child
        self._limit = command.output_limit
        self._rest = memoryview(command.stdin)
        self._kept: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        self._total = 0
        self._selector = selectors.DefaultSelector()
        self._pipes: set[IO[bytes]] = set()
        for name, pipe in (("stdout", child.stdout), ("stderr", child.stderr)):
            if pipe is not None:
                self._watch(pipe, selectors.EVENT_READ, self._reader(pipe, name))
        if child.stdin is not None:
            self._watch(child.stdin, selectors.EVENT_WRITE, self._feeder(child.stdin))

    def until(self, limit: float) -> bool:
        """Returns whether the process ended before `limit`. Other processes of its group are ended too."""
        ended = self._exit_watch()
        while not ended():
            rest = limit - time.monotonic()
            if rest <= 0:
                _end_group(self._child)
                self._drain()
                return False
            self._turn(min(rest, self._patience))
        _end_group(self._child)
        self._drain()
        return True

    def finished(self, *, in_time: bool, seconds: float) -> CommandResult:
        code = self._child.returncode
        ended: Literal["exit", "signal", "timeout"] = "timeout" if not in_time else "signal" if code < 0 else "exit"
        return CommandResult(
            ended=ended,
            exit=code if ended == "exit" else 0,
            signal=-code if ended == "signal" else 0,
            stdout=bytes(self._kept["stdout"]),
            stderr=bytes(self._kept["stderr"]),
            stdout_total=self._total,
            seconds=seconds,
            error="" if in_time else f"not finished after {seconds:.1f} s, ended with its process group",
        )

    def _exit_watch(self) -> Callable[[], bool]:
        """Returns a check for the end of the process. Where the kernel reports the end (Linux), the loop sleeps until
        then; elsewhere it looks often."""
        self._patience = 0.02
        try:
            self._pidfd = os.pidfd_open(self._child.pid)  # type: ignore[attr-defined,unused-ignore]
        except (AttributeError, OSError):
            self._pidfd = -1
        else:
            self._patience = 60.0
            self._selector.register(self._pidfd, selectors.EVENT_READ, lambda: True)
        return lambda: _has_ended(self._child.pid)

    def _drain(self) -> None:
        """Reads what is still in the pipes. A process that left the group may keep them open, so the time is
        limited."""
        if self._pidfd >= 0:
            self._selector.unregister(self._pidfd)
            os.close(self._pidfd)
        if self._child.stdin in self._pipes:
            self._forget(self._child.stdin)
        limit = time.monotonic() + _DRAIN
        while self._pipes and time.monotonic() < limit:
            self._turn(limit - time.monotonic())
        for pipe in tuple(self._pipes):
            self._forget(pipe)
        self._selector.close()

    def _turn(self, timeout: float) -> None:
        for key, _ in self._selector.select(max(0.0, timeout)):
            if not key.data():
                self._forget(key.fileobj)

    def _watch(self, pipe: IO[bytes], event: int, act: Callable[[], bool]) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._selector.register(pipe, event, act)
        self._pipes.add(pipe)

    def _forget(self, pipe: Any) -> None:
        self._selector.unregister(pipe)
        self._pipes.discard(pipe)
        pipe.close()

    def _feeder(self, pipe: IO[bytes]) -> Callable[[], bool]:
        fd = pipe.fileno()

        def feed() -> bool:
            try:
                self._rest = self._rest[os.write(fd, self._rest[:_CHUNK]) :]
            except BlockingIOError:
                return True
            except BrokenPipeError:  # the process stopped reading: that is no error
                return False
            return bool(self._rest)

        return feed

    def _reader(self, pipe: IO[bytes], name: str) -> Callable[[], bool]:
        fd, kept = pipe.fileno(), self._kept[name]

        def read() -> bool:
            try:
                chunk = os.read(fd, _CHUNK)
            except BlockingIOError:
                return True
            if name == "stdout":
                self._total += len(chunk)
            kept.extend(chunk[: max(0, self._limit - len(kept))])
            return bool(chunk)

        return read
