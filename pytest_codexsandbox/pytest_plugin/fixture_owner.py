"""Fixture owner: checks whether a fixture name leads to the plugin's fixture or to one of the user's.

A user's fixture may have the same name, and no shipped scenario may get it. This module imports nothing of the plugin,
because it is also used in runs without a matrix.
"""

from typing import Final

import pytest

PLUGIN: Final = "pytest_codexsandbox.plugin"
_OURS: Final = (PLUGIN, "pytest_codexsandbox.pytest_plugin.suite_fixtures")


def is_ours(metafunc: pytest.Metafunc, name: str) -> bool:
    """Checks whether `name` leads to the plugin's fixture. A user's fixture of the same name may be built on it."""
    for found in reversed(metafunc._arg2fixturedefs.get(name, ())):
        if found.func.__module__ in _OURS:
            return True
        if name not in found.argnames:
            return False
    return False


def use_only_our_fixture(metafunc: pytest.Metafunc, name: str) -> None:
    """Gives a shipped scenario the fixture `name` and nothing else. It gets no `autouse` of the user's conftest, no
    `usefixtures` of the ini and no user's fixture of the same name. Those are for the user's own tests, and would make
    scenarios fail or multiply."""
    ours = [found for found in metafunc._arg2fixturedefs[name] if found.func.__module__ in _OURS]
    metafunc._arg2fixturedefs[name] = ours
    metafunc.fixturenames[:] = [one for one in metafunc.fixturenames if one in {name, *ours[-1].argnames}]
