"""Whose fixture a name of pytest's leads to: a name of ours may be one of the user's, and no shipped scenario may get
what is the user's. Imports nothing of ours: it is asked in runs that the plugin has no part in."""

from typing import Final

import pytest

PLUGIN: Final = "pytest_codexsandbox.plugin"
_OURS: Final = (PLUGIN, "pytest_codexsandbox.pytest_plugin.suite_fixtures")


def is_ours(metafunc: pytest.Metafunc, name: str) -> bool:
    """Whether `name` leads to the plugin's fixture; one of the user's that is called so may be built on it."""
    for found in reversed(metafunc._arg2fixturedefs.get(name, ())):
        if found.func.__module__ in _OURS:
            return True
        if name not in found.argnames:
            return False
    return False


def use_only_our_fixture(metafunc: pytest.Metafunc, name: str) -> None:
    """A shipped scenario asks for `name` and for nothing else: no `autouse` of the user's conftest, no `usefixtures` of
    the ini, no fixture of the user's that is called so. They are about the user's own tests, and would fail or multiply
    these."""
    ours = [found for found in metafunc._arg2fixturedefs[name] if found.func.__module__ in _OURS]
    metafunc._arg2fixturedefs[name] = ours
    metafunc.fixturenames[:] = [one for one in metafunc.fixturenames if one in {name, *ours[-1].argnames}]
