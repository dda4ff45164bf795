"""The folder that we are called in is a user's: its `tempfile.py` is not Python's own."""

import subprocess
import sys
from pathlib import Path

import pytest

RUN = "import sys; from pytest_codexsandbox.cli import main; sys.exit(main(['run', '--version']))"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("tempfile", "json", "secrets"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the user's own')")
    return tmp_path


def test_run_takes_no_module_of_the_users_folder_for_pythons(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", RUN], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"pytest {pytest.__version__}\n"), done.stderr
