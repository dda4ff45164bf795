"""Process scope: a command and every process that it starts, ended as a whole.

A scope begins with a process in a session of its own. When that process has ended, its remaining processes get a moment
to end by themselves (children of a dying parent do). Those that live on are named survivors and ended. A time limit
ends all.
"""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import subprocess
import termios
import tty
from collections.abc import Callable
from typing import Any, Final

from pytest_codexsandbox.guest import disk_space, fifo_channel, memory_limits, probe_inspector, process_tree
from pytest_codexsandbox.guest.event_loop import Loop, Timer
from pytest_codexsandbox.guest.launch import LeftOpen, closing, swap_for_a_file
from pytest_codexsandbox.guest.streams import Feed, Pipe

_QUIET: Final = 0.2  # a process that has only slept for so long after the command's end will not end by itself
_LOOK_AGAIN: Final = 0.01
_AT_MOST: Final = 5.0  # for dying; then every process that is left is a survivor
_GO: Final = signal.SIGUSR1  # of guest/probe.py
_EOF_WAIT: Final = 0.5  # for the end of output when no process of the scope is left to write


class ProcessScope:
    """One scope. Calls `done` once, with the JSON of a Finished; `out` and `err` hold the output."""

    def __init__(self, scopes: Scopes, number: int, command: dict[str, Any], stdin: bytes) -> None:
        self._scopes, self._loop, self._command, self._stdin = scopes, scopes.loop, command, stdin
        self.id = f"{scopes.name}.{number}"
        self._launch: dict[str, Any] = command.get("launch") or {}
        self._left_open = LeftOpen()
        self.aside = bool(command.get("aside"))
        self.done: Callable[[dict[str, Any]], None] = lambda _: None
        self.pid = 0
        self.leader_alive = False
        self.out = self.err = Pipe(self._loop, -1, 0)
        self.feed = Feed(self._loop, -1)
        self._terminal = -1
        self._timers: list[Timer] = []
        self._readings: list[dict[str, Any]] = []
        self._survivors: list[str] = []
        self._status = 0
        self._usage: Any = None
        self._oom_kills, self._refused = memory_limits.oom_kills(), memory_limits.refused_processes()
        self._timed_out = self._settling = self._gone = self._finished = self._kills = False
        self._next_look = Timer(lambda: None)
        self._pace = 0.001
        self._started = self._ended = self._quiet_since = self._settle_since = 0.0
        self._seen: set[int] = set()
        self._lost = ""
        self._said: tuple[int, int] | None = None  # of the channel what the probe writes to

    # ---- starting
    def start(self, *, pty: bool = False) -> str:
        """Returns "", or why the command could not be started."""
        self._started = self._loop.now()
        if not self._command["argv"]:
            return "no command was given"
        try:
            self._said = fifo_channel.made(self._command["channel"]) if self._command.get("channel") else None
            if pty or self._launch.get("terminal"):
                self._begin_on_terminal(raw=not pty)
            else:
                self._begin_on_pipes()
        except (OSError, ValueError, subprocess.SubprocessError) as problem:
            return str(problem)
        self.leader_alive = True
        self._loop.child(self.pid, self._leader_ended)
        self._timers.append(self._loop.after(self._command["timeout"], self._time_is_up))
        return ""

    def converse(self) -> None:
        """Collects output from now on, and feeds stdin: at once, or after the probe has been inspected."""
        self.out.flow()
        self.err.flow()
        if self._command["probe_nonce"]:
            self.out.heard = self._listen(probe_inspector.InspectorSocket(self._command["probe_nonce"]))
        else:
            self.feed.put(self._stdin, end=True)
            self._interrupt_later()

    def _popen(self, stdin: int, stdout: int, stderr: int, setup: Callable[[], None] | None) -> None:
        command = self._command
        started = subprocess.Popen(
            command["argv"],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=command["cwd"],
            env={**command["env"], process_tree.MARK: self.id},
            start_new_session=True,
            pass_fds=self._left_open.numbers,
            preexec_fn=setup,  # noqa: PLW1509
            umask=self._launch.get("umask", -1),
        )
        self.pid = started.pid
        started.returncode = 0  # we wait for it ourselves
        if memory_limits.is_ours_alone():
            memory_limits.expendable(self.pid)

    def _begin_on_pipes(self) -> None:
        theirs: list[int] = []
        ours: list[int] = []
        try:
            self._left_open.open(self._launch.get("descriptors") or ())
            for direction in (0, 1, 1):
                ends = os.pipe()
                theirs.append(ends[direction])
                ours.append(ends[1 - direction])
            if self._launch.get("stdin_file"):
                swap_for_a_file(self._launch["stdin_file"], theirs, ours)
            self._popen(theirs[0], theirs[1], theirs[2], closing(self._launch.get("closed") or ()))
        except BaseException:
            for fd in ours:
                os.close(fd)
            raise
        finally:
            self._left_open.close()
            for fd in theirs:
                os.close(fd)
        limit = self._command["output_limit"]
        self.feed = Feed(self._loop, ours[0])
        self.out, self.err = Pipe(self._loop, ours[1], limit), Pipe(self._loop, ours[2], limit)

    def _begin_on_terminal(self, *, raw: bool) -> None:
        ours, theirs = os.openpty()
        if raw:  # what the probe says arrives byte for byte, and nothing is echoed
            tty.setraw(theirs)
            status = os.fstat(theirs)
            self._said = (status.st_dev, status.st_ino)

        def own_the_terminal() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        try:
            self._popen(theirs, theirs, theirs, own_the_terminal)
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        self._terminal = ours
        self.feed = Feed(self._loop, os.dup(ours), terminal=True)
        self.out = Pipe(self._loop, ours, self._command["output_limit"])

    # ---- while it runs
    def _listen(self, ear: probe_inspector.InspectorSocket) -> Callable[[bytes], None]:
        def heard(data: bytes) -> None:
            if ear.hears(data):
                self.out.heard = lambda _: None
                self._let_go(self._read_the_probe(), by_signal=ear.wants_signal)
                self.feed.put(b"go\n" + self._stdin, end=True)
                self._interrupt_later()

        return heard

    def _read_the_probe(self) -> int:
        """Returns the probe's process; 0 if there is none."""
        probe = probe_inspector.find(self.members(), self._command["probe_argv"])
        if probe:
            given = os.fstat(self.out.fd)
            ours = self._said or (given.st_dev, given.st_ino)
            self._readings.append(probe_inspector.read(probe, top=self.pid, pipe=ours))
        return probe

    def _let_go(self, probe: int, *, by_signal: bool) -> None:
        """Tells the probe by a signal that it was inspected, where it cannot read the line `go`."""
        if not probe or not by_signal:
            return
        try:
            os.kill(probe, _GO)
        except ProcessLookupError:
            pass
        except PermissionError as problem:  # it belongs to another user, and goes on by itself after a while
            self.err.kept += f"codexsandbox: no signal to the waiting probe {probe}: {problem.strerror}\n".encode()

    def _interrupt_later(self) -> None:
        if self._command["interrupt_after"]:
            self._timers.append(self._loop.after(self._command["interrupt_after"], self._interrupt))

    def _interrupt(self) -> None:
        if self.leader_alive:
            send = os.kill if self._launch.get("signal_alone") else os.killpg
            send(self.pid, self._launch.get("signal") or signal.SIGINT)

    def signal(self, number: int) -> None:
        if self.leader_alive:
            os.kill(self.pid, number)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    # ---- ending
    def members(self) -> list[int]:
        """Returns every process of this scope that exists now, except a reaped leader."""
        found = process_tree.tree(([self.pid] if self.leader_alive else []) + self._scopes.orphans_of(self))
        self._seen.update(found)
        return found

    def claims(self, orphan: int) -> bool:
        """Checks whether a process without a readable mark was seen in this scope, or belongs to its session."""
        one = process_tree.process(orphan)
        return orphan in self._seen or (one is not None and one.session == self.pid)

    def _leader_ended(self, status: int, usage: Any) -> None:
        self._ended = self._loop.now()
        self._usage = usage
        self._status, self.leader_alive = status, False
        self.settle()

    def _time_is_up(self) -> None:
        if self._finished:
            return
        left = self._started + self._command["timeout"] - self._loop.now()
        if left > 0:  # it was frozen with us for so long
            self._timers.append(self._loop.after(left, self._time_is_up))
            return
        if self.leader_alive:
            self._timed_out = True
        self.end()

    def end(self) -> None:
        """Kills every process now; calls `done` when they are gone."""
        self._kills = True
        process_tree.end(self.members())
        if not self.leader_alive:
            self.settle()

    def lose(self, why: str) -> None:
        """Kills every process for a reason unrelated to them, so that their end is no finding."""
        self._lost = why
        self.end()

    def settle(self) -> None:
        if not self._settling:
            self._settling = True
            self._settle_since = self._quiet_since = self._loop.now()
            self.look_again()

    def look_again(self) -> None:
        """Checks which processes are left: when the leader has ended, when any child ends, and from time to time."""
        if not self._settling or self._gone:
            return
        self._next_look.cancel()
        left = self._alive() or self._alive()
        if not left or not self._wait_for(left, self._loop.now()):
            self._gone = True
            self._await_the_output(self._loop.now() + (_EOF_WAIT if not left else 0))
            return
        self._next_look = self._loop.after(self._pace, self.look_again)
        self._pace = min(2 * self._pace, _LOOK_AGAIN)

    def _alive(self) -> list[int]:
        """Returns the live processes of this scope.

        A parent may die between a look at our children and a look at its own. One look then misses its child, and the
        next one finds it. So a scope is empty only if two looks find no process.
        """
        return [pid for pid in self.members() if process_tree.is_alive(pid)]

    def _wait_for(self, left: list[int], now: float) -> bool:
        waited = now - self._settle_since
        if self._kills and waited > 2 * _AT_MOST:  # not even SIGKILL helps: they hang in the kernel
            self._survivors += [process_tree.describe(pid) for pid in left]
            return False
        if self._kills:
            process_tree.end(left)
        elif waited < _AT_MOST and any(process_tree.is_busy_or_dying(pid) for pid in left):
            self._quiet_since = now
        elif now - self._quiet_since >= _QUIET:
            self._survivors = [process_tree.describe(pid) for pid in left]
            self._kills = True
            process_tree.end(left)
        return True

    def _await_the_output(self, limit: float) -> None:
        self.out.flow()
        self.err.flow()
        if (self.out.open or self.err.open) and self._loop.now() < limit:
            self.out.listeners.append(self._output_changed)
            self.err.listeners.append(self._output_changed)
            self._timers.append(self._loop.after(max(0.0, limit - self._loop.now()), self._finish))
            return
        self._finish()

    def _output_changed(self) -> None:
        if not (self.out.open or self.err.open):
            self._finish()

    def _finish(self) -> None:
        if self._finished:
            return
        self._finished = True
        for timer in self._timers:
            timer.cancel()
        for stream in (self.out, self.err, self.feed):
            stream.close()
        self._scopes.over(self)
        self.done(self._result())

    def _result(self) -> dict[str, Any]:
        seconds = self._ended - self._started
        why = self._command["why"] or self._command["argv"][0]
        by_signal = os.WIFSIGNALED(self._status)
        return {
            "ended": "lost" if self._lost else "timeout" if self._timed_out else "signal" if by_signal else "exit",
            "exit": os.WEXITSTATUS(self._status) if not by_signal and not self._timed_out else 0,
            "signal": os.WTERMSIG(self._status) if by_signal and not self._timed_out else 0,
            "stdout_total": self.out.total,
            "seconds": seconds,
            "error": self._lost or (f"{why}: not finished after {seconds:.1f} s, ended" if self._timed_out else ""),
            "readings": self._readings,
            "survivors": self._survivors,
            "oom_kills": memory_limits.oom_kills() - self._oom_kills,
            "refused_processes": memory_limits.refused_processes() - self._refused,
            "room": disk_space.least((self._command["cwd"], "/tmp")),
            "cpu_seconds": self._usage.ru_utime + self._usage.ru_stime if self._usage else 0.0,
            "memory_kb": self._usage.ru_maxrss if self._usage else 0,
        }


class Scopes:
    """All scopes of this agent."""

    def __init__(self, loop: Loop, name: str) -> None:
        self.loop, self.name = loop, name
        self._count = 0
        self._live: dict[str, ProcessScope] = {}
        loop.on_any_child = self._somebody_ended

    def _somebody_ended(self) -> None:
        for scope in self.live:
            scope.look_again()

    def new(
        self, command: dict[str, Any], stdin: bytes, make: Callable[..., ProcessScope] = ProcessScope
    ) -> ProcessScope:
        self._count += 1
        scope = make(self, self._count, command, stdin)
        self._live[scope.id] = scope
        self.loop.beats = True
        return scope

    def over(self, scope: ProcessScope) -> None:
        self._live.pop(scope.id, None)
        self.loop.beats = bool(self._live)

    @property
    def live(self) -> list[ProcessScope]:
        return list(self._live.values())

    @property
    def calls(self) -> list[ProcessScope]:
        """Returns the scopes that may leave files in shared folders."""
        return [scope for scope in self.live if not scope.aside]

    def orphans_of(self, scope: ProcessScope) -> list[int]:
        """Returns children of the agent that it did not start: descendants whose parents have died."""
        orphans = [pid for pid in process_tree.children(os.getpid()) if not self.loop.is_own_child(pid)]
        return [pid for pid in orphans if self._owner(pid) is scope]

    def _owner(self, orphan: int) -> ProcessScope | None:
        marked = self._live.get(process_tree.mark_of(orphan))
        if marked is not None:
            return marked
        claiming = [scope for scope in self._live.values() if scope.claims(orphan)]
        if claiming or len(self.calls) != 1:
            return claiming[0] if claiming else None
        return self.calls[0]  # its mark is unreadable, and only one call runs
