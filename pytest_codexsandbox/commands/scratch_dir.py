"""A folder for environments of a command: below the cache, since Codex refuses helpers below the temp directory."""

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_codexsandbox.environments.run_dirs import claim
from pytest_codexsandbox.environments.sweep import find
from pytest_codexsandbox.errors import HarnessError, os_errors_as
from pytest_codexsandbox.harness.event_sink import EventSink
from pytest_codexsandbox.registry import runs_folder
from pytest_codexsandbox.releases.cache_files import remove


def tell(line: str) -> None:
    """Prints a line for a person at the terminal, beside the command's output and over a line of progress."""
    clear = "\r\033[K" if sys.stderr.isatty() else ""
    print(f"{clear}codexsandbox: {line}", file=sys.stderr, flush=True)


class ToldEvents(EventSink):
    """The events of a command: texts go to the terminal, and there is no journal."""

    def say(self, text: str) -> None:
        tell(text)


@contextmanager
def workbench(name: str) -> Iterator[Path]:
    """Creates a scratch folder and removes it in any case, with folders that killed runs of the same command left."""
    runs = runs_folder()
    _remove_dead(runs, name)
    folder = runs / f"{name}-{os.getpid()}-{secrets.token_hex(4)}"
    next_step = "CODEXSANDBOX_CACHE=DIR, a folder of yours outside the temp directory"
    with os_errors_as(
        HarnessError, "cannot create a folder for the sandbox's files", where=folder, next_step=next_step
    ):
        folder.mkdir(mode=0o700, parents=True)
        claim(folder)
    try:
        yield folder
    finally:
        remove(folder)


def _remove_dead(runs: Path, name: str) -> None:
    """A health check that is killed each time would otherwise leave a folder each time."""
    for folder in runs.glob(f"{name}-*"):
        found = tuple(find(folder))
        if found and all(one.state == "dead" for one in found):
            for one in found:
                one.remove()
            remove(folder)
