"""Deferred errors: found while tests are collected, raised once before anything runs, with pytest's exit code 4.

pytest would report such an error module by module, as if the tests could not be imported. A worker of xdist that ends
over it is an internal error to its controller. So the error is kept: the collecting process raises it, a worker through
its controller.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest

_SAID: Final = "codexsandbox_refused"  # key in the `workeroutput` of xdist
_REFUSED: Final = pytest.StashKey[str]()


@contextmanager
def deferring(config: pytest.Config) -> Iterator[None]:
    """Ends the block at an error of codexsandbox or a usage error, and keeps the first of them."""
    try:
        yield
    except Exception as fault:
        from pytest_codexsandbox.errors import CodexSandboxError  # imported late: the plugin is inert until it is used

        if not isinstance(fault, CodexSandboxError | pytest.UsageError):
            raise
        config.stash.setdefault(_REFUSED, str(fault))


def raise_deferred(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Raises UsageError for the kept error. A worker passes the error to its controller and gets nothing to run."""
    words = config.stash.get(_REFUSED, "")
    if not words:
        return
    output: dict[str, Any] | None = getattr(config, "workeroutput", None)
    if output is None:
        raise pytest.UsageError(words)
    output[_SAID] = words
    items.clear()


def raise_from_worker(node: Any) -> None:
    """Raises the error of a worker that has ended, in the controller. A worker that died reports none."""
    words = getattr(node, "workeroutput", {}).get(_SAID)
    if words:
        node.config.stash.setdefault(_REFUSED, words)
        raise pytest.UsageError(words)


def refused(config: pytest.Config) -> bool:
    """Checks whether an error was kept, in the process that the user started."""
    return bool(config.stash.get(_REFUSED, "")) and not hasattr(config, "workeroutput")
