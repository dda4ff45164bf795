"""pytest entry point: registers options, hooks and fixtures. Imports the rest only when a flag, a marker or a fixture
of the plugin is used."""

import os
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_codexsandbox import hookspecs
from pytest_codexsandbox.pytest_plugin import deferred_errors, options

if TYPE_CHECKING:
    from pytest_codexsandbox.harness.generators.trial import RealGeneratorTrial
    from pytest_codexsandbox.harness.trial import RealTrial
    from pytest_codexsandbox.pytest_plugin.fixtures import CodexSandbox


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    options.add(parser)
    _register_exit_status(pluginmanager)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> Iterator[None]:
    options.bare_flag_first(args)
    result = yield
    _register_exit_status(early_config.pluginmanager)
    return result


class ExitStatus:
    """Returns the exit status that the matrix computed. pytest uses the wrapper that was registered last."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, object, object]:
        try:
            code = yield
            controller: Any = config.pluginmanager.getplugin(_CONTROLLER)
            ended = code if controller is None else controller.end(code)
            if isinstance(ended, int) and ended > 1:  # with 1, a test has failed
                _refuse(config, int(ended))
            return ended
        except pytest.UsageError as fault:
            _refuse(config, int(pytest.ExitCode.USAGE_ERROR), str(fault))
            raise
        except KeyboardInterrupt:
            controller = config.pluginmanager.getplugin(_CONTROLLER)
            if _has_end(controller):
                return controller.end(int(pytest.ExitCode.INTERRUPTED))  # the run's exit code is kept
            _refuse(config, int(pytest.ExitCode.INTERRUPTED))
            raise
        finally:
            controller = config.pluginmanager.getplugin(_CONTROLLER)
            if controller is not None:
                controller.close()


def _refuse(config: pytest.Config, code: int, why: str = "") -> None:
    """Writes the exit code of a run without an end into JUnit XML and Allure."""
    controller: Any = config.pluginmanager.getplugin(_CONTROLLER)
    if _has_end(controller) or (controller is None and not deferred_errors.refused(config)):
        return
    from pytest_codexsandbox.pytest_plugin.journal_readback import refuse

    refuse(config, code, why)


def _has_end(controller: Any) -> bool:
    return controller is not None and controller.journal is not None and controller.code is not None


def _register_exit_status(manager: pytest.PytestPluginManager) -> None:
    """Registers the wrapper again after the initial conftests, so that it stays outside their wrappers."""
    if manager.hasplugin(_EXIT_STATUS):
        manager.unregister(name=_EXIT_STATUS)
    manager.register(ExitStatus(), _EXIT_STATUS)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "codex(policies=('workspace-write',)): runs `codex_sandbox` under these policies of Codex's sandbox"
    )
    options.refuse_unknown_ini(config)
    if options.wanted(config):
        _activate(config)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Activates the plugin for the first test that requests one of its fixtures."""
    if not metafunc.config.pluginmanager.hasplugin(_COLLECTION) and _asks_for_us(metafunc):
        with deferred_errors.deferring(metafunc.config):
            _activate(metafunc.config)
            plugin: Any = metafunc.config.pluginmanager.getplugin(_COLLECTION)
            plugin.pytest_generate_tests(metafunc)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    deferred_errors.raise_deferred(config, items)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    config = session.config
    if session.testsfailed or config.pluginmanager.hasplugin(_COLLECTION):
        return
    with deferred_errors.deferring(config):
        options.refuse_without_effect(config)
    deferred_errors.raise_deferred(config, session.items)


@pytest.fixture
def trial(request: pytest.FixtureRequest) -> "RealTrial":
    """Returns the trial of a promise: each act inside the sandbox and in the control. For the shipped scenarios."""
    from pytest_codexsandbox.pytest_plugin.fixtures import open_trial

    return open_trial(request)  # type: ignore[no-any-return]


@pytest.fixture
def codex_writing(request: pytest.FixtureRequest) -> "RealGeneratorTrial":
    """Returns the trial of a generator: what it did to one user's files. For the shipped scenarios about generators."""
    from pytest_codexsandbox.pytest_plugin.fixtures import open_trial

    return open_trial(request)  # type: ignore[no-any-return]


@pytest.fixture
def codex_sandbox(request: pytest.FixtureRequest) -> "Iterator[CodexSandbox]":
    """Runs commands through the real Codex, in each selected cell: `codex_sandbox.run("sh", "-c", "…")`."""
    from pytest_codexsandbox.pytest_plugin.fixtures import open_sandbox

    yield from open_sandbox(request)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Passes each xdist worker the folder in which it reports that a test requests a fixture of the plugin. Only
    workers collect tests, so only a worker can find that out."""
    node.workerinput.setdefault(FOLDER, str(_folder_of_a_later_run(node.config)))
    node.workerinput[options.TYPED] = list(options.typed(node.config))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any) -> None:
    if not node.config.pluginmanager.hasplugin(_CONTROLLER) and Path(node.workerinput[FOLDER]).is_dir():
        from pytest_codexsandbox.pytest_plugin.activation import activate_late

        activate_late(node, Path(node.workerinput[FOLDER]), _COLLECTION)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    deferred_errors.raise_from_worker(node)


def _asks_for_us(metafunc: pytest.Metafunc) -> bool:
    names = {"trial", "codex_sandbox"} & set(metafunc.fixturenames)
    if not names:
        return False
    from pytest_codexsandbox.pytest_plugin.fixture_owner import is_ours

    return any(is_ours(metafunc, name) for name in names)


def _folder_of_a_later_run(config: pytest.Config) -> Path:
    """Returns the run's folder, which is the same for every worker. The first worker that needs it creates it."""
    stamp: str = config.stash.setdefault(_STAMP, time.strftime("%Y-%m-%dT%H-%M-%S", time.gmtime()))
    return options.report_dir(config) / f"{stamp}-{os.getpid()}"


_COLLECTION = "codexsandbox-collection"
_CONTROLLER = "codexsandbox-controller"
_EXIT_STATUS = "codexsandbox-exit-status"
_STAMP = pytest.StashKey[str]()
FOLDER = "codexsandbox_folder"  # key of the run's folder in the `workerinput` of xdist


def _activate(config: pytest.Config) -> None:
    from pytest_codexsandbox.pytest_plugin.activation import activate

    activate(config, _COLLECTION)
