"""Activation: registers the plugin's parts. A worker collects and records, a controller writes the journal; a single
process does both."""

import os
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.model.redact import register
from pytest_codexsandbox.pytest_plugin import suite_fixtures
from pytest_codexsandbox.pytest_plugin.collection import Collector
from pytest_codexsandbox.pytest_plugin.controller import Controller
from pytest_codexsandbox.pytest_plugin.prefetch import Prefetcher
from pytest_codexsandbox.pytest_plugin.recorder import Recorder, ReportRedactor
from pytest_codexsandbox.pytest_plugin.run import get_run
from pytest_codexsandbox.pytest_plugin.run_pruning import RunPruner
from pytest_codexsandbox.pytest_plugin.terminal_filter import TerminalFilter
from pytest_codexsandbox.system import environ
from pytest_codexsandbox.system.signals import sigterm_as_interrupt

CONTROLLER: Final = "codexsandbox-controller"
QUIET: Final = "codexsandbox-quiet"
RECORDING: Final = "codexsandbox-recording"
CHANGING: Final = "codexsandbox-changing"
REDACTION: Final = "codexsandbox-redaction"
PRUNING: Final = "codexsandbox-pruning"
EXIT_STATUS: Final = "codexsandbox-exit-status"


def activate(config: pytest.Config, collection: str) -> None:
    register(
        os.environ, is_there=environ.is_existing_path
    )  # in every process: a worker measures, and the controller writes
    try:
        run = get_run(config)
        suite_fixtures.register(config.pluginmanager)
    except CodexSandboxError as fault:
        raise pytest.UsageError(str(fault)) from None
    manager = config.pluginmanager
    for name in (
        CONTROLLER,
        QUIET,
        RECORDING,
        EXIT_STATUS,
        collection,
    ):  # checked in every process: in a worker the error would be an internal error
        _refuse_blocked(manager, name)
    if config.getoption("maxfail", 0) and not _asked_to_stop(config):
        config.option.maxfail = 0  # an `-x` of the ini would leave half the plan unmeasured
    if run.only_shipped:
        _select_as_typed(config)
    if not run.is_worker:
        controller = Controller(config)
        _register(manager, controller, CONTROLLER)
        _register(manager, RunPruner(run, controller), PRUNING)
        _register(manager, TerminalFilter(), QUIET)
        sigterm_as_interrupt()
    if run.is_worker or not _distributes(config):
        _register(manager, Collector(config), collection)
        _register(manager, ReportRedactor(), REDACTION)
        _register(manager, Recorder(config), RECORDING)
        _register(manager, Prefetcher(config), CHANGING)


def activate_late(node: Any, folder: Path, collection: str) -> None:
    """Activates the plugin after the first worker has collected tests that request its fixtures. From here on a
    controller writes the journal."""
    get_run(node.config).adopt(folder)
    activate(node.config, collection)
    controller: Any = node.config.pluginmanager.getplugin(CONTROLLER)
    controller.pytest_xdist_node_collection_finished(node)  # xdist called it before the controller was there


def _refuse_blocked(manager: pytest.PytestPluginManager, name: str) -> None:
    """Refuses a run in which a part of the harness is switched off: half of it would be a false green."""
    if manager.is_blocked(name):
        raise pytest.UsageError(
            f"a matrix cannot be trusted without the plugin {name}: leave out -p no:{name}, or --codex-matrix"
        )


def _register(manager: pytest.PytestPluginManager, plugin: object, name: str) -> None:
    if not manager.hasplugin(name):
        manager.register(plugin, name)


def _distributes(config: pytest.Config) -> bool:
    """Checks whether xdist distributes to workers: `--tx` without `--dist` starts none."""
    shared = config.getoption("tx", None) and config.getoption("dist", "no") != "no"
    return bool(shared) and not config.getoption("collectonly", False)


def _select_as_typed(config: pytest.Config) -> None:
    """Ignores a selection that was not typed. An ini's `-m unit` is for the user's own tests, and would leave none of
    the shipped promises."""
    typed = [str(word) for word in config.invocation_params.args]
    short = "".join(word for word in typed if word.startswith("-") and not word.startswith("--"))
    for letter, name in (("k", "keyword"), ("m", "markexpr")):
        if letter not in short:
            setattr(config.option, name, "")
    if not any(word.startswith("--deselect") for word in typed):
        config.option.deselect = None


def _asked_to_stop(config: pytest.Config) -> bool:
    """Checks whether `-x` or `--maxfail` was typed, and not taken from an ini."""
    return any(word in ("-x", "--exitfirst") or word.startswith("--maxfail") for word in config.invocation_params.args)
