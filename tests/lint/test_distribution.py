"""tests/conftest.py: `pytest -n` keeps a file on one worker, and the quick tests are the last."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.lint.tracked import ROOT

FILES = ("lint/test_a.py", "plugin/test_b.py", "plugin/test_c.py", "unit/test_d.py")
FOUR = "import pytest\n\n@pytest.mark.parametrize('number', range(4))\ndef test_it(number): ...\n"
CRASHES_ONCE = """
import os, pathlib, time, pytest

@pytest.mark.live
def test_it():
    once = pathlib.Path(__file__).with_name("once")
    if not once.exists():
        once.touch()
        time.sleep(1)  # the controller has heard by now how many tries the test has
        os._exit(1)
"""
TEST = re.compile(r"^\[(gw[01])\].* PASSED checks/(\S+)::", re.MULTILINE)


def run(folder: Path, *words: str, times: int = 1) -> list[tuple[str, str]]:
    """Runs tests of these files beside a copy of the conftest. Returns the worker and the file of each, as they ran."""
    for name in FILES:
        (folder / "checks" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "checks" / name).write_text(FOUR)
    shutil.copy(ROOT / "tests" / "conftest.py", folder / "checks")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    command = [sys.executable, "-m", "pytest", "-v", "-n2", "-p", "xdist.plugin", "-p", "no:cacheprovider", *words]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [*command, "checks"], cwd=folder, env=env, capture_output=True, text=True, timeout=240, check=False
    )
    found = TEST.findall(done.stdout)
    assert len(found) == times * 4 * len(FILES) and done.returncode == 0, done.stdout + done.stderr
    return found


def test_each_file_is_on_one_worker_and_the_quick_ones_are_the_last(tmp_path: Path) -> None:
    found = run(tmp_path)
    assert len(set(found)) == len(FILES), found
    for worker in ("gw0", "gw1"):
        own = [file.partition("/")[0] for one, file in found if one == worker]
        assert own[0] == "plugin", found
        assert own == sorted(own, key=("plugin", "lint", "unit").index), found


def test_another_distribution_can_be_asked_for(tmp_path: Path) -> None:
    assert len(set(run(tmp_path, "--dist=each", times=2))) == 2 * len(FILES)


def test_a_worker_that_crashed_is_replaced_and_the_test_gets_its_second_try(tmp_path: Path) -> None:
    (tmp_path / "test_crash.py").write_text(CRASHES_ONCE)
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\nmarkers = live\n")
    plugins = ("-p", "xdist", "-p", "rerunfailures", "-p", "no:cacheprovider")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CODEXSANDBOX_SECOND_TRY": "1"}
    command = [sys.executable, "-m", "pytest", "-n2", "-rR", *plugins, "test_crash.py"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0 and "1 passed, 1 rerun" in done.stdout, done.stdout + done.stderr
