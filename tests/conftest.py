"""Order and distribution of all tests, and a second try in the gate.

With `-n`, each worker takes one file after the other, and the quick tests are the last: so no worker is left alone with
a row of slow ones. xdist's own distribution sends hundreds of tests in one piece, and takes none back.

A second try is in the gate only, for what starts real programs on a machine with other work. A test that needs one is
named at the end of the run, and the gate bears few of them. What needs no program of others gets none: it has no
excuse.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.fakes.machine import run_folder

SECOND_TRY = "CODEXSANDBOX_SECOND_TRY"
QUICK: Final = tuple(Path(__file__).parent / name for name in ("lint", "unit"))  # folders


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Keeps a file on one worker, and the files in their order. `--dist` with another word has its own meaning."""
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):  # type: ignore[misc]
        def mark_test_pending(self, item: str) -> None:
            """A second try of a test whose worker crashed asks for this. The rest of its file is pending already."""

    config.option.loadscopereorder = False  # by number of tests, the few slow ones would be the last
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: any(folder in item.path.parents for folder in QUICK))
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
