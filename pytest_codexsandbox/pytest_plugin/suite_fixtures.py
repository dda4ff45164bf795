"""Suite fixtures: registers the fixture of each installed suite. The plugin's module has those of the shipped
suites."""

from collections.abc import Iterable
from types import ModuleType
from typing import Any, Final

import pytest

from pytest_codexsandbox.harness.suites.installed import installed_suites
from pytest_codexsandbox.pytest_plugin.fixture_owner import PLUGIN

NAME: Final = "codexsandbox-suite-fixtures"


def register(manager: pytest.PytestPluginManager) -> None:
    """Registers the fixtures that the plugin's module does not have. Raises InputError for a suite that cannot be
    loaded."""
    plugin = next(one for one in manager.get_plugins() if getattr(one, "__name__", "") == PLUGIN)
    others = [suite.fixture for suite in installed_suites().values() if not hasattr(plugin, suite.fixture)]
    if others and not manager.hasplugin(NAME):
        manager.register(_module(others), NAME)


def _module(names: Iterable[str]) -> ModuleType:
    """Returns a module with the fixtures as attributes, where pytest finds them."""
    made = ModuleType(NAME)
    for name in names:
        setattr(made, name, pytest.fixture(name=name)(_fixture()))
    return made


def _fixture() -> Any:
    def suite_trial(request: pytest.FixtureRequest) -> Any:
        """Returns the trial of a promise, for the scenarios of an installed suite."""
        from pytest_codexsandbox.pytest_plugin.fixtures import open_trial

        return open_trial(request)

    return suite_trial
