"""Downloads before a run: generators from registries, images for containers, with their progress on the terminal."""

import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

import pytest

from pytest_codexsandbox.errors import MachineFault, NotHad
from pytest_codexsandbox.matrix.generated import tools
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.releases.progress import progress_on
from pytest_codexsandbox.running import Run


def in_sight(config: pytest.Config) -> AbstractContextManager[object]:
    """Suspends pytest's output capture."""
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    found: AbstractContextManager[object] = capture.global_and_fixture_disabled() if capture else nullcontext()
    return found


def tools_of(config: pytest.Config, run: Run, plan: Plan) -> None:
    """Gets generators that a registry has. One that cannot be had breaks its cells."""
    asked = tools(plan, run.writers) if run.generators else ()
    if not asked:
        return
    from pytest_codexsandbox.session.tellers import brought  # dear, and only for generators

    with in_sight(config):
        for one in asked:
            with suppress(NotHad, MachineFault):
                brought(one, cache_folder(), progress=progress_on(sys.stderr))


def images_of(config: pytest.Config, plan: Plan) -> None:
    """Gets what containers run in. An image that cannot be had breaks its cells."""
    asked = [cell.environment.container for cell in plan.cells]
    if not any(asked):
        return
    try:
        from pytest_codexsandbox.environments.container.provision.beforehand import prepare
    except ImportError:  # each of the cells says so
        return
    with in_sight(config):
        prepare([one for one in asked if one is not None], cache_folder(), sys.stderr)
