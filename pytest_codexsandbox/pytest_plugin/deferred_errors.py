"""A wrong word that is found while tests are collected: said once, before anything runs, with pytest's exit code 4.

pytest would tell it module by module, as if the tests could not be imported, and a worker of xdist that ends over it
is an internal error to its controller. So it is remembered; who collected says it, a worker by way of its controller.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest

_SAID: Final = "codexsandbox_refused"  # in what xdist takes home from a worker
_REFUSED: Final = pytest.StashKey[str]()


@contextmanager
def deferring(config: pytest.Config) -> Iterator[None]:
    """Errors of ours and usage errors end the block; the first of all is kept."""
    try:
        yield
    except Exception as fault:
        from pytest_codexsandbox.errors import CodexSandboxError  # imported late: the plugin is inert until asked

        if not isinstance(fault, CodexSandboxError | pytest.UsageError):
            raise
        config.stash.setdefault(_REFUSED, str(fault))


def raise_deferred(config: pytest.Config, items: list[pytest.Item]) -> None:
    """UsageError for what was remembered; a worker is left with nothing to run."""
    words = config.stash.get(_REFUSED, "")
    if not words:
        return
    output: dict[str, Any] | None = getattr(config, "workeroutput", None)
    if output is None:
        raise pytest.UsageError(words)
    output[_SAID] = words
    items.clear()


def raise_from_worker(node: Any) -> None:
    """The controller's part, when a worker has ended; one that died brought nothing home."""
    words = getattr(node, "workeroutput", {}).get(_SAID)
    if words:
        node.config.stash.setdefault(_REFUSED, words)
        raise pytest.UsageError(words)


def refused(config: pytest.Config) -> bool:
    """Returns True in the process that the user started, where a wrong word was found."""
    return bool(config.stash.get(_REFUSED, "")) and not hasattr(config, "workeroutput")
