"""Whether a Windows has a sandbox of Codex's: from the file's and the arguments' own words."""

import re
import tomllib
from typing import Final, Literal

_NATIVE: Final = ("elevated", "unelevated")
_ARGUMENT: Final = re.compile(r"(?:^|\s)(?:-c|--config)(?:[ =])\s*windows\.sandbox=(\S+)")


def windows_state(text: str, args: str) -> Literal["absent", "native", "undecidable"]:
    """The undecidable wins over a sandbox, and a sandbox over none: the careful side."""
    states = (_state(_in_file(text)), _state(_in_arguments(args)))
    return "undecidable" if "undecidable" in states else "native" if "native" in states else "absent"


def _in_file(text: str) -> object:
    """None: nothing is said. Python's own parser knows TOML 1.0, as Go's does."""
    try:
        windows = tomllib.loads(text).get("windows", {})
    except (tomllib.TOMLDecodeError, UnicodeError):
        return "unreadable"
    return windows.get("sandbox") if isinstance(windows, dict) else windows


def _in_arguments(args: str) -> object:
    found = _ARGUMENT.findall(args)
    return found[-1].strip("\"'") if found else None


def _state(value: object) -> Literal["absent", "native", "undecidable"]:
    return "absent" if value in (None, "") else "native" if value in _NATIVE else "undecidable"
