"""What is dear is made once, whoever asks first."""

from collections.abc import Callable
from typing import Any, TypeVar

from pytest_codexsandbox.errors import CodexSandboxError

T = TypeVar("T")
Kept = dict[object, Any]


def memoize(kept: Kept, key: object, make: Callable[[], T]) -> T:
    """A failure is kept as well: what cannot be had is not tried again for every promise."""
    if key not in kept:
        try:
            kept[key] = make()
        except CodexSandboxError as fault:
            kept[key] = fault
    found: T | CodexSandboxError = kept[key]
    if isinstance(found, CodexSandboxError):
        raise found.with_traceback(None)  # else it would grow by every frame that it passes, each time
    return found
