"""Launches: the calls of `codex` that a generator made, as the stub recorded them, split by purpose. Pure."""

from collections.abc import Sequence

from pytest_codexsandbox.guest.subcommands import starts_work
from pytest_codexsandbox.model.generator import CodexLaunch


def is_work(launch: CodexLaunch) -> bool:
    """Checks whether a call starts Codex to work. Every other call queries or changes something, and the real Codex
    answers it. Journals of earlier releases hold only the arguments."""
    return starts_work(launch.argv) if launch.work is None else launch.work


def work(launches: Sequence[CodexLaunch]) -> tuple[CodexLaunch, ...]:
    return tuple(one for one in launches if is_work(one))


def answered(launches: Sequence[CodexLaunch]) -> tuple[CodexLaunch, ...]:
    """Returns the calls that the real Codex answered."""
    return tuple(one for one in launches if not is_work(one))
