"""A second try in the gate, and there only, for what starts real programs on a machine with other work.

A test that needs one is named at the end of the run, and the gate bears few of them. What needs no program of others
gets none: it has no excuse.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.machine import run_folder

SECOND_TRY = "CODEXSANDBOX_SECOND_TRY"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get(SECOND_TRY) != "1":
        return
    for item in items:
        if item.get_closest_marker("live") or item.get_closest_marker("docker"):
            item.add_marker(pytest.mark.flaky(reruns=1, reruns_delay=5))


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that no policy lets Codex write to, unlike tmp_path."""
    with run_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Such a folder for the tests of one module."""
    with run_folder() as folder:
        yield folder


@pytest.fixture(scope="session", autouse=True)
def no_test_touches_the_users_codex_home() -> Iterator[None]:
    """Fails the run if a test lets a real Codex make `~/.codex`.

    Where the folder exists before, the user's own Codex may change it at any time, and nothing can be said.
    """
    home = Path.home() / ".codex"
    existed = home.exists()
    yield
    assert existed or not home.exists(), f"a test made {home}: give its calls a HOME and a CODEX_HOME of the run"
