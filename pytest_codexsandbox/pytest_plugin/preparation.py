"""Preparation: brings what a run needs before its first test, with the progress in sight.

What cannot be brought is no error here: each of its cells says so.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from pytest_codexsandbox.errors import HarnessError, Unavailable
from pytest_codexsandbox.matrix.generator_cells import GeneratorSet, tools
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.releases.progress import progress_on


@contextmanager
def on_screen(config: pytest.Config) -> Iterator[None]:
    """Lets progress through pytest's capture."""
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is None:
        yield
        return
    with capture.global_and_fixture_disabled():
        yield


def have_tools(config: pytest.Config, plan: Plan, writers: GeneratorSet) -> None:
    """Installs generators that a registry has."""
    asked = tools(plan, writers)
    if not asked:
        return
    from pytest_codexsandbox.harness.generators.case_runner import installed  # dear, and only for generators

    with on_screen(config):
        for one in asked:
            with suppress(Unavailable, HarnessError):
                installed(one, cache_folder(), progress=progress_on(sys.stderr))


def have_images(config: pytest.Config, plan: Plan) -> None:
    """Pulls or builds the images of the plan's containers."""
    asked = [cell.environment.container for cell in plan.cells]
    if not any(asked):
        return
    try:
        from pytest_codexsandbox.environments.container.provision.image_preparation import prepare
    except ImportError:  # the extra `docker` is missing: each of the cells says so
        return
    with on_screen(config):
        prepare([one for one in asked if one is not None], cache_folder(), sys.stderr)
