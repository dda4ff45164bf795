"""Public names: lower-case, `-` inside a value, `~` between axes, `.` between topic and promise."""

import re
from typing import Final

AXIS_SEPARATOR: Final = "~"
_VALUE = re.compile(r"[a-z0-9][a-z0-9.+_-]*")
_PROMISE = re.compile(r"[a-z0-9][a-z0-9-]*\.[a-z0-9][a-z0-9-]*")


def is_value(text: str) -> bool:
    """Checks whether `text` may be the value of an axis (and so part of a cell id)."""
    return _VALUE.fullmatch(text) is not None


def is_promise(text: str) -> bool:
    return _PROMISE.fullmatch(text) is not None


def as_value(text: str) -> str:
    """Returns the nearest legal axis value: `Debian GNU/Linux 12` becomes `debian-gnu-linux-12`."""
    return re.sub(r"[^a-z0-9.+_]+", "-", text.lower()).strip("-.+_") or "unnamed"


def cell_id(*values: str) -> str:
    return AXIS_SEPARATOR.join(values)
