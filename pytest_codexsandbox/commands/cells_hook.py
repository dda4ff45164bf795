"""Cells hook: asks plugins and conftest files that change the cells, as a pytest run here does.

Hooks live in pytest, so pytest is started in a process of its own with the same options, and collects nothing. Where
no project and no plugin can have such a hook, nothing is started.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.harness.hook_answer import HookAnswer
from pytest_codexsandbox.harness.planner import Planner
from pytest_codexsandbox.harness.run_request import RunRequest
from pytest_codexsandbox.matrix.expand import Expanded
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.system import process

HOOK: Final = b"pytest_codexsandbox_cells"
# Started by name and never imported: nothing of `pytest_plugin` runs in the process of a command, so this crosses no
# layer. The two processes share `harness.hook_answer` alone.
_MODULE: Final = "pytest_codexsandbox.pytest_plugin.cells_process"
_OURS: Final = "codexsandbox"  # name of our own entry point
_OPTIONS: Final = "codex_"
_VARIABLES: Final = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")
_OWN_FILES: Final = ("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
_SHARED_FILES: Final = ("pyproject.toml", "tox.ini", "setup.cfg")
_LIMIT: Final = 300.0  # seconds for the imports of a user's conftest files


class CommandPlanner(Planner):
    """Planner of a command beside pytest."""

    def __init__(self, request: RunRequest, words: tuple[str, ...]) -> None:
        super().__init__(request)
        self._words = words

    def change_cells(self, found: Expanded) -> Expanded:
        return ask_pytest(found, self._words) if may_have_hooks(Path.cwd()) else found


def pytest_words(options: argparse.Namespace) -> tuple[str, ...]:
    """Returns the options as pytest takes them."""
    given = {name: value for name, value in vars(options).items() if name.startswith(_OPTIONS) and value}
    listed = {name: value if isinstance(value, list) else [value] for name, value in given.items()}
    words = [f"--{name.replace('_', '-')}={one}" for name, values in listed.items() for one in values]
    return (f"--codex-matrix={options.matrix}", *words)


def ask_pytest(found: Expanded, words: tuple[str, ...]) -> Expanded:
    """Returns the cells as the hooks of this project and of installed plugins change them."""
    here = str(Path.cwd())
    command = Command(
        # -P: as with `pytest` itself, a `json.py` in the user's folder is not taken for Python's own.
        argv=(sys.executable, "-P", "-m", _MODULE, *words),
        cwd=here,
        env=dict(os.environ),
        stdin=msgspec.json.encode(found),
        timeout=_LIMIT,
    )
    done = process.run(command)
    if not done.stdout:
        said = done.stderr.decode(errors="replace").strip() or done.error or f"it ended: {done.ended} {done.code}"
        raise InputError(
            "pytest does not start here, and hooks that change the cells cannot be asked",
            where=here,
            why=said[-2000:],
            next_step="pytest --codex-matrix --collect-only",
        )
    return msgspec.json.decode(done.stdout, type=HookAnswer).checked()


def may_have_hooks(folder: Path) -> bool:
    """Returns False where pytest in this folder has no conftest file, no configuration and no plugin with the hook."""
    if any(os.environ.get(name) for name in _VARIABLES) or any(folder.glob("test*/conftest.py")):
        return True
    return any(map(_has_pytest, (folder, *folder.parents))) or any(map(_names_hook, _plugin_files()))


def _has_pytest(folder: Path) -> bool:
    if any((folder / name).is_file() for name in _OWN_FILES):
        return True
    return any(b"pytest" in _content(folder / name) for name in _SHARED_FILES)


def _plugin_files() -> Iterator[Path]:
    """Yields the source files of third-party pytest plugins."""
    modules = {point.module for point in entry_points(group="pytest11") if point.name != _OURS}
    for name in sorted({module.partition(".")[0] for module in modules}):
        with suppress(ImportError, ValueError):  # pytest itself says what is wrong with such a plugin
            if spec := find_spec(name):
                folders = spec.submodule_search_locations
                yield from (file for folder in folders or () for file in Path(folder).rglob("*.py"))
                yield from [Path(spec.origin)] if spec.origin and not folders else []


def _names_hook(file: Path) -> bool:
    return HOOK in _content(file)


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""
