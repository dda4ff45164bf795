"""pip: the user's own, with its indexes, mirrors, proxies and find-links. Only wheels, so no code of a package runs."""

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.system import environ

_QUIET: Final = ("--quiet", "--no-input", "--disable-pip-version-check", "--retries", "1", "--only-binary", ":all:")
_ENV: Final = {"PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0", "PIP_NO_COLOR": "1"}


def program() -> tuple[str, ...]:
    """Returns pip of this Python, else the first on PATH; () when there is none. -P: a file `pip.py` in the current
    folder is no pip."""
    if find_spec("pip") is not None:
        return (sys.executable, "-P", "-m", "pip")
    found = shutil.which("pip3") or shutil.which("pip")
    return (found,) if found else ()


def command(verb: str, *words: str, cwd: Path, patience: float, why: str, aside: Path | None = None) -> Command:
    """Returns a call of pip that asks the user nothing and tries once more. pip's temporary files go to `aside`."""
    pip = program()
    if not pip:
        raise Unavailable("PyPI cannot be queried: pip is not installed", next_step="python -m ensurepip")
    return Command(
        argv=(*pip, verb, *_QUIET, *words),
        cwd=str(cwd),
        env={**environ.copied(), **_ENV, **({"TMPDIR": str(aside)} if aside else {})},
        timeout=patience,
        why=why,
    )


def beginning(log: Path) -> bytes:
    """Returns the beginning of pip's log. Only the log says which index pip could not read, and why."""
    try:
        with log.open("rb") as file:
            return file.read(1 << 20)
    except OSError:
        return b""
