"""Kill points: each call that changes a file, named so that strace can find it again. Pure.

strace counts calls by name in each process, or by name and path with `-P`. It kills every process that reaches the
count. A call is therefore named by a count that no other process ever reaches. If there is none, an earlier call of the
same process names it. The last resort is a count that other processes reach only later; they are killed as well.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.generators.stress import strace_log
from pytest_codexsandbox.generators.stress.strace_log import Syscall

_NEVER: Final = ("exit_group", "exit", "rt_sigreturn", "vfork", "execve")  # of no use, or not repeated in the next run


class KillPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The `count`-th call of `name` by a process, on `path` only if it is set. `name` is "" if strace cannot single out
    the call."""

    target: Syscall
    number: int  # index of the call among those that change something
    name: str = ""
    count: int = 0
    path: str = ""

    @property
    def reachable(self) -> bool:
        return bool(self.name)

    @property
    def inject(self) -> str:
        return f"{self.name}:signal=KILL:when={self.count}"

    def struck(self, trace: strace_log.Trace) -> bool:
        """Checks whether a process was killed in such a call, on that path."""
        return any(
            call.pid in trace.killed
            and not call.done
            and call.name == self.name
            and (not self.path or self.path in call.compared)
            for call in trace.calls
        )


class KillPlace(msgspec.Struct, frozen=True):
    """Name, count and path by which strace finds a process at a call."""

    name: str
    count: int
    path: str = ""


def points(calls: Sequence[Syscall], tops: Sequence[str], stable: frozenset[str]) -> tuple[KillPoint, ...]:
    """Returns one point for each call that changes something below `tops`. `stable`: paths that every run uses."""
    changing = {id(call) for call in strace_log.below(calls, tops)}
    wheres = [at for at, call in enumerate(calls) if id(call) in changing]
    counts = _Counts(calls)
    return tuple(
        _point(counts, at, number, since=wheres[number - 1] if number else -1, stable=stable)
        for number, at in enumerate(wheres)
    )


def _point(counts: "_Counts", at: int, number: int, *, since: int, stable: frozenset[str]) -> KillPoint:
    target = counts.calls[at]
    for alone in (counts.is_only, counts.is_first):
        for where, path in _candidates(counts.calls, at, since, stable):
            if alone(where, path):
                place = counts.place(where, path)
                return KillPoint(target=target, number=number, name=place.name, count=place.count, path=path)
    return KillPoint(target=target, number=number)


def _candidates(calls: Sequence[Syscall], at: int, since: int, stable: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Yields the call itself, on its path or on any. Then it yields what the process did since the last change,
    backwards."""
    for path in (*(path for path in calls[at].compared if path in stable), ""):
        yield at, path
    for before in range(at - 1, since, -1):
        if calls[before].pid == calls[at].pid and calls[before].name not in _NEVER:
            yield before, ""


class _Counts:
    """Counts the calls that strace does not distinguish, for each process so far and in total."""

    def __init__(self, calls: Sequence[Syscall]) -> None:
        self.calls = calls
        self._made: list[int] = []  # for each call: how many of its name its process had made by then
        self._all: dict[str, Counter[int]] = {}
        for call in calls:
            of_name = self._all.setdefault(call.name, Counter())
            of_name[call.pid] += 1
            self._made.append(of_name[call.pid])

    def place(self, at: int, path: str) -> KillPlace:
        call = self.calls[at]
        return KillPlace(call.name, self._alike(at, path, at + 1)[call.pid] if path else self._made[at], path)

    def is_only(self, at: int, path: str) -> bool:
        """Checks whether no other process ever makes as many calls."""
        every = self._alike(at, path, len(self.calls)) if path else self._all[self.calls[at].name]
        return self._is_most(at, path, every)

    def is_first(self, at: int, path: str) -> bool:
        """Checks whether no other process has made as many calls before."""
        return self._is_most(at, path, self._alike(at, path, at + 1))

    def _is_most(self, at: int, path: str, made: Counter[int]) -> bool:
        count = self.place(at, path).count
        return all(number < count for pid, number in made.items() if pid != self.calls[at].pid)

    def _alike(self, at: int, path: str, end: int) -> Counter[int]:
        name = self.calls[at].name
        return Counter(one.pid for one in self.calls[:end] if one.name == name and (not path or path in one.compared))


def spread(found: Sequence[KillPoint], most: int) -> tuple[KillPoint, ...]:
    """Returns at most `most` points: the first, the last, and others at even distances."""
    if len(found) <= most:
        return tuple(found)
    return tuple(found[round(step * (len(found) - 1) / (most - 1))] for step in range(most))


def stable_paths(*traces: Sequence[Syscall]) -> frozenset[str]:
    """Returns the paths that all runs use. A temporary file may get another name in each run, and strace accepts no
    relative paths."""
    named = [{word for call in calls for word in call.compared if word.startswith("/")} for calls in traces]
    return frozenset(set.intersection(*named)) if named else frozenset()
