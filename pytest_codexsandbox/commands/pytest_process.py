"""Pytest process: starts pytest as a run in this folder does, without a collection, and asks it what only it knows."""

import os
import sys
from pathlib import Path
from typing import Final

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.harness.pytest_answer import PytestAnswer, decode
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.system import process

# Started by name and never imported: nothing of `pytest_plugin` runs in the process of a command, so this crosses no
# layer. The two processes share `harness.pytest_answer` alone.
_MODULE: Final = "pytest_codexsandbox.pytest_plugin.cells_process"
_LIMIT: Final = 300.0  # seconds for the imports of a user's conftest files
CONFIG_FILES: Final = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
SHARED_FILES: Final = ("pyproject.toml", "tox.ini", "setup.cfg")


def ask(words: tuple[str, ...], question: bytes = b"") -> PytestAnswer:
    """Returns the answer of `pytest_plugin.cells_process` to the question. InputError where pytest does not start."""
    here = str(Path.cwd())
    command = Command(
        # -P: as with `pytest` itself, a `json.py` in the user's folder is not taken for Python's own.
        argv=(sys.executable, "-P", "-m", _MODULE, *words),
        cwd=here,
        env=dict(os.environ),
        stdin=question,
        timeout=_LIMIT,
    )
    done = process.run(command)
    if not done.stdout:
        said = done.stderr.decode(errors="replace").strip() or done.error or f"it ended: {done.ended} {done.code}"
        raise InputError(
            "pytest does not start, so its options and hooks are unknown",
            where=here,
            why=said[-2000:],
            next_step="pytest --codex-matrix --collect-only",
        )
    return decode(done.stdout)


def content(file: Path) -> bytes:
    """Returns what a file holds; nothing where it cannot be read."""
    try:
        return file.read_bytes()
    except OSError:
        return b""
