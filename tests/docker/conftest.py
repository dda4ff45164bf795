"""Tests that start containers. Without an engine they are skipped with the reason; where one is needed they fail."""

import os
from pathlib import Path

import pytest

from tests.needs import DOCKER, no_engine

OTHERS = "CODEXSANDBOX_OTHER_ENGINES"
HERE = Path(__file__).parent
# Not skipped where they are not asked for: where they are, what they need has to be there.
collect_ignore = [] if os.environ.get(OTHERS) else ["test_other_engines.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.docker)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Before any fixture: those of a module or a session would fail, and come first."""
    if no_engine() and os.environ.get(DOCKER):
        pytest.fail(f"{DOCKER} is set, and there is no engine: {no_engine()}", pytrace=False)
    if no_engine():
        pytest.skip(no_engine())
