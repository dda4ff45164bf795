"""Where a generator is killed: each call that changes a file, named so that strace can find it again. Pure.

strace counts the calls of one name in each process by itself, of one path where it is told one (`-P`). A call that
another process would reach first, by that count, is named by something else that its process does right before it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.generators.strain import syscalls
from pytest_codexsandbox.generators.strain.syscalls import Call

MOST: Final = 16  # kills of one generator
MOST_SLOW: Final = 6
_NEVER: Final = ("exit_group", "exit", "rt_sigreturn", "vfork", "execve")  # of no use, or not there a second time


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """`name`'s `count`-th call of a process, on `path` alone where there is one. "" : strace cannot single it out."""

    target: Call
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

    def struck(self, trace: syscalls.Trace) -> bool:
        """The process died in such a call, on such a path."""
        return any(
            call.pid in trace.killed and not call.done and call.name == self.name
            and (not self.path or self.path in call.compared)
            for call in trace.calls
        )  # fmt: skip


def points(calls: Sequence[Call], tops: Sequence[str], stable: frozenset[str]) -> tuple[Point, ...]:
    """One for each call that changes something below `tops`. `stable`: paths that another run uses too."""
    changing = {id(call) for call in syscalls.below(calls, tops)}
    wheres = [at for at, call in enumerate(calls) if id(call) in changing]
    return tuple(
        _point(calls, at, number, since=wheres[number - 1] if number else -1, stable=stable)
        for number, at in enumerate(wheres)
    )


def _point(calls: Sequence[Call], at: int, number: int, *, since: int, stable: frozenset[str]) -> Point:
    target = calls[at]
    for path in (*(path for path in target.compared if path in stable), ""):
        count = _count(calls, at, path)
        if _is_first(calls, at, count, path):
            return Point(target=target, number=number, name=target.name, count=count, path=path)
    for before in range(at - 1, since, -1):
        one = calls[before]
        if one.pid == target.pid and one.name not in _NEVER and _is_first(calls, before, _count(calls, before, ""), ""):
            return Point(target=target, number=number, name=one.name, count=_count(calls, before, ""))
    return Point(target=target, number=number)


def _alike(calls: Sequence[Call], at: int, path: str) -> Iterator[Call]:
    """The calls up to this one that strace counts with it, of whichever process."""
    name = calls[at].name
    return (one for one in calls[: at + 1] if one.name == name and (not path or path in one.compared))


def _count(calls: Sequence[Call], at: int, path: str) -> int:
    return sum(one.pid == calls[at].pid for one in _alike(calls, at, path))


def _is_first(calls: Sequence[Call], at: int, count: int, path: str) -> bool:
    """Whether no other process has made as many of them before."""
    made = Counter(one.pid for one in _alike(calls, at, path))
    return all(number < count for pid, number in made.items() if pid != calls[at].pid)


def spread(found: Sequence[Point], most: int = MOST) -> tuple[Point, ...]:
    """Some of many: the first, the last, and those between at even distances."""
    if len(found) <= most:
        return tuple(found)
    return tuple(found[round(step * (len(found) - 1) / (most - 1))] for step in range(most))


def stable_paths(*traces: Sequence[Call]) -> frozenset[str]:
    """Those that every run names: the name of a temporary file may be another each time. Relative ones are nothing
    that strace could be told."""
    named = [{word for call in calls for word in call.compared if word.startswith("/")} for calls in traces]
    return frozenset(set.intersection(*named)) if named else frozenset()
