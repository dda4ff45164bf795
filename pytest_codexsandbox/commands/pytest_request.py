"""Pytest request: what `pytest --codex-matrix` with the same options asks for in this folder.

Options may also stand in pytest's configuration files and in PYTEST_ADDOPTS. Where they may, pytest is started and
tells what it makes of them. Else the options of the command are all there are.
"""

import argparse
import os
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.commands import matrix_options, pytest_process
from pytest_codexsandbox.commands.cells_hook import pytest_words
from pytest_codexsandbox.commands.pytest_process import CONFIG_FILES, SHARED_FILES, content
from pytest_codexsandbox.harness.run_request import RunRequest

_VARIABLE: Final = "PYTEST_ADDOPTS"
_WORDS: Final = (b"codex_", b"addopts")


def request(options: argparse.Namespace) -> RunRequest:
    """Returns the request of the run. An option of the command goes before the same one elsewhere."""
    given = matrix_options.request(options)  # a wrong value is reported without starting pytest
    if not may_have_options(Path.cwd()):
        return given
    found = pytest_process.ask(pytest_words(options)).checked_request()
    return msgspec.structs.replace(
        found,
        typed=given.typed,
        workers=options.numprocesses or found.workers,
        own_tests=False,  # paths in addopts: a plan is about the shipped promises
        listing=False,
    )


def may_have_options(folder: Path) -> bool:
    """Returns False where neither a file nor the variable can hold an option of a run in this folder."""
    files = (above / name for above in (folder, *folder.parents) for name in (*CONFIG_FILES, *SHARED_FILES))
    return bool(os.environ.get(_VARIABLE)) or any(word in text for text in map(content, files) for word in _WORDS)
