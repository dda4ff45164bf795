"""Intermediate files: judges files between two steps of a generator that each replace the whole file. Pure."""

from collections.abc import Iterable
from typing import Any, Final

from pytest_codexsandbox.generators.checks.codex_toml import Path, comparable, leaves, read
from pytest_codexsandbox.generators.stress.strace_log import Syscall

HALF_DONE: Final = "half-done"


def are_whole(calls: Iterable[Syscall], config: str) -> bool:
    """Checks whether the configuration is only ever replaced as a whole, and more than once."""
    there = [call for call in calls if call.worked and config in call.changed]
    puts = [call for call in there if call.puts == config]
    return len(puts) > 1 and not any(config in call.writes or call.makes for call in there)


def is_between(content: bytes | None, old: bytes | None, new: bytes | None) -> bool:
    """Checks whether a file loads and gives each key the value that it had before or has afterwards."""
    if content is None or not all(read(one or b"").loads for one in (content, old, new)):
        return False
    was, will, now = (_values(one) for one in (old, new, content))
    return all(now.get(path) in (was.get(path), will.get(path)) for path in was.keys() | will.keys() | now.keys())


def _values(content: bytes | None) -> dict[Path, Any]:
    """Returns path → type and value. None is no TOML value, so a missing key equals no present one."""
    return {path: comparable(value) for path, value in leaves(read(content or b"").data).items()}
