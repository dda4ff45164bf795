"""pytest's entry. Inert until its flag, its marker or its fixtures are used: nothing of ours is imported before."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_codexsandbox import options

if TYPE_CHECKING:
    from pytest_codexsandbox.fixtures import CodexSandbox
    from pytest_codexsandbox.session.trial import RealTrial


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(args: list[str]) -> None:
    options.bare_flag_first(args)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "codex(policies=('workspace-write',)): runs `codex_sandbox` under these policies of Codex's sandbox"
    )
    if options.wanted(config):
        _activate(config)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The first test that asks for a fixture of ours wakes the plugin up."""
    if {"trial", "codex_sandbox"} & set(metafunc.fixturenames) and not metafunc.config.pluginmanager.hasplugin(
        _COLLECTION
    ):
        _activate(metafunc.config)
        plugin: Any = metafunc.config.pluginmanager.getplugin(_COLLECTION)
        plugin.pytest_generate_tests(metafunc)


@pytest.fixture
def trial(request: pytest.FixtureRequest) -> "RealTrial":
    """Both sides of a promise's acts: what the shipped scenarios assert over."""
    from pytest_codexsandbox.fixtures import open_trial

    return open_trial(request)


@pytest.fixture
def codex_sandbox(request: pytest.FixtureRequest) -> "Iterator[CodexSandbox]":
    """Runs commands through the real Codex, in each selected cell: `codex_sandbox.run("sh", "-c", "…")`."""
    from pytest_codexsandbox.fixtures import open_sandbox

    yield from open_sandbox(request)


_COLLECTION = "codexsandbox-collection"


def _activate(config: pytest.Config) -> None:
    from pytest_codexsandbox.activation import activate

    activate(config, _COLLECTION)
