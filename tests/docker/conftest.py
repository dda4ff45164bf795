"""Tests that start containers. Without an engine they are skipped with the reason; where one is needed they fail."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.errors import CodexSandboxError

NEEDED = "CODEXSANDBOX_NEED_DOCKER"
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.docker)


@pytest.fixture(scope="session")
def engine_answers() -> str:
    """ "" or why no container can be started here."""
    try:
        Engine(timeout=10).close()
    except CodexSandboxError as problem:
        return str(problem)
    return ""


@pytest.fixture(autouse=True)
def _engine_is_there(engine_answers: str) -> Iterator[None]:
    if engine_answers and os.environ.get(NEEDED):
        pytest.fail(f"{NEEDED} is set, and there is no engine: {engine_answers}", pytrace=False)
    if engine_answers:
        pytest.skip(f"no container engine: {engine_answers}")
    yield
