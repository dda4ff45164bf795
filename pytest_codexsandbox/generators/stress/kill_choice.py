"""Kill choice: selects the calls at which a generator is killed. Pure.

Calls on the configuration come first, all of them up to a bound. The rest is a sample.
"""

import itertools
from collections.abc import Sequence
from typing import Final

import msgspec

from pytest_codexsandbox.generators.stress.kill_points import KillPoint, spread
from pytest_codexsandbox.generators.stress.strace_log import Syscall


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of kills of one generator. Each kill costs two runs."""

    configuration: int
    altogether: int  # the sample fills up to this number
    others: int  # the sample has at least this many


QUICK: Final = Bounds(configuration=96, altogether=16, others=8)
SLOW: Final = Bounds(configuration=24, altogether=6, others=3)
"""An atomic writer makes 3 to 8 calls on the configuration. A file of 64 KiB that is written by 4 KiB takes 20, a
program that writes each line by itself some hundreds: there a sample shows the torn file as well."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """`own`: at calls on the configuration. `others`: at calls on other files."""

    own: tuple[KillPoint, ...]
    others: tuple[KillPoint, ...]
    own_calls: int  # calls on the configuration, reachable or not
    other_calls: int
    unreachable: int
    unseen: int  # states of the configuration between two of its calls that no kill shows

    @property
    def points(self) -> tuple[KillPoint, ...]:
        return (*self.own, *self.others)


def becoming(calls: Sequence[Syscall], config: str) -> frozenset[str]:
    """Returns the path of the configuration and of each file that is renamed or linked to it."""
    names = {config}
    for call in reversed(calls):
        if call.done and call.worked and len(call.paths) > 1 and call.puts:
            names |= {
                call.paths[0] + name.removeprefix(call.puts)
                for name in tuple(names)
                if name == call.puts or name.startswith(f"{call.puts}/")
            }
    return frozenset(names)


def choice(found: Sequence[KillPoint], calls: Sequence[Syscall], config: str, bounds: Bounds) -> Choice:
    names = becoming(calls, config)
    of_config = [one for one in found if any(is_on(one.target, name) for name in names)]
    direct = [one for one in of_config if is_on(one.target, config)]
    # Calls on the configuration itself come first if the bound does not permit all of them.
    numbers = {one.number for one in direct}
    temporary = [one for one in of_config if one.number not in numbers]
    own = _first(direct, temporary, most=bounds.configuration)
    numbers |= {one.number for one in temporary}
    rest = [one for one in found if one.reachable and one.number not in numbers]
    due = _due(direct, found, own) if len(direct) <= bounds.configuration else []
    others = _sample(rest, due, of_config, most=max(bounds.others, bounds.altogether - len(own)))
    return Choice(
        own=own,
        others=others,
        own_calls=len(of_config),
        other_calls=len(found) - len(of_config),
        unreachable=sum(not one.reachable for one in found),
        unseen=len(_unseen(direct, (*own, *others))) if len(direct) <= bounds.configuration else 0,
    )


def is_on(call: Syscall, path: str) -> bool:
    """Checks whether a call changes this file, or moves or removes a folder above it."""
    if path in call.changed:
        return True
    moved = (call.takes_away, call.puts)
    return any(one and path.startswith(f"{one}/") for one in moved)


def _first(direct: Sequence[KillPoint], temporary: Sequence[KillPoint], *, most: int) -> tuple[KillPoint, ...]:
    chosen = spread([one for one in direct if one.reachable], most)
    left = most - len(chosen)
    more = spread([one for one in temporary if one.reachable], left) if left > 1 else ()
    return tuple(sorted((*chosen, *more), key=lambda one: one.number))


def _sample(
    rest: Sequence[KillPoint], due: Sequence[KillPoint], of_config: Sequence[KillPoint], *, most: int
) -> tuple[KillPoint, ...]:
    """Returns a spread of the rest. It always includes the first call after the last one on the configuration: a lock
    that is removed there would obstruct the next run."""
    if len(rest) <= most:
        return tuple(rest)
    last = of_config[-1].number if of_config else -1
    after = [one for one in rest if one.number > last][:1] if of_config else []
    chosen = {one.number: one for one in (*due, *after)}
    chosen |= {one.number: one for one in spread(rest, max(2, most - len(chosen)))}
    return tuple(chosen[number] for number in sorted(chosen))


def _due(direct: Sequence[KillPoint], found: Sequence[KillPoint], own: Sequence[KillPoint]) -> list[KillPoint]:
    """Returns kills that show the file before a call that cannot be singled out: any other call since the last one."""
    between = ([one for one in found if one.reachable and lo < one.number < hi] for lo, hi in _unseen(direct, own))
    return [some[-1] for some in between if some]


def _unseen(direct: Sequence[KillPoint], asked: Sequence[KillPoint]) -> list[tuple[int, int]]:
    """Returns each pair of calls on the configuration with no kill after the first and up to the second."""
    struck = {one.number for one in asked}
    return [
        (first.number, then.number)
        for first, then in itertools.pairwise(direct)
        if not any(number in struck for number in range(first.number + 1, then.number + 1))
    ]
