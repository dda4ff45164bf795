"""Memo: keeps expensive results, and the errors of failed attempts."""

from collections.abc import Callable
from typing import Any, TypeVar

from pytest_codexsandbox.errors import CodexSandboxError

T = TypeVar("T")
Kept = dict[Any, Any]


def memoize(kept: Kept, key: object, make: Callable[[], T]) -> T:
    """Returns the kept result, or makes it now. An error is kept as well: what is unavailable is not tried again for
    every promise."""
    if key not in kept:
        try:
            kept[key] = make()
        except CodexSandboxError as fault:
            kept[key] = fault
    found: T | CodexSandboxError = kept[key]
    if isinstance(found, CodexSandboxError):
        raise found.with_traceback(None)  # else its traceback would grow with each raise
    return found
