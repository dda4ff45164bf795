"""A folder for environments of a command: below the cache, since Codex refuses helpers below the temp directory."""

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_codexsandbox.environments.folders import claim
from pytest_codexsandbox.errors import MachineFault
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.releases.files import remove


def tell(line: str) -> None:
    """For who waits at the terminal: beside what the command prints, and over a line of progress."""
    clear = "\r\033[K" if sys.stderr.isatty() else ""
    print(f"{clear}codexsandbox: {line}", file=sys.stderr, flush=True)


@contextmanager
def workbench(name: str) -> Iterator[Path]:
    """Removed at the end, whatever happened."""
    folder = cache_folder() / "runs" / f"{name}-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        folder.mkdir(mode=0o700, parents=True)
        claim(folder)
    except OSError as error:
        raise MachineFault(
            "no folder for the sandbox's world can be made", where=str(folder), why=error.strerror or str(error),
            next_step="CODEXSANDBOX_CACHE=DIR, a folder of yours outside the temp directory",
        ) from error  # fmt: skip
    try:
        yield folder
    finally:
        remove(folder)
