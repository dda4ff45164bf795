"""Where a generator is killed: each call that changes a file, named so that strace can find it again. Pure.

strace counts the calls of one name in each process by itself, of one path where it is told one (`-P`), and kills every
process that comes to this count. So a call is named by a count that no other process ever reaches; where there is none,
by what else its process does right before it; and if need be by a count that others reach only later, and die as well.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.generators.stress import strace_log
from pytest_codexsandbox.generators.stress.strace_log import Syscall

_NEVER: Final = ("exit_group", "exit", "rt_sigreturn", "vfork", "execve")  # of no use, or not there a second time


class KillPoint(msgspec.Struct, frozen=True, kw_only=True):
    """`name`'s `count`-th call of a process, on `path` alone where there is one. "" : strace cannot single it out."""

    target: Syscall
    number: int  # of the call among those that change something
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
        """The process died in such a call, on such a path."""
        return any(
            call.pid in trace.killed
            and not call.done
            and call.name == self.name
            and (not self.path or self.path in call.compared)
            for call in trace.calls
        )


class KillPlace(msgspec.Struct, frozen=True):
    """By which name, at which count, on which path a process is found at a call."""

    name: str
    count: int
    path: str = ""


def points(calls: Sequence[Syscall], tops: Sequence[str], stable: frozenset[str]) -> tuple[KillPoint, ...]:
    """One for each call that changes something below `tops`. `stable`: paths that another run uses too."""
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
    """The call itself, on its path or on any; then what its process did since the last change, backwards."""
    for path in (*(path for path in calls[at].compared if path in stable), ""):
        yield at, path
    for before in range(at - 1, since, -1):
        if calls[before].pid == calls[at].pid and calls[before].name not in _NEVER:
            yield before, ""


class _Counts:
    """How many calls that strace takes for alike each process has made, and makes altogether."""

    def __init__(self, calls: Sequence[Syscall]) -> None:
        self.calls = calls
        self._made: list[int] = []  # of each call: how many of its name its process had made with it
        self._all: dict[str, Counter[int]] = {}
        for call in calls:
            of_name = self._all.setdefault(call.name, Counter())
            of_name[call.pid] += 1
            self._made.append(of_name[call.pid])

    def place(self, at: int, path: str) -> KillPlace:
        call = self.calls[at]
        return KillPlace(call.name, self._alike(at, path, at + 1)[call.pid] if path else self._made[at], path)

    def is_only(self, at: int, path: str) -> bool:
        """Whether no other process ever makes as many."""
        every = self._alike(at, path, len(self.calls)) if path else self._all[self.calls[at].name]
        return self._is_most(at, path, every)

    def is_first(self, at: int, path: str) -> bool:
        """Whether no other process has made as many before."""
        return self._is_most(at, path, self._alike(at, path, at + 1))

    def _is_most(self, at: int, path: str, made: Counter[int]) -> bool:
        count = self.place(at, path).count
        return all(number < count for pid, number in made.items() if pid != self.calls[at].pid)

    def _alike(self, at: int, path: str, end: int) -> Counter[int]:
        name = self.calls[at].name
        return Counter(one.pid for one in self.calls[:end] if one.name == name and (not path or path in one.compared))


def spread(found: Sequence[KillPoint], most: int) -> tuple[KillPoint, ...]:
    """Some of many: the first, the last, and those between at even distances."""
    if len(found) <= most:
        return tuple(found)
    return tuple(found[round(step * (len(found) - 1) / (most - 1))] for step in range(most))


def stable_paths(*traces: Sequence[Syscall]) -> frozenset[str]:
    """Those that every run names: the name of a temporary file may be another each time. Relative ones are nothing
    that strace could be told."""
    named = [{word for call in calls for word in call.compared if word.startswith("/")} for calls in traces]
    return frozenset(set.intersection(*named)) if named else frozenset()
