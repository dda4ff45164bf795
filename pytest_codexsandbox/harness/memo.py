"""Memo: keeps expensive results, and the errors of those that failed."""

from collections.abc import Callable
from typing import Any, TypeVar

from pytest_codexsandbox.errors import CodexSandboxError

T = TypeVar("T")
Kept = dict[Any, Any]


def memoize(kept: Kept, key: object, make: Callable[[], T]) -> T:
    """Returns what is kept, made now if it is not. An error is kept as well: what is unavailable is not tried again for
    every promise."""
    if key not in kept:
        try:
            kept[key] = make()
        except CodexSandboxError as fault:
            kept[key] = fault
    found: T | CodexSandboxError = kept[key]
    if isinstance(found, CodexSandboxError):
        raise found.with_traceback(None)  # else it would grow by every frame that it passes, each time
    return found
