"""Cells hook: asks plugins and conftest files that change the cells, as a pytest run here does.

Hooks live in pytest, so pytest is started in a process of its own with the same options, and collects nothing. Where
no project and no plugin can have such a hook, nothing is started.
"""

import argparse
import os
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.commands import pytest_process
from pytest_codexsandbox.commands.pytest_process import CONFIG_FILES, SHARED_FILES, content
from pytest_codexsandbox.harness.planner import Planner
from pytest_codexsandbox.harness.run_request import RunRequest
from pytest_codexsandbox.matrix.expand import Expanded

HOOK: Final = b"pytest_codexsandbox_cells"
_MORE: Final = b"pytest_plugins"  # a plugin that names others, which may have the hook
_OURS: Final = "codexsandbox"  # name of our own entry point
_OPTIONS: Final = "codex_"
_VARIABLES: Final = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")


class CommandPlanner(Planner):
    """Planner of a command outside pytest."""

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
    return pytest_process.ask(words, msgspec.json.encode(found)).checked_cells()


def may_have_hooks(folder: Path) -> bool:
    """Returns False where pytest in this folder has no conftest file, no configuration and no plugin with the hook."""
    if any(os.environ.get(name) for name in _VARIABLES) or any(folder.glob("test*/conftest.py")):
        return True
    return any(map(_has_pytest, (folder, *folder.parents))) or any(map(_may_have_hook, _plugin_files()))


def _has_pytest(folder: Path) -> bool:
    if any((folder / name).is_file() for name in ("conftest.py", *CONFIG_FILES)):
        return True
    return any(b"pytest" in content(folder / name) for name in SHARED_FILES)


def _plugin_files() -> Iterator[Path]:
    """Yields the source files of third-party pytest plugins."""
    modules = {point.module for point in entry_points(group="pytest11") if point.name != _OURS}
    for name in sorted({module.partition(".")[0] for module in modules}):
        with suppress(ImportError, ValueError):  # pytest itself reports what is wrong with such a plugin
            if spec := find_spec(name):
                folders = spec.submodule_search_locations
                yield from (file for folder in folders or () for file in Path(folder).rglob("*.py"))
                yield from [Path(spec.origin)] if spec.origin and not folders else []


def _may_have_hook(file: Path) -> bool:
    text = content(file)
    return HOOK in text or _MORE in text
