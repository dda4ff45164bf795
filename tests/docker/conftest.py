"""Tests that start containers. Without an engine they are skipped with the reason; where one is needed they fail."""

import functools
import os
from pathlib import Path

import pytest

from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.errors import CodexSandboxError

NEEDED = "CODEXSANDBOX_NEED_DOCKER"
OTHERS = "CODEXSANDBOX_OTHER_ENGINES"
INSTALL = "apt install docker.io (Debian, Ubuntu)"
HERE = Path(__file__).parent
# Not skipped where they are not asked for: where they are, what they need has to be there.
collect_ignore = [] if os.environ.get(OTHERS) else ["test_other_engines.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.docker)


@functools.cache
def no_engine() -> str:
    """Returns why no container can be started here, or ""."""
    try:
        Engine(timeout=10).close()
    except CodexSandboxError as problem:
        return f"{problem.what}: {problem.why}"
    return ""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Before any fixture: those of a module or a session would fail, and come first."""
    if no_engine() and os.environ.get(NEEDED):
        pytest.fail(f"{NEEDED} is set, and there is no engine: {no_engine()}", pytrace=False)
    if no_engine():
        pytest.skip(f"no container engine: {no_engine()}; {INSTALL}")
